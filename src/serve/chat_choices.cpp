#include "serve/chat_choices.h"

#include <map>

namespace wick::serve {
namespace {

/// Parts of one answer, joined.
struct AnswerParts {
  std::string reasoning, content;
  struct Call {
    int64_t index = 0;
    bool begins = false;  // here, with id and name
    std::string id = {}, name = {}, arguments = {};
  };
  std::vector<Call> calls;

  bool is_empty() const { return reasoning.empty() && content.empty() && calls.empty(); }
  Call& call(int64_t index) {
    if (calls.empty() || calls.back().index != index) calls.push_back({.index = index});
    return calls.back();
  }
};

/// One text as it is read.
struct ReadAnswer {
  AnswerReader reader;
  AnswerParts all = {};  // of an answer that is given whole
};

class ChatForm : public ChoiceForm {
 public:
  ChatForm(const TokenTexts* texts, ReadingRules rules) : texts_(texts), rules_(std::move(rules)) {}

  std::optional<Settings> first(int64_t index) override {
    Settings delta;
    delta.set("role", "assistant").set("content", "");
    return choice(index, "delta", std::move(delta), nullptr, nullptr);
  }
  void read(int64_t index, const EnginePiece& piece) override {
    ReadAnswer& answer = answer_of(index);
    add(answer.all, answer.reader, piece);
  }
  bool is_complete(int64_t index) const override {
    const auto answer = answers_.find(index);
    return answer != answers_.end() && answer->second.reader.is_complete();
  }
  std::optional<Settings> part(int64_t index, const EnginePiece& piece) override {
    AnswerParts parts;
    add(parts, answer_of(index).reader, piece);
    if (parts.is_empty() && piece.tokens.empty()) return {};
    return choice(index, "delta", delta(parts), logprobs(piece.tokens), nullptr);
  }
  std::vector<Settings> last(int64_t index, const EngineText& text) override {
    AnswerParts rest;
    add(rest, answer_of(index).reader.finish());
    std::vector<Settings> choices;
    if (!rest.is_empty()) choices.push_back(choice(index, "delta", delta(rest), nullptr, nullptr));
    choices.push_back(choice(index, "delta", Settings(), nullptr, reason(index, text)));
    return choices;
  }
  Settings whole(int64_t index, const EngineText& text) override {
    ReadAnswer& answer = answer_of(index);
    AnswerParts& all = answer.all;
    add(all, answer.reader.finish());
    const bool is_null = all.content.empty() && !all.calls.empty();
    Settings message;
    message.set("role", "assistant").set("content", is_null ? Setting() : Setting(all.content));
    if (!all.reasoning.empty()) message.set("reasoning_content", all.reasoning);
    if (!all.calls.empty()) message.set("tool_calls", calls(all, false));
    message.set("refusal", nullptr);
    return choice(index, "message", std::move(message), logprobs(text.tokens), reason(index, text));
  }
  int64_t reasoning_tokens() const override {
    int64_t sum = 0;
    for (const auto& [index, answer] : answers_) sum += answer.reader.reasoning_tokens();
    return sum;
  }

 private:
  ReadAnswer& answer_of(int64_t index) {
    auto answer = answers_.find(index);
    if (answer == answers_.end())
      answer = answers_.emplace(index, ReadAnswer{AnswerReader(rules_)}).first;
    return answer->second;
  }
  static void add(AnswerParts& parts, AnswerReader& reader, const EnginePiece& piece) {
    for (const EnginePiece& one : reader.split(piece)) add(parts, reader.push(one));
  }
  static void add(AnswerParts& parts, const std::vector<AnswerEvent>& events) {
    for (const AnswerEvent& event : events) {
      switch (event.kind) {
        case AnswerEvent::Kind::kReasoning:
          parts.reasoning += event.text;
          break;
        case AnswerEvent::Kind::kContent:
          parts.content += event.text;
          break;
        case AnswerEvent::Kind::kCallBegin: {
          AnswerParts::Call& call = parts.call(event.call);
          call.begins = true;
          call.name = event.text;
          call.id = event.id;
          break;
        }
        case AnswerEvent::Kind::kArguments:
          parts.call(event.call).arguments += event.text;
          break;
        case AnswerEvent::Kind::kCallEnd:
          break;
      }
    }
  }
  static Settings delta(const AnswerParts& parts) {
    Settings delta;
    if (!parts.reasoning.empty()) delta.set("reasoning_content", parts.reasoning);
    // Tokens whose text is held back have an empty one beside their scores.
    if (!parts.content.empty() || parts.is_empty()) delta.set("content", parts.content);
    if (!parts.calls.empty()) delta.set("tool_calls", calls(parts, true));
    return delta;
  }
  static Setting::List calls(const AnswerParts& parts, bool has_index) {
    Setting::List list;
    for (const AnswerParts::Call& call : parts.calls) {
      Settings one, function;
      if (has_index) one.set("index", call.index);
      if (call.begins) {
        one.set("id", call.id).set("type", "function");
        function.set("name", call.name);
      }
      function.set("arguments", call.arguments);
      one.set("function", std::move(function));
      list.push_back(std::move(one));
    }
    return list;
  }
  const char* reason(int64_t index, const EngineText& text) {
    const bool is_cut = text.ending == Ending::kLength || text.ending == Ending::kContext;
    return !is_cut && answer_of(index).reader.calls() > 0 ? "tool_calls"
                                                          : finish_reason(text.ending);
  }
  Setting logprobs(const std::vector<ScoredToken>& tokens) const {
    return texts_ ? Setting(chat_logprobs(*texts_, tokens)) : Setting();
  }
  static Settings choice(int64_t index, const char* key, Settings content, Setting logprobs,
                         Setting reason) {
    Settings s;
    s.set("index", index).set(key, std::move(content)).set("logprobs", std::move(logprobs));
    s.set("finish_reason", std::move(reason));
    return s;
  }

  const TokenTexts* texts_;
  const ReadingRules rules_;
  std::map<int64_t, ReadAnswer> answers_;
};

}  // namespace

std::unique_ptr<ChoiceForm> chat_form(const TokenTexts* texts, ReadingRules rules) {
  return std::make_unique<ChatForm>(texts, std::move(rules));
}

}  // namespace wick::serve
