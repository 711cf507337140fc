// A Decoder's config and tensors as GGUF files and folders have them: the inverses of
// decoder_config_of_gguf and decoder_tensors.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "models/families.h"
#include "wick/models/decoder.h"

namespace wick {

/// Whether the family lists the key among those that not every family's GGUF files have.
bool has_gguf_key(const Family& family, std::string_view key);

/// Unties the config if the folder's output layer differs from its embedding: see has_own_head.
void keep_own_head(const TensorSource& folder, DecoderConfig& config,
                   std::vector<std::string>& warnings);

/// The keys of a GGUF file, without "ARCHITECTURE.", that say the sizes and options of a folder's
/// config; rope's scaling and the heads' length are not among them. Integers are u32, reals f32.
/// Errors: kUnsupported for a model_type that GGUF has no architecture for.
Settings gguf_settings(const DecoderConfig& config);

/// A Decoder's tensors under GGUF's names, some with the rows of several layers. Errors: kFormat for
/// one that such files lack.
TensorSource gguf_tensors(const TensorSource& source, const DecoderConfig& config);

/// A Decoder's tensors with those apart that the family's folders have one by one: of experts, and
/// norms of heads. They are views of the whole.
TensorSource with_parts(const TensorSource& source, const DecoderConfig& config);
/// The result of with_parts in the form and under the names of the family's folders.
TensorSource with_folder_names(const TensorSource& source, const DecoderConfig& config);

}  // namespace wick
