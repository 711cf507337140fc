// Folders of models with drawn weights.
#pragma once
#include <string>

#include "wick/io/json.h"
#include "wick/io/safetensors.h"
#include "wick/models/decoder.h"

namespace wick::test {

/// Writes config.json and model.safetensors of a decoder in f32 into a folder that exists.
inline void write_drawn_model(const std::string& folder, const DecoderConfig& config,
                              uint64_t seed) {
  Device::cpu().set_seed(seed);
  Parameters parameters({.trainable = true});
  const Decoder decoder(config, parameters);
  NamedTensors tensors;
  for (const auto& [name, var] : parameters.vars()) tensors[name] = var.tensor();
  save_safetensors(folder + "/model.safetensors", tensors);
  write_json(folder + "/config.json", to_settings(config));
}

}  // namespace wick::test
