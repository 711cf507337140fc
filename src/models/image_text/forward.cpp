#include "wick/models/forward.h"

#include <algorithm>

#include "wick/models/image_text_model.h"
#include "wick/ops/binary.h"
#include "wick/ops/shape.h"
#include "wick/ops/statistics.h"

namespace wick {
namespace {

constexpr std::string_view kInputs[] = {"pixel_values", "input_ids", "attention_mask"};

void require_names(const std::string& model_type, const NamedTensors& inputs) {
  for (const auto& [name, tensor] : inputs)
    check(std::find(std::begin(kInputs), std::end(kInputs), name) != std::end(kInputs),
          ErrorCode::kInvalidArgument, "forward", "a model of type ", model_type,
          " does not read \"", name, "\"; expected pixel_values, input_ids and attention_mask");
  check(inputs.count("pixel_values") + inputs.count("input_ids") > 0, ErrorCode::kInvalidArgument,
        "forward", "expected pixel_values, input_ids or both, got neither");
  check(inputs.count("input_ids") > 0 || inputs.count("attention_mask") == 0,
        ErrorCode::kInvalidArgument, "forward", "attention_mask: expected input_ids beside it");
}

void add(NamedTensors& outputs, const std::string& name, const TowerStates& states) {
  outputs[name + ".last_hidden_state"] = states.last;
  for (size_t i = 0; i < states.layers.size(); i++)
    outputs[name + ".hidden_states." + std::to_string(i)] = states.layers[i];
}

Tensor of_length_1(const Tensor& x) { return x / norm(x, 2, {.dims = {-1}, .keepdim = true}); }

}  // namespace

NamedTensors forward(const ImageTextModel& model, const NamedTensors& inputs,
                     const ForwardOptions& options) {
  require_names(model.config().model_type, inputs);
  NamedTensors outputs;
  Tensor image_features, text_features;
  TowerStates states;
  if (const auto pixels = inputs.find("pixel_values"); pixels != inputs.end()) {
    image_features = model.image_features(pixels->second, options.hidden ? &states : nullptr);
    outputs["image_embeds"] = of_length_1(image_features);
    if (options.hidden) add(outputs, "vision_model_output", states);
  }
  if (const auto ids = inputs.find("input_ids"); ids != inputs.end()) {
    const auto mask = inputs.find("attention_mask");
    states = {};
    text_features = model.text_features(ids->second, mask == inputs.end() ? Tensor() : mask->second,
                                        options.hidden ? &states : nullptr);
    outputs["text_embeds"] = of_length_1(text_features);
    if (options.hidden) add(outputs, "text_model_output", states);
  }
  if (image_features && text_features) {
    outputs["logits_per_image"] = model.logits_per_image(image_features, text_features);
    outputs["logits_per_text"] = transpose(outputs["logits_per_image"]);
  }
  return outputs;
}

}  // namespace wick
