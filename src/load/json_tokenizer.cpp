// Source of the form: HuggingFace's tokenizers and transformers.
#include <algorithm>
#include <map>
#include <tuple>

#include "load/gguf_tokenizer.h"
#include "text/tokenizer/rules.h"
#include "wick/text/tokenizer.h"

namespace wick {
namespace {

using tokenization::PreTokenization;
using tokenization::Rules;

const std::string kPrefix = "tokenizer.ggml.";
constexpr const char* kSpaceMark = "\u2581";

Settings typed(const char* type) {
  Settings part;
  part.set("type", type);
  return part;
}

Settings sequence(const char* list, Setting::List parts) {
  return typed("Sequence").set(list, std::move(parts));
}

Settings byte_level(bool splits) {
  return typed("ByteLevel")
      .set("add_prefix_space", false)
      .set("trim_offsets", true)
      .set("use_regex", splits);
}

Settings replace(const char* text, const char* content) {
  return typed("Replace").set("pattern", Settings().set("String", text)).set("content", content);
}

// ---- vocabulary and merges

Setting::List added_tokens(const Rules& rules) {
  Setting::List list;
  for (const tokenization::AddedToken& token : rules.added.tokens())
    list.emplace_back(Settings()
                          .set("id", int64_t(token.id))
                          .set("content", token.text)
                          .set("single_word", token.single_word)
                          .set("lstrip", token.left_strip)
                          .set("rstrip", token.right_strip)
                          .set("normalized", token.normalized)
                          .set("special", token.special));
  return list;
}

/// The ids of the tokens that have a text.
std::map<std::string, int64_t> ids_of(const Rules& rules) {
  std::map<std::string, int64_t> ids;
  for (int32_t id = 0; id < rules.size(); id++)
    if (const Rules::Kind kind = rules.kind(id); kind != Rules::kMissing && kind != Rules::kSilent)
      ids.emplace(rules.spelling(id), id);
  return ids;
}

Settings vocabulary(const std::map<std::string, int64_t>& ids) {
  std::vector<std::pair<int64_t, std::string>> order;
  for (const auto& [token, id] : ids) order.emplace_back(id, token);
  std::sort(order.begin(), order.end());
  std::vector<Settings::Entry> entries;
  for (const auto& [id, token] : order) entries.emplace_back(token, id);
  return Settings("", std::move(entries));
}

Setting pair(const std::string& left, const std::string& right) {
  return Setting::List{left, right};
}

/// The merges of byte-level BPE whose tokens are all in the vocabulary, as the format demands.
Setting::List listed_merges(const Settings& metadata, const std::map<std::string, int64_t>& ids) {
  Setting::List merges;
  for (const std::string& line : metadata.texts(kPrefix + "merges")) {
    const size_t space = line.find(' ', 1);
    if (space == line.npos) continue;
    const std::string left = line.substr(0, space), right = line.substr(space + 1);
    if (ids.count(left) && ids.count(right) && ids.count(left + right))
      merges.push_back(pair(left, right));
  }
  return merges;
}

/// SentencePiece's scores as merges: each way to split a token in two others, the token with the
/// highest score first.
Setting::List merges_by_score(const Settings& metadata, const std::map<std::string, int64_t>& ids) {
  const std::vector<double> scores = metadata.reals(kPrefix + "scores");
  struct Merge {
    double score;
    int64_t left_id, right_id;
    std::string left, right;
  };
  std::vector<Merge> merges;
  for (const auto& [token, id] : ids) {
    if (size_t(id) >= scores.size()) continue;
    for (size_t at = 1; at < token.size(); at++) {
      const auto left = ids.find(token.substr(0, at)), right = ids.find(token.substr(at));
      if (left != ids.end() && right != ids.end())
        merges.push_back(
            {scores[size_t(id)], left->second, right->second, left->first, right->first});
    }
  }
  std::sort(merges.begin(), merges.end(), [](const Merge& a, const Merge& b) {
    return std::tuple(-a.score, a.left_id, a.right_id) <
           std::tuple(-b.score, b.left_id, b.right_id);
  });
  Setting::List list;
  for (const Merge& merge : merges) list.push_back(pair(merge.left, merge.right));
  return list;
}

// ---- steps

Setting::List splits(const PreTokenization& pre) {
  Setting::List steps;
  for (const std::string& pattern : pre.patterns)
    steps.emplace_back(typed("Split")
                           .set("pattern", Settings().set("Regex", pattern))
                           .set("behavior", "Isolated")
                           .set("invert", false));
  steps.emplace_back(byte_level(false));
  return steps;
}

Settings special(const std::string& token) {
  return Settings().set("SpecialToken", Settings().set("id", token).set("type_id", 0));
}

/// The tokens around a text and around a pair of texts; null without any.
Setting post_processor(const Rules& rules) {
  const tokenization::PostStep& ends = rules.post_steps.front();
  if (ends.before.empty() && ends.after.empty()) return nullptr;
  Settings tokens;
  const auto around = [&](const char* text, Setting::List& list) {
    const auto add = [&](int32_t id) {
      const std::string token = rules.spelling(id);
      list.emplace_back(special(token));
      tokens.set(token, Settings()
                            .set("id", token)
                            .set("ids", Setting::List{int64_t(id)})
                            .set("tokens", Setting::List{token}));
    };
    for (const int32_t id : ends.before) add(id);
    list.emplace_back(Settings().set("Sequence", Settings().set("id", text).set("type_id", 0)));
    for (const int32_t id : ends.after) add(id);
  };
  Setting::List single, both;
  around("A", single);
  around("A", both);
  around("B", both);
  return typed("TemplateProcessing")
      .set("single", std::move(single))
      .set("pair", std::move(both))
      .set("special_tokens", tokens);
}

}  // namespace

Settings json_tokenizer(const Settings& metadata) {
  const std::shared_ptr<const Rules> rules = tokenization::read_gguf(metadata);
  const bool has_byte_tokens = metadata.text(kPrefix + "model") == "llama";
  const std::map<std::string, int64_t> ids = ids_of(*rules);

  Settings model = typed("BPE");
  model.set("dropout", nullptr).set("unk_token", nullptr);
  model.set("continuing_subword_prefix", nullptr).set("end_of_word_suffix", nullptr);
  model.set("fuse_unk", has_byte_tokens).set("byte_fallback", has_byte_tokens);
  Settings json(metadata.where());
  json.set("version", "1.0").set("truncation", nullptr).set("padding", nullptr);
  json.set("added_tokens", added_tokens(*rules));
  if (has_byte_tokens) {
    const bool adds_space = metadata.flag_or(kPrefix + "add_space_prefix", true);
    const int64_t unknown = metadata.integer_or(kPrefix + "unknown_token_id", 0);
    if (rules->kind(unknown) != Rules::kMissing) model.set("unk_token", rules->spelling(unknown));
    Setting::List marks, text{replace(kSpaceMark, " "), typed("ByteFallback"), typed("Fuse")};
    if (adds_space) {
      marks.emplace_back(typed("Prepend").set("prepend", kSpaceMark));
      text.emplace_back(typed("Strip").set("content", " ").set("start", 1).set("stop", 0));
    }
    marks.emplace_back(replace(" ", kSpaceMark));
    json.set("normalizer", sequence("normalizers", std::move(marks))).set("pre_tokenizer", nullptr);
    json.set("post_processor", post_processor(*rules));
    json.set("decoder", sequence("decoders", std::move(text)));
    model.set("vocab", vocabulary(ids)).set("merges", merges_by_score(metadata, ids));
  } else {
    const PreTokenization& pre = tokenization::gguf_pre_tokenization(metadata);
    json.set("normalizer", nullptr);
    json.set("pre_tokenizer", sequence("pretokenizers", splits(pre)));
    json.set("post_processor", post_processor(*rules));
    json.set("decoder", byte_level(true));
    model.set("ignore_merges", pre.ignore_merges);
    model.set("vocab", vocabulary(ids)).set("merges", listed_merges(metadata, ids));
  }
  json.set("model", model);
  check(same_ids(Tokenizer::from_gguf(metadata), Tokenizer::from_json(json)),
        ErrorCode::kUnsupported, metadata.where(),
        "tokenizer.json cannot give the ids of this file's tokenizer");
  return json;
}

Settings json_tokenizer_config(const Settings& metadata, const Tokenizer& tokenizer) {
  Settings config;
  config.set("tokenizer_class", "PreTrainedTokenizerFast");
  config.set("clean_up_tokenization_spaces", false);
  for (const auto& [key, gguf] : {std::pair("bos_token", "bos_token_id"),
                                  {"eos_token", "eos_token_id"},
                                  {"unk_token", "unknown_token_id"},
                                  {"pad_token", "padding_token_id"}}) {
    const int64_t id = metadata.integer_or(kPrefix + gguf, -1, -1);
    if (const std::string token = tokenizer.token(id); !token.empty()) config.set(key, token);
  }
  if (const std::string text = metadata.text_or("tokenizer.chat_template", ""); !text.empty())
    config.set("chat_template", text);
  return config;
}

}  // namespace wick
