// Rules from the metadata of a GGUF file. Source: llama.cpp, whose ids these rules give.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <limits>
#include <string>

#include "base/utf8.h"
#include "text/tokenizer/byte_alphabet.h"
#include "text/tokenizer/characters.h"
#include "text/tokenizer/normalizer.h"
#include "text/tokenizer/pre_tokenizer.h"
#include "text/tokenizer/rules.h"
#include "wick/base/error.h"

namespace wick::tokenization {
namespace {

const std::string kPrefix = "tokenizer.ggml.";

/// tokenizer.ggml.token_type of a token.
enum TokenType : int64_t {
  kNormalType = 1,
  kUnknownType = 2,
  kControlType = 3,
  kUserDefinedType = 4,
  kUnusedType = 5,
  kByteType = 6,
};

/// The list of a key; empty if the file lacks it. Errors: kFormat unless it has `size` values.
template <class T>
std::vector<T> list_of(const Settings& metadata, const std::string& key, std::vector<T> values,
                       size_t size) {
  if (!metadata.has(kPrefix + key)) return {};
  check(values.size() >= size, ErrorCode::kFormat, metadata.where(), "\"", kPrefix, key,
        "\": expected ", size, " values, got ", values.size());
  return values;
}

struct File {
  const Settings& metadata;
  std::vector<std::string> tokens;
  std::vector<int64_t> types;
  std::vector<int64_t> stated_types;  // before correct_types

  explicit File(const Settings& metadata)
      : metadata(metadata),
        tokens(metadata.texts(kPrefix + "tokens")),
        types(list_of(metadata, "token_type", metadata.integers(kPrefix + "token_type"),
                      tokens.size())) {
    check(!tokens.empty(), ErrorCode::kFormat, metadata.where(), "\"", kPrefix,
          "tokens\": expected a vocabulary");
    types.resize(tokens.size(), kNormalType);
    stated_types = types;
  }

  std::string key(const char* name) const { return kPrefix + name; }
  /// An id that the file states, or else `otherwise`, if the vocabulary has it.
  std::optional<int32_t> id(const char* name, std::optional<int32_t> otherwise) const {
    const int64_t id = metadata.integer_or(key(name), -1, std::numeric_limits<int64_t>::min());
    if (id >= 0 && id < int64_t(tokens.size())) return int32_t(id);
    if (otherwise && size_t(*otherwise) < tokens.size()) return otherwise;
    return std::nullopt;
  }
};

void read_tokens(File& file, Rules& rules) {
  size_t bytes = 0;
  for (const std::string& token : file.tokens) bytes += token.size();
  Vocabulary& vocabulary = rules.bpe.vocabulary;
  vocabulary.reserve(file.tokens.size() + file.tokens.size() / 8, bytes + bytes / 8);
  for (size_t id = 0; id < file.tokens.size(); id++) {
    std::string& token = file.tokens[id];
    if (token.empty()) token = "[EMPTY_" + std::to_string(id) + "]";
    if (!vocabulary.add(token))
      fail(ErrorCode::kFormat, file.metadata.where(), "\"", kPrefix, "tokens\": token ", id,
           " repeats ", in_quotes(token));
  }
  rules.bpe.token_count = vocabulary.size();
}

constexpr const char* kEndTokens[] = {
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<|flush|>",
    "<|calls|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "</s>",
    "<|eom_id|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "[EOS]",
    "<|end_of_text|>",
    "<end_of_utterance>",
    "<eos>",
    "<turn|>",
    "<|tool_response>",
    "<｜end▁of▁sentence｜>",
    "[e~[",
};

using Has = std::function<bool(const char*)>;

/// Whether "<|end|>" ends but a part of a turn, as in o200k_harmony and Solar.
bool has_messages(const Has& has) {
  return (has("<|call|>") || has("<|calls|>")) && (has("<|return|>") || has("<|flush|>"));
}
/// Whether "</s>" is plain text, as in Gemma 4.
bool has_plain_marker(const Has& has) { return has("<|tool_response>"); }

/// The types that llama.cpp gives to tokens of known texts, whatever the file says.
void correct_types(File& file, const Rules& rules) {
  /// Control if the file does not state the id of the key.
  struct Detected {
    const char* key;
    std::vector<const char*> texts;
  };
  static const std::vector<Detected> kDetected = {
      {"fim_pre_token_id",
       {"<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>", "<｜fim▁begin｜>", "<PRE>", "▁<PRE>",
        "<|code_prefix|>", "<|prefix|>"}},
      {"fim_suf_token_id",
       {"<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>", "<｜fim▁hole｜>", "<SUF>", "▁<SUF>",
        "<|code_suffix|>", "<|suffix|>"}},
      {"fim_mid_token_id",
       {"<|fim_middle|>", "<fim-middle>", "<fim_middle>", "<｜fim▁end｜>", "<MID>", "▁<MID>",
        "<|code_middle|>", "<|middle|>"}},
      {"fim_pad_token_id", {"<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"}},
      {"fim_rep_token_id", {"<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"}},
      {"fim_sep_token_id", {"<|file_sep|>"}},
  };
  const Has has = [&](const char* text) { return rules.bpe.vocabulary.find(text) >= 0; };
  const auto set = [&](const char* text, TokenType type) {
    if (has(text)) file.types[size_t(rules.bpe.vocabulary.find(text))] = type;
  };
  for (const Detected& detected : kDetected)
    if (!file.metadata.has(file.key(detected.key)))
      for (const char* text : detected.texts) set(text, kControlType);
  for (const char* text : end_tokens(has)) set(text, kControlType);
  for (const char* text : {"<|channel|>", "<|message|>", "<|start|>", "<|constrain|>"})
    set(text, kUserDefinedType);
  if (has_messages(has)) set("<|end|>", kUserDefinedType);
  if (has_plain_marker(has)) set("</s>", kNormalType);
}

/// Whether white space after the token belongs to it, as llama.cpp has it for Phi-3 by its name.
bool strips_right(const File& file, const std::string& token) {
  std::string name = file.metadata.text_or("general.name", "");
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) {
    return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : char(c);
  });
  if (name.find("phi-3") == name.npos && name.find("phi3") == name.npos) return false;
  return token != "<unk>" && token != "<s>" && token != "<|endoftext|>";
}

