#include "load/gguf_tokenizer.h"

#include <algorithm>
#include <map>
#include <optional>

#include "text/tokenizer/rules.h"
#include "wick/text/tokenizer.h"

namespace wick {
namespace {

const std::string kPrefix = "tokenizer.ggml.";
constexpr const char* kSpaceMark = "\u2581";

/// "token_type". Source: ggml (MIT).
enum TokenType : int64_t { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };

std::string replaced(std::string text, std::string_view old, std::string_view now) {
  for (size_t at = 0; (at = text.find(old, at)) != text.npos; at += now.size())
    text.replace(at, old.size(), now);
  return text;
}

/// Whether llama.cpp's conversion takes an added token for a special one by its text.
bool looks_special(const std::string& token) {
  for (const char* known : {"<pad>", "<mask>", "<2mass>", "[@BOS@]"})
    if (token == known) return true;
  const auto is_between = [&](const char* begin, const char* end) {
    return token.starts_with(begin) && token.ends_with(end);
  };
  return is_between("<|", "|>") || is_between("<\uff5c", "\uff5c>") || is_between("<unused", ">");
}

bool is_byte_token(const std::string& token) {
  return token.size() == 6 && token.starts_with("<0x") && token.ends_with('>');
}

struct Vocabulary {
  std::vector<std::string> tokens;
  std::vector<int64_t> types;
};

/// Sets the token of an id. Errors: kFormat if it is outside the vocabulary.
void set_token(Vocabulary& vocabulary, const Settings& where, int64_t id, const std::string& token,
               TokenType type) {
  check(id >= 0 && id < int64_t(vocabulary.tokens.size()), ErrorCode::kFormat, where.where(), "id ",
        id, " is outside the ", vocabulary.tokens.size(), " rows of the embedding");
  vocabulary.tokens[size_t(id)] = token;
  vocabulary.types[size_t(id)] = type;
}

Vocabulary read_vocabulary(const Settings& json, const Settings& model, bool has_byte_tokens,
                           int64_t size) {
  Vocabulary vocabulary;
  for (int64_t id = 0; id < size; id++)
    vocabulary.tokens.push_back("[PAD" + std::to_string(id) + "]");
  vocabulary.types.assign(size_t(size), kUnused);
  const Settings* const vocab = model.group("vocab");
  check(vocab != nullptr, ErrorCode::kFormat, model.where(), "expected an object \"vocab\"");
  const std::string unknown = model.text_or("unk_token", "");
  for (const auto& [token, value] : vocab->entries()) {
    const auto* const id = std::get_if<int64_t>(&value.value);
    if (!id) vocab->fail_expected(token, "an id");
    set_token(vocabulary, *vocab, *id, token,
              !has_byte_tokens       ? kNormal
              : is_byte_token(token) ? kByte
              : token == unknown     ? kUnknown
                                     : kNormal);
  }
  const Setting* const added = json.find("added_tokens");
  const auto* const list = added ? std::get_if<Setting::List>(&added->value) : nullptr;
  for (const Setting& item : list ? *list : Setting::List()) {
    const auto* const token = std::get_if<Settings>(&item.value);
    if (!token) json.fail_expected("added_tokens", "a list of objects");
    const std::string content = token->text("content");
    const bool special = token->flag_or("special", false) || looks_special(content);
    if (has_byte_tokens && content == unknown) continue;
    set_token(vocabulary, json, token->integer("id"),
              special ? content : replaced(content, kSpaceMark, " "),
              special ? kControl : kUserDefined);
  }
  return vocabulary;
}

using Pair = std::pair<std::string, std::string>;

/// The merges, which a file has as "LEFT RIGHT" or as ["LEFT", "RIGHT"].
std::vector<Pair> read_merges(const Settings& model) {
  const Setting* const found = model.find("merges");
  const auto* const list = found ? std::get_if<Setting::List>(&found->value) : nullptr;
  if (!list) model.fail_expected("merges", "a list");
  std::vector<Pair> merges;
  for (const Setting& item : *list) {
    const auto* const text = std::get_if<std::string>(&item.value);
    const auto* const parts = std::get_if<Setting::List>(&item.value);
    const size_t space = text ? text->find(' ') : std::string::npos;
    if (text && space != text->npos) {
      merges.push_back({text->substr(0, space), text->substr(space + 1)});
      continue;
    }
    const auto part = [&](size_t i) {
      return parts && parts->size() == 2 ? std::get_if<std::string>(&(*parts)[i].value) : nullptr;
    };
    if (!part(0) || !part(1)) model.fail_expected("merges", "pairs of tokens");
    merges.push_back({*part(0), *part(1)});
  }
  return merges;
}

/// Lines of "merges"; spaces within a token are spelled as in the byte alphabet.
Setting::List merge_lines(const std::vector<Pair>& merges) {
  Setting::List lines;
  for (const auto& [left, right] : merges)
    lines.emplace_back(replaced(left, " ", "\u0120") + " " + replaced(right, " ", "\u0120"));
  return lines;
}

/// SentencePiece's scores: tokens that merge earlier have higher ones; others merge last.
Setting::List scores_of(const Vocabulary& vocabulary, const std::vector<Pair>& merges) {
  constexpr double kNever = -1e6;
  std::map<std::string, double> scores;
  for (const auto& [left, right] : merges) scores.emplace(left + right, -double(scores.size()));
  Setting::List list;
  for (const std::string& token : vocabulary.tokens) {
    const auto found = scores.find(token);
    list.emplace_back(found == scores.end() ? kNever : found->second);
  }
  return list;
}

// ---- special tokens

struct SpecialToken {
  const char* name;  // "bos" of "bos_token" and "bos_token_id"
  const char* gguf;
};
constexpr SpecialToken kSpecialTokens[] = {
    {"bos", "bos_token_id"},       {"eos", "eos_token_id"},     {"unk", "unknown_token_id"},
    {"sep", "seperator_token_id"}, {"pad", "padding_token_id"}, {"mask", "mask_token_id"}};

/// The tokens that tokenizer.json puts around a text.
struct Ends {
  std::optional<int64_t> before, after;
  bool adds_space = false;
};

Ends ends_of(const Tokenizer& tokenizer) {
  const std::vector<int64_t> plain = tokenizer.encode_ids("a", {.add_special = false}),
                             all = tokenizer.encode_ids("a");
  Ends ends;
  const auto at = std::search(all.begin(), all.end(), plain.begin(), plain.end());
  if (at != all.begin()) ends.before = all.front();
  if (at != all.end() && all.end() - at > int64_t(plain.size())) ends.after = all.back();
  ends.adds_space = !plain.empty() && tokenizer.token(plain.front()).starts_with(kSpaceMark);
  return ends;
}

void add_special_tokens(const Tokenizer& tokenizer, const FolderTexts& texts,
                        const Settings& config, const Ends& ends, std::vector<GgufField>& fields) {
  for (const auto& [name, gguf] : kSpecialTokens) {
    const std::string key = std::string(name) + "_token";
    std::optional<int64_t> id = tokenizer.id_of(texts.token(key.c_str()));
    if (!id)
      if (const Setting* const value = config.find(key + "_id"))
        if (const auto* const number = std::get_if<int64_t>(&value->value)) id = *number;
    if (gguf == std::string_view("bos_token_id") && ends.before) id = ends.before;
    if (gguf == std::string_view("eos_token_id") && ends.after) id = ends.after;
    if (id && *id >= 0) fields.push_back({kPrefix + gguf, *id, GgufType::kU32});
  }
  fields.push_back({kPrefix + "add_bos_token", ends.before.has_value(), GgufType::kBool});
  fields.push_back({kPrefix + "add_eos_token", ends.after.has_value(), GgufType::kBool});
}

/// Texts on which ways of cutting words differ.
constexpr const char* kTexts[] = {
    "Hello, world! It's 3 o'clock; WE'LL see 42, 365, 2024, 12345 and 3.14159 of them.",
    "two  spaces\n\n\nthree lines \t\ttabs   \n   end ",
    "helloWorld XMLParser iPhone O'Neil /usr/bin/\n<p>x += y;</p> ===> {}[]()``` \"quoted\"",
    "Gr\u00fc\u00dfe aus K\u00f6ln. \u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440! "
    "\u4f60\u597d\uff0c\u4e16\u754c\u3002 \u0928\u092e\u0938\u094d\u0924\u0947 "
    "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35 \u0661\u0662\u0663 "
    "\U0001f680\U0001f468\u200d\U0001f469",
};

}  // namespace

bool same_ids(const Tokenizer& a, const Tokenizer& b) {
  return std::all_of(std::begin(kTexts), std::end(kTexts),
                     [&](const char* text) { return a.encode_ids(text) == b.encode_ids(text); });
}

bool has_gguf_tokenizer(const Settings& metadata) {
  const std::string model = metadata.text_or("tokenizer.ggml.model", "none");
  return model != "none" && model != "no_vocab";
}

std::vector<int64_t> gguf_stop_ids(const Settings& metadata,
                                   const std::optional<Tokenizer>& tokenizer) {
  std::vector<int64_t> ids;
  const auto add = [&](int64_t id) {
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
  };
  for (const char* name : {"eos", "eot", "eom"})
    for (const int64_t id : metadata.integers(kPrefix + name + "_token_id")) add(id);
  if (!tokenizer) return ids;
  const auto has = [&](const char* text) { return tokenizer->id_of(text).has_value(); };
  for (const char* text : tokenization::end_tokens(has))
    if (const auto id = tokenizer->id_of(text)) add(*id);
  return ids;
}

Settings settings_of(const std::vector<GgufField>& fields, const std::string& where) {
  std::vector<Settings::Entry> entries;
  for (const GgufField& field : fields) entries.push_back({field.key, field.value});
  return Settings(where, std::move(entries));
}

std::vector<GgufField> gguf_tokenizer(const Settings& json, const FolderTexts& texts,
                                      const Settings& config, int64_t vocab_size) {
  const Settings* const model = json.group("model");
  check(model != nullptr, ErrorCode::kFormat, json.where(), "expected an object \"model\"");
  const std::string kind = model->text_or("type", "BPE");
  check(kind == "BPE", ErrorCode::kUnsupported, json.where(),
        "\"model\": a GGUF file can be written for BPE, got ", kind);
  const bool has_byte_tokens = model->flag_or("byte_fallback", false);
  const Tokenizer tokenizer = Tokenizer::from_json(json);
  const Vocabulary vocabulary = read_vocabulary(json, *model, has_byte_tokens, vocab_size);
  const std::vector<Pair> merges = read_merges(*model);
  const Ends ends = ends_of(tokenizer);

  std::vector<GgufField> fields;
  const auto add = [&](const char* key, Setting value, GgufType type) {
    fields.push_back({kPrefix + key, std::move(value), type});
  };
  add("model", has_byte_tokens ? "llama" : "gpt2", GgufType::kText);
  add("pre", "default", GgufType::kText);
  add("tokens", Setting::List(vocabulary.tokens.begin(), vocabulary.tokens.end()), GgufType::kText);
  if (has_byte_tokens) add("scores", scores_of(vocabulary, merges), GgufType::kF32);
  add("token_type", Setting::List(vocabulary.types.begin(), vocabulary.types.end()),
      GgufType::kI32);
  if (!has_byte_tokens) add("merges", merge_lines(merges), GgufType::kText);
  if (has_byte_tokens) add("add_space_prefix", ends.adds_space, GgufType::kBool);
  add_special_tokens(tokenizer, texts, config, ends, fields);
  if (!texts.template_source.empty())
    fields.push_back({"tokenizer.chat_template", texts.template_source, GgufType::kText});

  std::vector<std::string> names = {"default"};
  if (!has_byte_tokens) {
    names.clear();
    for (const tokenization::PreTokenization& row : tokenization::gguf_pre_tokenizations())
      names.push_back(row.names.front());
    std::rotate(names.begin(), names.begin() + 1, names.end());  // "default" last: few have it
  }
  for (const std::string& name : names) {
    fields[1].value = name;
    if (same_ids(tokenizer, Tokenizer::from_gguf(settings_of(fields, json.where())))) return fields;
  }
  fail(ErrorCode::kUnsupported, json.where(),
       "no pre-tokenization of GGUF files that wick knows gives the ids of this tokenizer");
}

}  // namespace wick
