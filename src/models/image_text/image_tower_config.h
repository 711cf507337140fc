// The settings of an image tower in a config.json.
#pragma once
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wick/models/image_text_model.h"

namespace wick {

/// Reads the "vision_config" of a model that has a SigLIP's tower without its head. Missing keys
/// have the defaults of transformers' SiglipVisionConfig. ignored: receives the unknown keys.
/// Errors: kFormat, as of image_text_config; kUnsupported for a tower of another model_type, or for
/// quantized weights.
ImageTowerConfig siglip_tower_config(const Settings& vision_config,
                                     std::vector<std::string>* ignored);

/// Adds the keys of s that are neither in `known` nor without effect, each after the prefix.
/// Errors: kUnsupported for quantized weights.
void list_ignored(const Settings& s, const std::string& prefix,
                  std::initializer_list<std::span<const std::string_view>> known,
                  std::vector<std::string>* ignored);

}  // namespace wick