void read_added(const File& file, Rules& rules) {
  rules.added = AddedTokens(AddedTokens::Order::kLongest);
  rules.kinds.resize(file.tokens.size());
  for (size_t id = 0; id < file.tokens.size(); id++) {
    const int64_t type = file.types[id];
    const bool special = type == kControlType || type == kUnknownType;
    const bool added = special || type == kUserDefinedType;
    rules.kinds[id] = special                                    ? Rules::kSpecial
                      : added                                    ? Rules::kAdded
                      : type == kNormalType || type == kByteType ? Rules::kNormal
                                                                 : Rules::kSilent;
    if (added)
      rules.added.add({.text = file.tokens[id],
                       .id = int32_t(id),
                       .special = special,
                       .control = special || file.stated_types[id] == kControlType,
                       .right_strip = strips_right(file, file.tokens[id])});
  }
}

/// The id of a spelling; a new one if it is no token, as llama.cpp merges spellings, whether they
/// are tokens or not.
int32_t id_of(Vocabulary& vocabulary, std::string_view spelling) {
  const int32_t id = vocabulary.find(spelling);
  if (id >= 0) return id;
  vocabulary.add(spelling);
  return vocabulary.size() - 1;
}

void read_merges(const File& file, bool needs_merges, Rules& rules) {
  const std::string key = file.key("merges");
  const Setting* const merges = file.metadata.find(key);
  check(merges != nullptr || !needs_merges, ErrorCode::kFormat, file.metadata.where(), "\"", key,
        "\" is missing");
  const std::vector<std::string> lines = file.metadata.texts(key);
  Bpe& bpe = rules.bpe;
  bpe.merges.reserve(lines.size());
  std::string merged;
  for (size_t rank = 0; rank < lines.size(); rank++) {
    const std::string_view line = lines[rank];
    const size_t space = line.find(' ', 1);
    if (space == line.npos || space + 1 == line.size()) continue;
    const std::string_view left = line.substr(0, space), right = line.substr(space + 1);
    const int32_t left_id = id_of(bpe.vocabulary, left), right_id = id_of(bpe.vocabulary, right);
    Merge& merge = bpe.merges.of(left_id, right_id);
    if (merge.id >= 0) continue;  // the first of equal merges counts
    merged.assign(left).append(right);
    merge = {uint32_t(rank), id_of(bpe.vocabulary, merged)};
  }
}

