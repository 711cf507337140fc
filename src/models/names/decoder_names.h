// A Decoder's config and tensors as GGUF files and folders have them, both ways.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "models/decoder/family.h"
#include "models/names/tensor_plan.h"

namespace wick {

/// Model types of text and images, whose text part is of the type NAME_text.
inline constexpr std::string_view kTextAndImages[] = {"gemma3", "gemma4", "llama4", "qwen3_5",
                                                      "qwen3_5_moe"};

/// Handles a key that no field reads: kUnsupported if it may change results; a note in `ignored` if
/// it is unknown.
void pass_over(const Settings& settings, const Settings::Entry& entry, const Family& family,
               std::vector<std::string>* ignored);

/// Unties the config if the folder's output layer differs from its embedding: see has_own_head.
void keep_own_head(const TensorSource& folder, DecoderConfig& config,
                   std::vector<std::string>& warnings);

/// The keys of a GGUF file, without "ARCHITECTURE.", that say the sizes and options of a folder's
/// config; rope's scaling and the heads' length are not among them. Integers are u32, reals f32.
/// Errors: kUnsupported for a model_type that GGUF has no architecture for.
Settings gguf_settings(const DecoderConfig& config);

/// A file's tensors under the names that a Decoder takes them by: see decoder_tensors.
TensorPlan decoder_plan(const TensorSource& file, const DecoderConfig& config);
/// Gives a Decoder's tensors GGUF's names, some with the rows of several layers. Errors: kFormat
/// for one that such files lack.
void take_gguf_names(TensorPlan& plan, const DecoderConfig& config);
/// Takes a Decoder's tensors apart that the family's folders have one by one: of experts, and norms
/// of heads. They are views of the whole.
void take_parts(TensorPlan& plan, const DecoderConfig& config);
/// Gives them, after take_parts, the form and the names of the family's folders.
void take_folder_names(TensorPlan& plan, const DecoderConfig& config);

}  // namespace wick
