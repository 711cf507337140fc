// An answer with calls of tools, of the family that the first byte chooses: read at once, and token
// by token with the text after its tokens.
#include "input.h"
#include "text/answers/call_form.h"
#include "wick/io/json.h"
#include "wick/text/answer.h"

namespace {

constexpr const char* kTemplates[] = {
    "<tool_call> arguments <think>",
    "<tool_call> <function=f> <parameter=p> <think>",
    "<tool_call> <arg_key> <arg_value>",
    "dictionary of argument name and its value",
    "[TOOL_CALLS] [THINK]",
    "<｜tool▁calls▁begin｜> <think>",
    "<|tool_calls_section_begin|>",
    "<|tool_call|> <think> <response>",
    "<|python_tag|> <function=f> </function>",
    "<|channel|> <|message|>",
};

const wick::Tokenizer& tokenizer() {
  static const wick::Tokenizer value = [] {
    wick::Setting::List added;
    for (const char* token :
         {"[TOOL_CALLS]", "[ARGS]", "[CALL_ID]", "<|tool_call|>", "<|start|>", "<|end|>",
          "<|message|>", "<|channel|>", "<|constrain|>", "<|call|>", "<|python_tag|>", "<think>",
          "</think>", "<tool_call>", "</tool_call>", "<|tool_calls_section_begin|>",
          "<|tool_call_begin|>", "<|tool_call_argument_begin|>"}) {
      wick::Settings one;
      one.set("id", int64_t(256 + added.size())).set("content", token);
      one.set("special", added.size() < 11).set("single_word", false).set("lstrip", false);
      one.set("rstrip", false).set("normalized", false);
      added.push_back(std::move(one));
    }
    wick::Settings json = wick::byte_tokenizer_json();
    return wick::Tokenizer::from_json(json.set("added_tokens", std::move(added)));
  }();
  return value;
}

wick::Setting::List tools() {
  const wick::Settings all = wick::parse_json(
      R"({"tools": [{"function": {"name": "f", "parameters": {"properties":
          {"p": {"type": "string"}, "b": {"type": "boolean"}}}}}, {"function": {"name": "g"}}]})",
      "tools");
  return std::get<wick::Setting::List>(all.find("tools")->value);
}

using Events = std::vector<wick::AnswerEvent>;
using Kind = wick::AnswerEvent::Kind;

void add(Events& all, const Events& more) {
  for (const wick::AnswerEvent& event : more) {
    const bool is_text = event.kind == Kind::kReasoning || event.kind == Kind::kContent;
    if (is_text && !all.empty() && all.back().kind == event.kind)
      all.back().text += event.text;
    else
      all.push_back(event);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  if (count < 2) return 0;
  const char* const chat_template = kTemplates[bytes[0] % std::size(kTemplates)];
  const bool is_single = bytes[0] >= 128;
  const size_t delay = bytes[1] % 40;
  const std::string answer(wick::fuzz::text_of(bytes + 2, count - 2));
  const std::vector<int64_t> ids = tokenizer().encode_ids(answer, {.add_special = false});
  const wick::AnswerFormat format(chat_template, tokenizer());
  const wick::AnswerOptions options{.tools = tools(), .prompt = {}, .is_single_call = is_single};

  wick::AnswerParser whole(format, tokenizer(), options), parts(format, tokenizer(), options);
  Events at_once, in_parts;
  add(at_once, whole.push(tokenizer().decode(ids, true), ids));
  add(at_once, whole.finish());
  wick::TokenStream stream(tokenizer(), true);
  std::string held;
  for (const int64_t id : ids) {
    held += stream.push(id);
    const size_t ready = held.size() - std::min(held.size(), delay);
    add(in_parts, parts.push(held.substr(0, ready), {&id, 1}));
    held.erase(0, ready);
  }
  add(in_parts, parts.push(held + stream.finish(), {}));
  add(in_parts, parts.finish());

  if (at_once.size() != in_parts.size()) __builtin_trap();
  for (size_t i = 0; i < at_once.size(); i++) {
    const wick::AnswerEvent &one = at_once[i], &other = in_parts[i];
    if (one.kind != other.kind || one.text != other.text || one.call != other.call ||
        one.id != other.id)
      __builtin_trap();
    if (one.kind == Kind::kArguments && !wick::answers::is_json_object(one.text)) __builtin_trap();
  }
  if (is_single && whole.calls() > 1) __builtin_trap();
  return 0;
}