void read_letters(Rules& rules) {
  Bpe& bpe = rules.bpe;
  for (int byte = 0; byte < 256; byte++) {
    const std::string letter = to_letters(std::string(1, char(byte)));
    bpe.letters[size_t(byte)] = id_of(bpe.vocabulary, letter);
  }
  // A spelling that is no token becomes the tokens of its bytes, of which only ASCII's are texts.
  for (int32_t id = bpe.token_count; id < bpe.vocabulary.size(); id++) {
    std::vector<int32_t>& parts = bpe.spelled.emplace_back();
    for (const char byte : bpe.vocabulary.text(id)) {
      const int32_t part = bpe.vocabulary.find({&byte, 1});
      if (part >= 0 && part < bpe.token_count) parts.push_back(part);
    }
  }
}

/// The tokens around a text, if the file wants them there.
void read_ends(const File& file, bool adds_bos, bool always_adds_bos, Rules& rules) {
  PostStep& around = rules.post_steps.emplace_back();
  const bool wants_bos = file.metadata.flag_or(file.key("add_bos_token"), adds_bos);
  if ((wants_bos || always_adds_bos) && rules.bos) around.before.push_back(*rules.bos);
  if (file.metadata.flag_or(file.key("add_eos_token"), false) && rules.eos)
    around.after.push_back(*rules.eos);
}

/// SentencePiece's BPE: of the pairs that make a token, the one whose token has the highest score
/// merges first. Scores become ranks, and each way to split a token in two becomes a merge.
void read_scores(const File& file, Rules& rules) {
  Bpe& bpe = rules.bpe;
  const size_t count = file.tokens.size();
  std::vector<double> scores =
      list_of(file.metadata, "scores", file.metadata.reals(file.key("scores")), count);
  scores.resize(count);
  std::vector<double> distinct = scores;
  std::sort(distinct.begin(), distinct.end(), std::greater<>());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  // Words start as single characters, whether they are tokens or not.
  const auto part = [&](std::string_view text) {
    int32_t id = bpe.vocabulary.find(text);
    if (id < 0 && text.size() == character_length(text[0])) {
      bpe.vocabulary.add(text);
      id = bpe.vocabulary.size() - 1;
    }
    const bool is_byte = id >= 0 && id < bpe.token_count && file.types[size_t(id)] == kByteType;
    return is_byte ? -1 : id;
  };
  bpe.merges.reserve(4 * count);
  for (size_t id = 0; id < count; id++) {
    const std::string_view token = file.tokens[id];
    if (valid_utf8_bytes(token) != token.size()) continue;  // no text has it
    const auto rank =
        std::lower_bound(distinct.begin(), distinct.end(), scores[id], std::greater<>());
    for (size_t at = character_length(token[0]); at < token.size();
         at += character_length(token[at])) {
      const int32_t left = part(token.substr(0, at));
      if (left < 0) continue;
      const int32_t right = part(token.substr(at));
      if (right >= 0) bpe.merges.of(left, right) = {uint32_t(rank - distinct.begin()), int32_t(id)};
    }
  }
}

void read_byte_tokens(const File& file, Rules& rules) {
  Bpe& bpe = rules.bpe;
  for (int byte = 0; byte < 256; byte++) {
    const std::string character(1, char(byte));
    int32_t id = bpe.vocabulary.find(spelling_of_byte(uint8_t(byte)));
    if (id >= 0 && file.types[size_t(id)] == kByteType) rules.decoded[id] = character;
    if (id < 0) id = bpe.vocabulary.find(character);
    bpe.byte_tokens[size_t(byte)] = id;
  }
  for (int32_t id = bpe.token_count; id < bpe.vocabulary.size(); id++) {
    std::vector<int32_t>& parts = bpe.spelled.emplace_back();
    for (const char byte : bpe.vocabulary.text(id))
      if (bpe.byte_tokens[uint8_t(byte)] >= 0) parts.push_back(bpe.byte_tokens[uint8_t(byte)]);
  }
}

