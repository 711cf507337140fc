// The answer to a request of OpenAI's API of responses.
#pragma once
#include "serve/answer_form.h"
#include "serve/answer_reader.h"

namespace wick::serve {

/// Its output is a list of items: reasoning, messages and calls, in the model's order.
class ResponseAnswer : public AnswerForm {
 public:
  /// texts: for log probabilities; nullptr without them. The answer repeats fields of the body.
  ResponseAnswer(const std::string& model, const Fields& body, const TextOptions& options,
                 const TokenTexts* texts, const ReadingRules& rules);

  void read(int64_t index, const EnginePiece& piece) override { part(index, piece); }
  bool is_complete(int64_t) const override { return reader_.is_complete(); }
  Settings whole(const TextFeed& feed, const Usage& usage) override;
  std::string first(size_t texts) override;
  std::string part(int64_t index, const EnginePiece& piece) override;
  std::string last(int64_t index, const EngineText& text) override;
  std::string end(const Usage& usage) override;
  std::string failure(const RequestError& error) override;

 private:
  using Kind = AnswerEvent::Kind;
  /// The item of the output that grows.
  struct Item {
    Kind kind;  // kReasoning, kContent, or kCallBegin of a call
    std::string id;
    std::string name = {}, call_id = {};  // of a call
    std::string text = {};                // or the arguments
    Setting::List logprobs = {};
  };

  void take(const std::vector<AnswerEvent>& parts);
  void begin_item(Item item);
  void add_text(Kind kind, const std::string& text, bool is_last);
  void add_arguments(const std::string& text);
  void end_item(const char* status);
  Setting::List take_scores(const std::string& text);

  Settings response(const char* status, Setting::List output, Setting usage) const;
  Settings finished(const Usage& usage) const;
  Settings item_object(const char* status, Setting::List content) const;
  Settings content_part() const;
  Settings in_item(bool has_content) const;
  void add_event(const char* type, const Settings& data);
  std::string take_events() { return std::exchange(events_, {}); }

  const TokenTexts* texts_;
  Settings head_, echo_;  // the fields before and after the output
  AnswerReader reader_;
  const bool is_streamed_;
  Setting::List output_;             // items that have ended
  std::optional<Item> item_;         // after them
  std::vector<ScoredToken> scores_;  // of tokens whose text has not come
  std::string events_;               // that were not sent
  int64_t sequence_ = 0;             // events
  bool is_cut_ = false;              // the text had no room
};

}  // namespace wick::serve
