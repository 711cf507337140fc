// PaliGemma 1 and 2: a SigLIP's tower, and a Gemma or Gemma 2.
#pragma once
#include <string>
#include <vector>

#include "wick/base/settings.h"
#include "wick/core/tensor_source.h"
#include "wick/models/causal_model.h"
#include "wick/models/decoder.h"
#include "wick/models/image_text_model.h"

namespace wick {

/// The settings of an ImageDecoder.
struct PaliGemmaConfig {
  DecoderConfig text;
  ImageTowerConfig image;
  ModelFacts facts;
  std::vector<std::string> ignored_keys;
};

/// The object under the key. Errors: kFormat without one.
const Settings& part_of(const Settings& config, const char* key);
/// Reads a PaliGemma's config.json. Errors: kFormat, kUnsupported.
PaliGemmaConfig paligemma_config(const Settings& config);
/// The files' tensors under the names that an ImageDecoder takes them by; others keep their names.
TensorSource paligemma_tensors(const TensorSource& files, const DecoderConfig& text);

}  // namespace wick
