// The answer to a request of OpenAI's API of responses.
#pragma once
#include "serve/answer_form.h"
#include "serve/requests.h"

namespace wick::serve {

class ResponseAnswer : public AnswerForm {
 public:
  /// texts: for log probabilities; nullptr without them. The answer repeats fields of the body.
  ResponseAnswer(const std::string& model, const Fields& body, const TextOptions& options,
                 const TokenTexts* texts);

  Settings whole(const TextFeed& feed, const Usage& usage) override;
  std::string first(size_t texts) override;
  std::string part(int64_t index, const EnginePiece& piece) override;
  std::string last(int64_t index, const EngineText& text) override;
  std::string end(const Usage& usage) override;
  std::string failure(const RequestError& error) override;

 private:
  Settings response(const char* status, Setting::List output, Setting usage) const;
  Settings finished(Setting usage) const;
  Settings message(const char* status, Setting::List content) const;
  Settings text_part(const std::string& text, const Setting::List& logprobs) const;
  Setting::List logprobs(const std::vector<ScoredToken>& tokens) const;
  void set_text(const EngineText& text);
  void add_event(std::string& to, const char* type, const Settings& data);
  Settings in_text() const;

  const TokenTexts* texts_;
  Settings head_, echo_;  // the fields before and after the output
  const std::string message_id_;
  int64_t sequence_ = 0;  // events
  std::string text_;
  Setting::List logprobs_;  // of the text
  bool is_cut_ = false;     // the text had no room
};

}  // namespace wick::serve
