// An answer as it is read, for all APIs: reasoning, content and calls of tools.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "serve/requests.h"
#include "wick/generate/engine.h"
#include "wick/text/answer.h"

namespace wick::serve {

/// How the texts of one request are read. A cheap copyable value.
struct ReadingRules {
  AnswerFormat format;
  Tokenizer tokenizer;
  AnswerOptions options;
};
/// prompt: the request's ids.
ReadingRules reading_rules(const AnswerFormat& format, const Tokenizer& tokenizer,
                           const ChatRequest& request, const std::vector<int64_t>& prompt);

/// Holds the answer to calls if the request's tool_choice forces one, and to calls or JSON if there
/// are tools beside a format. Errors: RequestError 400, naming tool_choice or the part of tools
/// that no grammar can hold.
void hold_to_calls(ChatRequest& request, const AnswerFormat& format,
                   const std::vector<int64_t>& prompt);

/// One text. Each call has an id of its own.
class AnswerReader {
 public:
  explicit AnswerReader(const ReadingRules& rules);

  /// Splits a piece into pieces of one token each, so that an answer is read alike however the
  /// engine has joined its tokens. Text that has come without a token, or was held back, goes with
  /// the last one.
  std::vector<EnginePiece> split(const EnginePiece& piece);
  /// Reads a piece of split.
  std::vector<AnswerEvent> push(const EnginePiece& piece);
  /// The end of the text.
  std::vector<AnswerEvent> finish();

  /// The calls that have been given.
  int64_t calls() const { return parser_.calls(); }
  /// Whether nothing that follows can give an event.
  bool is_complete() const { return parser_.is_complete(); }
  /// The tokens of reasoning, up to the last one that has given text of it.
  int64_t reasoning_tokens() const { return reasoning_tokens_; }

 private:
  void name_calls(std::vector<AnswerEvent>& events);
  void count(const std::vector<AnswerEvent>& events);

  AnswerParser parser_;
  TokenStream tokens_;
  const bool has_short_ids_;
  std::set<std::string> call_ids_;
  size_t decoded_ = 0, seen_ = 0;  // bytes of the text that the tokens give, and that have come
  int64_t reasoning_tokens_ = 0;
  int64_t held_tokens_ = 0;  // since the last event
};

}  // namespace wick::serve