void read_bpe(File& file, const PreTokenization& pre, Rules& rules) {
  for (const std::string& pattern : pre.patterns)
    rules.pre_tokenizers.push_back(
        split_at(Pattern::regex(pattern, file.metadata.where(), Unicode::k15),
                 pre.drops_matches ? Behavior::kRemoved : Behavior::kIsolated));
  using Letters = PreTokenization::Letters;
  const bool has_bytes = pre.letters == Letters::kBytes;
  if (pre.drops_matches && file.metadata.flag_or(file.key("normalizer.lowercase"), false))
    rules.normalizers.push_back(lowercase());
  if (pre.letters == Letters::kMarkedCharacters)
    rules.normalizers.push_back(replace(Pattern::literal(" "), std::string(kSpaceMark)));
  rules.bpe.byte_letters = has_bytes;
  rules.bpe.ignore_merges = pre.ignore_merges;
  rules.bpe.whole_newlines = pre.whole_newlines;
  read_merges(file, pre.needs_merges, rules);
  if (has_bytes) {
    read_letters(rules);
  } else {
    read_byte_tokens(file, rules);
    rules.bpe.look_for_cuts();
  }
  rules.spelling_of_bytes = has_bytes ? Rules::Spelling::kLetters
                            : pre.letters == Letters::kMarkedCharacters
                                ? Rules::Spelling::kMarkedSpaces
                                : Rules::Spelling::kAsDecoded;
  rules.decoder.push_back(join_bytes());
  const bool has_default = file.metadata.text(file.key("model")) != "gemma4";
  const std::optional<int32_t> otherwise = has_default ? std::optional(11) : std::nullopt;
  rules.bos = file.id("bos_token_id", pre.has_bos ? otherwise : std::nullopt);
  rules.eos = file.id("eos_token_id", otherwise);
  read_ends(file, pre.adds_bos, pre.always_adds_bos, rules);
}

void read_sentencepiece(const File& file, Rules& rules) {
  const bool adds_space = file.metadata.flag_or(file.key("add_space_prefix"), true);
  if (adds_space) rules.normalizers.push_back(prepend(std::string(kSpaceMark)));
  rules.normalizers.push_back(replace(Pattern::literal(" "), std::string(kSpaceMark)));
  if (const auto unknown = file.id("unknown_token_id", 0)) rules.bpe.unknown = *unknown;
  read_scores(file, rules);
  read_byte_tokens(file, rules);
  rules.bpe.look_for_cuts();
  rules.spelling_of_bytes = Rules::Spelling::kMarkedSpaces;
  rules.decoder.push_back(join_bytes());
  if (adds_space) rules.decoder.push_back(strip_tokens(" ", 1, 0, true));
  rules.bos = file.id("bos_token_id", 1);
  rules.eos = file.id("eos_token_id", 2);
  read_ends(file, true, false, rules);
}

}  // namespace

std::vector<const char*> end_tokens(const Has& has) {
  std::vector<const char*> texts;
  for (const char* text : kEndTokens) {
    const bool is_other = (has_messages(has) && text == std::string_view("<|end|>")) ||
                          (has_plain_marker(has) && text == std::string_view("</s>"));
    if (!is_other) texts.push_back(text);
  }
  return texts;
}

std::shared_ptr<const Rules> read_gguf(const Settings& metadata, const std::string& chosen_pre) {
  const auto rules = std::make_shared<Rules>();
  const std::string model = metadata.text(kPrefix + "model");
  const bool is_bpe = model == "gpt2" || model == "gemma4" || model == "whitespace";
  check(is_bpe || model == "llama", ErrorCode::kUnsupported, metadata.where(), "\"", kPrefix,
        "model\": wick has no tokenizer ", in_quotes(model));
  if (model == "gpt2" && chosen_pre.empty() && metadata.text_or(kPrefix + "pre", "").empty())
    rules->warnings.push_back(metadata.where() + ": \"" + kPrefix +
                              "pre\" is missing: texts are cut by the rules \"default\", which few "
                              "models were trained with; --tokenizer-pre NAME takes others");
  File file(metadata);
  read_tokens(file, *rules);
  correct_types(file, *rules);
  read_added(file, *rules);
  if (is_bpe)
    read_bpe(file, gguf_pre_tokenization(metadata, chosen_pre), *rules);
  else
    read_sentencepiece(file, *rules);
  rules->note_controls();
  return rules;
}

}  // namespace wick::tokenization
