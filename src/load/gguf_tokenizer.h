// Tokenizers of folders as GGUF files have them, and the other way.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "load/folder_texts.h"
#include "wick/io/gguf.h"
#include "wick/text/tokenizer.h"

namespace wick {

/// The fields as a reader of the file gives them. where: prefix of error texts.
Settings settings_of(const std::vector<GgufField>& fields, const std::string& where);

/// Whether a GGUF file has a tokenizer: files of models without one have no tokenizer.ggml.model,
/// or `none`.
bool has_gguf_tokenizer(const Settings& metadata);

/// The ids that end a text or a turn: the ids that a GGUF file names, and the tokens with known
/// texts.
std::vector<int64_t> gguf_stop_ids(const Settings& metadata,
                                   const std::optional<Tokenizer>& tokenizer);

/// Whether both give the same ids for some texts on which ways of cutting words differ.
bool same_ids(const Tokenizer& a, const Tokenizer& b);

/// The keys "tokenizer.*" for a folder's tokenizer.json and chat template. vocab_size: rows of the
/// embedding; ids without a token are padded. config: config.json, for the ids of special tokens
/// that `texts` do not name.
///
/// The result gives the ids that tokenizer.json gives, which is tried on texts of many kinds, but
/// for steps that GGUF's tokenizers lack: Unicode normalization, and rules of spaces at the
/// beginning of a text and after special tokens.
/// Errors: kUnsupported for a model other than BPE, or if no pre-tokenization that wick knows gives
/// the same ids; kFormat.
std::vector<GgufField> gguf_tokenizer(const Settings& tokenizer_json, const FolderTexts& texts,
                                      const Settings& config, int64_t vocab_size);

/// The content of a tokenizer.json for the tokenizer of a GGUF file. Both give the same ids, which
/// is tried on texts of many kinds. Errors: as of Tokenizer::from_gguf; kUnsupported if the ids
/// of the texts differ.
Settings json_tokenizer(const Settings& metadata);
/// The content of a tokenizer_config.json: special tokens and the chat template.
Settings json_tokenizer_config(const Settings& metadata, const Tokenizer& tokenizer);

}  // namespace wick
