#include "serve/chat_choices.h"

#include <algorithm>
#include <map>

#include "wick/base/error.h"

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
  AnswerParser parser;
  AnswerParts all;
};

/// The ids that tell whether a prompt has opened the reasoning.
std::vector<int64_t> last_ids(const std::vector<int64_t>& prompt) {
  constexpr size_t kTail = 64;
  return {prompt.end() - int64_t(std::min(kTail, prompt.size())), prompt.end()};
}

class ChatForm : public ChoiceForm {
 public:
  ChatForm(const TokenTexts* texts, AnswerFormat format, const Tokenizer& tokenizer,
           AnswerOptions options)
      : texts_(texts),
        format_(std::move(format)),
        tokenizer_(tokenizer),
        options_(std::move(options)) {}

  std::optional<Settings> first(int64_t index) override {
    Settings delta;
    delta.set("role", "assistant").set("content", "");
    return choice(index, "delta", std::move(delta), nullptr, nullptr);
  }
  void read(int64_t index, const EnginePiece& piece) override {
    ReadAnswer& answer = answer_of(index);
    add(answer.all, answer.parser.push(piece.text, piece.ids));
  }
  bool is_complete(int64_t index) const override {
    const auto answer = answers_.find(index);
    return answer != answers_.end() && answer->second.parser.is_complete();
  }
  std::optional<Settings> part(int64_t index, const EnginePiece& piece) override {
    AnswerParts parts;
    add(parts, answer_of(index).parser.push(piece.text, piece.ids));
    if (parts.is_empty() && piece.tokens.empty()) return {};
    return choice(index, "delta", delta(parts), logprobs(piece.tokens), nullptr);
  }
  std::vector<Settings> last(int64_t index, const EngineText& text) override {
    AnswerParts rest;
    add(rest, answer_of(index).parser.finish());
    std::vector<Settings> choices;
    if (!rest.is_empty()) choices.push_back(choice(index, "delta", delta(rest), nullptr, nullptr));
    choices.push_back(choice(index, "delta", Settings(), nullptr, reason(index, text)));
    return choices;
  }
  Settings whole(int64_t index, const EngineText& text) override {
    ReadAnswer& answer = answer_of(index);
    AnswerParts& all = answer.all;
    add(all, answer.parser.finish());
    const bool is_null = all.content.empty() && !all.calls.empty();
    Settings message;
    message.set("role", "assistant").set("content", is_null ? Setting() : Setting(all.content));
    if (!all.reasoning.empty()) message.set("reasoning_content", all.reasoning);
    if (!all.calls.empty()) message.set("tool_calls", calls(all, false));
    message.set("refusal", nullptr);
    return choice(index, "message", std::move(message), logprobs(text.tokens), reason(index, text));
  }

 private:
  ReadAnswer& answer_of(int64_t index) {
    auto answer = answers_.find(index);
    if (answer == answers_.end())
      answer = answers_.emplace(index, ReadAnswer{{format_, tokenizer_, options_}, {}}).first;
    return answer->second;
  }
  void add(AnswerParts& parts, const std::vector<AnswerEvent>& events) const {
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
          call.id = event.id.empty() ? random_call_id(format_.has_short_call_ids()) : event.id;
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
    return !is_cut && answer_of(index).parser.calls() > 0 ? "tool_calls"
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
  AnswerFormat format_;
  Tokenizer tokenizer_;
  AnswerOptions options_;
  std::map<int64_t, ReadAnswer> answers_;
};

}  // namespace

void hold_to_calls(ChatRequest& request, const AnswerFormat& format,
                   const std::vector<int64_t>& prompt) {
  if (!request.forced_function) return;
  try {
    request.options.grammar =
        format.call_grammar(request.layout.tools, {.function = *request.forced_function,
                                                   .is_single_call = request.is_single_call,
                                                   .prompt = last_ids(prompt)});
  } catch (const Error& error) {
    // Errors begin with the field.
    const std::string text = error.what();
    const size_t end = std::min(text.find(": "), text.size());
    const std::string field = text.substr(0, end);
    throw RequestError(400, "'" + field + "'" + text.substr(end), field, "invalid_value");
  }
}

std::unique_ptr<ChoiceForm> chat_form(const TokenTexts* texts, const AnswerFormat& format,
                                      const Tokenizer& tokenizer, const ChatRequest& request,
                                      const std::vector<int64_t>& prompt) {
  AnswerOptions options{.tools = request.layout.tools,
                        .prompt = last_ids(prompt),
                        .is_single_call = request.is_single_call};
  return std::make_unique<ChatForm>(texts, format, tokenizer, std::move(options));
}

}  // namespace wick::serve
