// generation_config.json: how a model's author generates, and the tokens that end a text.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "load/folder_texts.h"
#include "wick/load/sampling.h"
#include "wick/text/tokenizer.h"

namespace wick {

struct GenerationConfig {
  std::vector<int64_t> eos_token_ids;
  std::optional<Sampling> sampling;   // missing if the file does not say how to sample
  std::vector<std::string> warnings;  // one line each: keys that are passed over
};

/// Reads a folder's file, if it is there. As in transformers, a text is greedy unless "do_sample"
/// is true; a file without do_sample and settings of sampling says nothing. Errors: kFormat.
GenerationConfig read_generation_config(const std::string& folder);

/// All tokens that end a text: by config.json, generation_config.json and
/// tokenizer_config.json, and the tokens of the vocabulary that always do, as in GGUF files.
std::vector<int64_t> folder_stop_ids(const std::vector<int64_t>& of_config,
                                     const GenerationConfig& generation, const FolderTexts& texts,
                                     const std::optional<Tokenizer>& tokenizer);

}  // namespace wick
