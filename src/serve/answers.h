// The answers of OpenAI's API, as JSON.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "serve/http_server.h"
#include "wick/base/settings.h"
#include "wick/generate/engine.h"

namespace wick::serve {

inline constexpr const char* kJson = "application/json";
/// Answers with status 200.
void respond_json(HttpExchange& exchange, const Settings& body);

/// {"error": {...}}.
Settings error_object(const RequestError& error);

/// The tokens of a request, over all its texts.
struct Usage {
  int64_t prompt_tokens = 0, completion_tokens = 0, cached_tokens = 0;
};
/// As of chats and completions. reasoning_tokens: among the completion's tokens.
Settings usage_object(const Usage& usage, int64_t reasoning_tokens);

/// "stop" or "length".
const char* finish_reason(Ending ending);

/// The id of a call of a tool: "call_" and 24 random digits, or nine digits.
std::string random_call_id(bool is_short);

/// Tokens as texts of their own.
class TokenTexts {
 public:
  explicit TokenTexts(const Tokenizer& tokenizer);
  /// As within a text, so that a space at its beginning stays.
  std::string text(int64_t id) const;

 private:
  const Tokenizer& tokenizer_;
  std::vector<int64_t> anchor_;  // a token before it, whose text is anchor_text_
  std::string anchor_text_;
};

/// The fields that all parts of an answer have.
struct AnswerHead {
  std::string id, object, model;
  int64_t created = 0;  // seconds since 1970
};
/// The prefix and 24 random hexadecimal digits.
std::string random_id(const char* prefix);
AnswerHead answer_head(const char* id_prefix, const char* object, const std::string& model);
Settings with_head(const AnswerHead& head);

/// choices[].logprobs of a chat.
Settings chat_logprobs(const TokenTexts& texts, const std::vector<ScoredToken>& tokens);
/// choices[].logprobs of a completion. offset: characters of the text before the tokens; moves past
/// them.
Settings completion_logprobs(const TokenTexts& texts, const std::vector<ScoredToken>& tokens,
                             int64_t& offset);

/// An event of a stream: "data: JSON" and an empty line.
std::string event(const Setting& data);
inline constexpr const char* kLastEvent = "data: [DONE]\n\n";

}  // namespace wick::serve
