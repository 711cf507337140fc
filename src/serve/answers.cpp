#include "serve/answers.h"

#include <ctime>
#include <random>

#include "base/utf8.h"
#include "wick/io/json.h"

namespace wick::serve {
namespace {

Setting or_null(const std::string& text) { return text.empty() ? Setting() : Setting(text); }

/// 24 random hexadecimal digits.
std::string random_digits() {
  constexpr char kDigits[] = "0123456789abcdef";
  std::random_device random;
  std::string text;
  for (int word = 0; word < 3; word++)
    for (uint32_t bits = random(), i = 0; i < 8; i++, bits >>= 4) text += kDigits[bits & 15];
  return text;
}

/// The bytes of a text; null if a part of a character was replaced.
Setting bytes_of(const std::string& text) {
  if (text.find(kReplacement) != text.npos) return nullptr;
  Setting::List bytes;
  for (const char c : text) bytes.push_back(int64_t(uint8_t(c)));
  return bytes;
}

Settings scored(const TokenTexts& texts, const TokenLogprob& token) {
  const std::string text = texts.text(token.id);
  Settings s;
  s.set("token", text).set("logprob", token.logprob).set("bytes", bytes_of(text));
  return s;
}

}  // namespace

void respond_json(HttpExchange& exchange, const Settings& body) {
  exchange.respond(200, kJson, to_json(body, -1));
}

Settings error_object(const RequestError& error) {
  Settings inner, outer;
  inner.set("message", std::string(error.what())).set("type", error.type());
  inner.set("param", or_null(error.param)).set("code", or_null(error.code));
  outer.set("error", std::move(inner));
  return outer;
}

Settings usage_object(const Usage& usage, int64_t reasoning_tokens) {
  Settings s, prompt, completion;
  completion.set("reasoning_tokens", reasoning_tokens);
  prompt.set("cached_tokens", usage.cached_tokens);
  s.set("prompt_tokens", usage.prompt_tokens).set("completion_tokens", usage.completion_tokens);
  s.set("total_tokens", usage.prompt_tokens + usage.completion_tokens);
  s.set("prompt_tokens_details", std::move(prompt));
  s.set("completion_tokens_details", std::move(completion));
  return s;
}

const char* finish_reason(Ending ending) {
  return ending == Ending::kLength || ending == Ending::kContext ? "length" : "stop";
}

std::string random_call_id(bool is_short) {
  return is_short ? random_digits().substr(0, 9) : "call_" + random_digits();
}

TokenTexts::TokenTexts(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {
  for (const char* text : {"a", "1", "."}) {
    anchor_ = tokenizer.encode_ids(text, {.add_special = false});
    anchor_text_ = tokenizer.decode(anchor_);
    if (anchor_text_ == text) return;
  }
  anchor_.clear();
  anchor_text_.clear();
}

std::string TokenTexts::text(int64_t id) const {
  std::vector<int64_t> ids = anchor_;
  ids.push_back(id);
  const std::string both = tokenizer_.decode(ids);
  return both.starts_with(anchor_text_) ? both.substr(anchor_text_.size())
                                        : tokenizer_.decode({&ids.back(), 1});
}

std::string random_id(const char* prefix) { return prefix + random_digits(); }

AnswerHead answer_head(const char* id_prefix, const char* object, const std::string& model) {
  return {random_id(id_prefix), object, model, int64_t(std::time(nullptr))};
}

Settings with_head(const AnswerHead& head) {
  Settings s;
  s.set("id", head.id).set("object", head.object).set("created", head.created);
  s.set("model", head.model);
  return s;
}

Settings chat_logprobs(const TokenTexts& texts, const std::vector<ScoredToken>& tokens) {
  Setting::List content;
  for (const ScoredToken& token : tokens) {
    Setting::List likeliest;
    for (const TokenLogprob& other : token.likeliest) likeliest.push_back(scored(texts, other));
    Settings one = scored(texts, token.token);
    one.set("top_logprobs", std::move(likeliest));
    content.push_back(std::move(one));
  }
  Settings s;
  s.set("content", std::move(content)).set("refusal", nullptr);
  return s;
}

Settings completion_logprobs(const TokenTexts& texts, const std::vector<ScoredToken>& tokens,
                             int64_t& offset) {
  Setting::List names, values, likeliest, offsets;
  for (const ScoredToken& token : tokens) {
    const std::string text = texts.text(token.token.id);
    names.push_back(text);
    values.push_back(token.token.logprob);
    offsets.push_back(offset);
    offset += count_code_points(text);
    Settings others;
    for (const TokenLogprob& other : token.likeliest)
      others.set(texts.text(other.id), other.logprob);
    likeliest.push_back(std::move(others));
  }
  Settings s;
  s.set("tokens", std::move(names)).set("token_logprobs", std::move(values));
  s.set("top_logprobs", std::move(likeliest)).set("text_offset", std::move(offsets));
  return s;
}

std::string event(const Setting& data) { return "data: " + to_json(data, -1) + "\n\n"; }

}  // namespace wick::serve
