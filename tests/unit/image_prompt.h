// Models that read images beside text, and the results of transformers.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "wick/io/json.h"
#include "wick/io/safetensors.h"
#include "wick/models/registry.h"
#include "wick/ops/shape.h"

namespace wick::test {

inline std::string folder_of(const std::string& name) {
  return std::string(WICK_GOLDEN) + "/image_prompt/" + name;
}

inline std::unique_ptr<ModelConfig> config_of(const Settings& settings) {
  std::vector<std::string> warnings;
  return architecture_of_folder(settings).of_folder(settings, nullptr, &warnings);
}

/// A model and transformers' results: make.py and make_colpali.py of tests/golden/image_prompt.
struct ImagePromptGolden {
  ImagePromptGolden(const std::string& name, const Device& device)
      : tensors(load_safetensors(folder_of(name) + "/expected.safetensors")), device(device) {
    const auto config = config_of(read_json(folder_of(name) + "/config.json"));
    EXPECT_TRUE(config->ignored_keys().empty());
    Parameters parameters(config->tensors(SafetensorsReader(folder_of(name)).source()),
                          {.device = device});
    model = config->make(parameters, 0);
    EXPECT_TRUE(parameters.left().empty());
  }
  const Tensor& operator[](const std::string& name) const { return tensors.at(name); }
  NamedTensors inputs() const {
    NamedTensors inputs;
    for (const char* name : {"pixel_values", "input_ids", "attention_mask", "token_type_ids"})
      if (tensors.count(name) > 0) inputs[name] = tensors.at(name);
    return inputs;
  }
  /// The tokens of each row, and how many of them are the prompt.
  std::vector<std::vector<int64_t>> rows() const { return of_tokens(tensors.at("input_ids")); }
  std::vector<int64_t> prompts() const {
    std::vector<int64_t> counts;
    for (const auto& types : of_tokens(tensors.at("token_type_ids")))
      counts.push_back(std::count(types.begin(), types.end(), 0));
    return counts;
  }
  /// The logits of a row's tokens [first, first + count), without its padding.
  Tensor logits(int64_t row, int64_t first, int64_t count) const {
    const Tensor all = select(tensors.at("logits"), 0, row);
    return narrow(all, 0, all.size(0) - int64_t(rows()[size_t(row)].size()) + first, count);
  }
  Tensor features() const {
    const Tensor x = model->image_features(tensors.at("pixel_values"));
    return reshape(x, {x.size(0) * x.size(1), x.size(2)});
  }

  const NamedTensors tensors;
  const Device device;
  std::shared_ptr<const CausalModel> model;

 private:
  std::vector<std::vector<int64_t>> of_tokens(const Tensor& x) const {
    std::vector<std::vector<int64_t>> result;
    for (int64_t row = 0; row < x.size(0); row++) {
      const auto values = select(x, 0, row).to_vector<int64_t>(),
                 mask = select(tensors.at("attention_mask"), 0, row).to_vector<int64_t>();
      result.emplace_back();
      for (size_t i = 0; i < values.size(); i++)
        if (mask[i] != 0) result.back().push_back(values[i]);
    }
    return result;
  }
};

}  // namespace wick::test
