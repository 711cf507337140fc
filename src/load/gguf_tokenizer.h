// A tokenizer.json as the metadata of a GGUF file.
#pragma once
#include <string>
#include <vector>

#include "load/folder_texts.h"
#include "wick/io/gguf.h"

namespace wick {

/// The fields as a reader of the file gives them. where: prefix of error texts.
Settings settings_of(const std::vector<GgufField>& fields, const std::string& where);

/// The keys "tokenizer.*" for a folder's tokenizer.json and chat template. vocab_size: rows of the
/// embedding; ids without a token are padded. config: config.json, for the ids of special tokens that
/// `texts` do not name.
///
/// The result gives the ids that tokenizer.json gives, which is tried on texts of many kinds.
/// Errors: kUnsupported for a model other than BPE, or if no pre-tokenization that wick knows gives
/// the same ids; kFormat.
std::vector<GgufField> gguf_tokenizer(const Settings& tokenizer_json, const FolderTexts& texts,
                                      const Settings& config, int64_t vocab_size);

}  // namespace wick
