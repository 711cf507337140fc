#include "wick/text/answer.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "text/answers/json_scanner.h"
#include "wick/io/json.h"
#include "wick/text/chat_template.h"

namespace wick {
namespace {

using Kind = AnswerEvent::Kind;

/// A tokenizer of bytes and these tokens. A token after "~" is not special.
Tokenizer tokenizer_with(const std::vector<std::string>& tokens) {
  Settings json = byte_tokenizer_json();
  Setting::List added;
  for (size_t i = 0; i < tokens.size(); i++) {
    const bool is_special = tokens[i][0] != '~';
    Settings token;
    token.set("id", int64_t(256 + i)).set("content", tokens[i].substr(is_special ? 0 : 1));
    token.set("special", is_special).set("single_word", false).set("lstrip", false);
    token.set("rstrip", false).set("normalized", false);
    added.push_back(std::move(token));
  }
  return Tokenizer::from_json(json.set("added_tokens", std::move(added)));
}

Setting::List tools() {
  const Settings all = parse_json(R"({"tools": [
      {"type": "function", "function": {"name": "weather", "parameters": {"type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}, "any": {},
                       "now": {"type": "boolean"}, "note": {"type": ["string", "null"]}}}}},
      {"type": "function", "function": {"name": "add"}}]})",
                                  "tools");
  return std::get<Setting::List>(all.find("tools")->value);
}

/// "R(reasoning) C(content) weather({"city": "Oslo"}) add#id({})".
std::string shown(const std::vector<AnswerEvent>& events) {
  std::string text;
  Kind last = Kind::kCallEnd;
  int64_t calls = 0;
  for (const AnswerEvent& event : events) {
    const bool is_text = event.kind == Kind::kReasoning || event.kind == Kind::kContent;
    EXPECT_FALSE(is_text && event.text.empty());
    if (is_text && last == event.kind) {
      text.insert(text.size() - 1, event.text);
      continue;
    }
    last = event.kind;
    if (is_text || event.kind == Kind::kCallBegin) text += text.empty() ? "" : " ";
    if (is_text) {
      text += (event.kind == Kind::kReasoning ? "R(" : "C(") + event.text + ")";
    } else if (event.kind == Kind::kCallBegin) {
      EXPECT_EQ(event.call, calls++);
      text += event.text + (event.id.empty() ? "" : "#" + event.id) + "(";
    } else {
      EXPECT_EQ(event.call, calls - 1);
      text += event.kind == Kind::kCallEnd ? ")" : event.text;
    }
  }
  return text;
}

struct Split {
  size_t ids = 1;    // in each piece
  size_t delay = 0;  // bytes of text that come later than their tokens
};
std::string read(const AnswerFormat& format, const Tokenizer& tokenizer,
                 const std::vector<int64_t>& ids, const AnswerOptions& options,
                 const Split& split) {
  AnswerParser parser(format, tokenizer, options);
  TokenStream stream(tokenizer, true);
  std::vector<AnswerEvent> events;
  const auto add = [&](const std::vector<AnswerEvent>& more) {
    events.insert(events.end(), more.begin(), more.end());
  };
  std::string held;
  for (size_t at = 0; at < ids.size(); at += split.ids) {
    const std::span<const int64_t> piece(ids.data() + at, std::min(split.ids, ids.size() - at));
    for (const int64_t id : piece) held += stream.push(id);
    const size_t ready = held.size() - std::min(held.size(), split.delay);
    add(parser.push(held.substr(0, ready), piece));
    held.erase(0, ready);
  }
  add(parser.push(held + stream.finish(), {}));
  add(parser.finish());
  return shown(events);
}

/// The events, which must not depend on the pieces.
std::string read(const AnswerFormat& format, const Tokenizer& tokenizer, const std::string& answer,
                 const AnswerOptions& options, bool has_tokens = true) {
  std::vector<int64_t> ids;
  if (has_tokens)
    ids = tokenizer.encode_ids(answer, {.add_special = false});
  else
    for (const char byte : answer) ids.push_back(uint8_t(byte));
  const std::string whole = read(format, tokenizer, ids, options, {ids.size() + 1, 0});
  for (const Split split :
       {Split{1, 0}, Split{2, 0}, Split{3, 0}, Split{7, 0}, Split{1, 1}, Split{1, 9}, Split{4, 30}})
    EXPECT_EQ(read(format, tokenizer, ids, options, split), whole)
        << split.ids << " tokens, delay " << split.delay << ": " << answer;
  return whole;
}

/// Answers of a family and the events that they give.
struct FamilyRows {
  std::string name;           // of AnswerFormat::calls
  std::string chat_template;  // the words of it that count
  std::vector<std::string> tokens;
  struct Row {
    std::string answer, events;
  };
  std::vector<Row> rows;
};

const std::vector<FamilyRows>& families() {
  const std::string hermes = R"(<tool_call>{"name": <name>, "arguments": <args>}</tool_call>)";
  const std::string qwen_xml = "<tool_call><function=f><parameter=p></parameter></function>";
  const std::vector<FamilyRows::Row> hermes_rows = {
      {"Hello", "C(Hello)"},
      {" \n Hello \n", "C( \n Hello \n)"},
      {R"(<tool_call>
{"name": "weather", "arguments": {"city": "Oslo"}}
</tool_call>)",
       R"(weather({"city": "Oslo"}))"},
      // Several, with text around them.
      {R"(I look.
<tool_call>{"name": "add", "arguments": {}}</tool_call>
<tool_call>{"arguments": {"days": [1, {"x": null}]}, "name": "weather"}</tool_call>
Done. )",
       "C(I look.) add({}) weather({\"days\": [1, {\"x\": null}]}) C(\nDone. )"},
      // Braces, quotes and a marker within strings; characters beyond ASCII.
      {R"(<tool_call>{"name": "weather", "arguments": {"city": "}]\"{ \\ é 😀 \u00e9"}}</tool_call>)",
       R"(weather({"city": "}]\"{ \\ é 😀 \u00e9"}))"},
      // A name with escapes, spaces everywhere, a list, and an end without the closing marker.
      {R"(<tool_call> { "name" : "\u0061dd" , "arguments" : { } } )", "add({ })"},
      {R"(<tool_call>[{"name": "add", "arguments": {}}, {"name": "add", "arguments": {"a": 1}}])",
       R"(add({}) add({"a": 1}))"},
      // All that only looks like a call.
      {R"(<tool_call>{"name": "other", "arguments": {}}</tool_call>)",
       R"(C(<tool_call>{"name": "other", "arguments": {}}</tool_call>))"},
      {R"(<tool_call>{"name": "add", "arguments": [1]}</tool_call>)",
       R"(C(<tool_call>{"name": "add", "arguments": [1]}</tool_call>))"},
      {R"(<tool_call>{"name": "add", "arguments": "{}"}</tool_call>)",
       R"(C(<tool_call>{"name": "add", "arguments": "{}"}</tool_call>))"},
      {R"(<tool_call>{"name": "add"}</tool_call>)", R"(C(<tool_call>{"name": "add"}</tool_call>))"},
      {R"(<tool_call>{"name": "add", "name": "add", "arguments": {}}</tool_call>)",
       R"(C(<tool_call>{"name": "add", "name": "add", "arguments": {}}</tool_call>))"},
      {R"(<tool_call>{"name": "add", "arguments": {"a": 01}}</tool_call>)",
       R"(C(<tool_call>{"name": "add", "arguments": {"a": 01}}</tool_call>))"},
      {"x \n<tool_call>{\"name\": \"add\", \"arguments\": {\"a\":",
       "C(x \n<tool_call>{\"name\": \"add\", \"arguments\": {\"a\":)"},
      {R"(<tool_call>[{"name": "add", "arguments": {}}, {"name": "x", "arguments": {}}])",
       R"(C(<tool_call>[{"name": "add", "arguments": {}}, {"name": "x", "arguments": {}}]))"},
      {"<tool_call>[]</tool_call>", "C(<tool_call>[]</tool_call>)"},
      {"<tool_call>", "C(<tool_call>)"},
      {"say <tool_", "C(say <tool_)"},
      {"</tool_call>", "C(</tool_call>)"},
      // A call after a text that looked like one.
      {R"(<tool_call>?<tool_call>{"name": "add", "arguments": {}}</tool_call>)",
       "C(<tool_call>?) add({})"},
      {R"({"name": "add", "arguments": {}})", R"(C({"name": "add", "arguments": {}}))"},
  };
  static const std::vector<FamilyRows> kFamilies = {
      {"hermes", hermes, {}, hermes_rows},
      {"hermes", hermes, {"~<tool_call>", "~</tool_call>"}, hermes_rows},
      {"hermes",
       hermes + "<think>",
       {"~<think>", "~</think>", "~<tool_call>", "~</tool_call>"},
       {{"<think>\nHm.\n</think>\n\nYes.", "R(Hm.) C(Yes.)"},
        {"\n<think>A </b> < </think>", "R(A </b> <)"},
        {"<think></think>\n\nYes.\n", "C(Yes.\n)"},
        {"<think>\n\n</think>\n\n<tool_call>{\"name\": \"add\", \"arguments\": {}}</tool_call>",
         "add({})"},
        {"<think>Endless \n", "R(Endless)"},
        {"Now <think>no</think>", "C(Now <think>no</think>)"},
        {"<think>a <tool_call>{\"name\": \"add\", \"arguments\": {}}</tool_call>",
         "R(a <tool_call>{\"name\": \"add\", \"arguments\": {}}</tool_call>)"}}},
      {"granite",
       "<|tool_call|> <think></think> <response></response>",
       {"<|tool_call|>"},
       {{R"(<|tool_call|>[{"name": "weather", "arguments": {"city": "Oslo"}}])",
         R"(weather({"city": "Oslo"}))"},
        {R"(<tool_call>[{"name": "add", "arguments": {}}, {"name": "add", "arguments": {}}])",
         "add({}) add({})"},
        {"<think>Hm.</think>\n<response>Yes.\n</response>", "R(Hm.) C(Yes.)"},
        {"<|tool_call|>nothing", "C(nothing)"}}},
      {"granite",
       "<|tool_call|>Here is my thought process: Here is my response:",
       {},
       {{"Here is my thought process:\n\nHm.\n\nHere is my response:\n\nYes.", "R(Hm.) C(Yes.)"},
        {"Here is my th", "C(Here is my th)"}}},
      {"llama",
       R"({"name": function name, "parameters": dictionary of argument name and its value})",
       {"<|python_tag|>"},
       {{R"({"name": "weather", "parameters": {"city": "Oslo"}})", R"(weather({"city": "Oslo"}))"},
        {R"( {"type": "function", "name": "add", "parameters": {}}; {"name": "add", "parameters": {}} )",
         "add({}) add({})"},
        {R"(<|python_tag|>{"name": "add", "parameters": {}})", "add({})"},
        {R"({"name": "add", "parameters": {}} and more)",
         R"(C({"name": "add", "parameters": {}} and more))"},
        {R"(Use {"name": "add", "parameters": {}})", R"(C(Use {"name": "add", "parameters": {}}))"},
        {R"({"temperature": 7})", R"(C({"temperature": 7}))"},
        {R"({"name": "other", "parameters": {}})", R"(C({"name": "other", "parameters": {}}))"},
        {"<|python_tag|>print(1)", "C(print(1))"},
        {"{", "C({)"}}},
      {"mistral",
       "[TOOL_CALLS] [THINK]",
       {"[TOOL_CALLS]", "[ARGS]", "[CALL_ID]", "[THINK]", "[/THINK]"},
       {{R"([TOOL_CALLS][{"name": "weather", "arguments": {"city": "Oslo"}, "id": "abcdefghi"}])",
         R"(weather#abcdefghi({"city": "Oslo"}))"},
        {R"([TOOL_CALLS] [{"name": "add", "arguments": {}}, {"name": "add", "arguments": {}}])",
         "add({}) add({})"},
        {R"([TOOL_CALLS]weather[ARGS]{"city": "Oslo"}[TOOL_CALLS]add[CALL_ID]123456789[ARGS]{})",
         R"(weather({"city": "Oslo"}) add#123456789({}))"},
        {"I look.[TOOL_CALLS]add{\"a\": \"[ARGS\"}", "C(I look.) add({\"a\": \"[ARGS\"})"},
        {"[THINK]Hm.[/THINK]Yes.", "R(Hm.) C(Yes.)"},
        {"[TOOL_CALLS]other[ARGS]{}", "C(other{})"},
        {"[TOOL_CALLS]add[ARGS]{\"a\"}", "C(add{\"a\"})"}}},
      {"mistral",
       "[TOOL_CALLS]",
       {},
       {{R"([TOOL_CALLS] [{"name": "add", "arguments": {}}])", "add({})"},
        {"[TOOL_CALLS]", "C([TOOL_CALLS])"}}},
      {"deepseek",
       "<｜tool▁calls▁begin｜> </think>",
       {"~<｜tool▁calls▁begin｜>", "~<｜tool▁call▁begin｜>", "~<｜tool▁sep｜>",
        "~<｜tool▁call▁end｜>", "~<｜tool▁calls▁end｜>"},
       {{"Look.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>weather\n```json\n"
         "{\"city\": "
         "\"Oslo\"}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>add\n"
         "```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
         R"(C(Look.) weather({"city": "Oslo"}) add({}))"},
        {"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>add<｜tool▁sep｜>{\"a\": 1}<｜tool▁call▁end｜>"
         "<｜tool▁call▁begin｜>add<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
         R"(add({"a": 1}) add({}))"},
        {"<think>Hm.</think>Yes ｜.", "R(Hm.) C(Yes ｜.)"},
        {"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>other\n```json\n{}\n```",
         "C(<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>other\n```json\n{}\n``"
         "`)"}}},
      {"deepseek",
       "<｜tool▁calls▁begin｜>",
       {},
       {{"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>add<｜tool▁sep｜>{}<｜tool▁call▁end｜><"
         "｜tool▁calls▁end｜>",
         "add({})"},
        {"a <｜tool", "C(a <｜tool)"},
        {"a <｝", "C(a <｝)"}}},
      {"kimi-k2",
       "<|tool_calls_section_begin|>",
       {"<|tool_calls_section_begin|>", "<|tool_call_begin|>", "<|tool_call_argument_begin|>",
        "<|tool_call_end|>", "<|tool_calls_section_end|>"},
       {{"A <|tool_calls_section_begin|><|tool_call_begin|>functions.add:0"
         "<|tool_call_argument_begin|>{\"a\": 1}<|tool_call_end|><|tool_call_begin|>functions.add:1"
         "<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
         R"(C(A) add#functions.add:0({"a": 1}) add#functions.add:1({}))"}}},
      {"functionary",
       "<|python_tag|> <function=f>{}</function>",
       {},
       {{R"(<function=add>{"a": 1}</function><function=add>{}</function>)",
         R"(add({"a": 1}) add({}))"},
        {"<function=other>{}</function>", "C(<function=other>{}</function>)"}}},
      {"qwen-xml",
       qwen_xml,
       {"~<tool_call>", "~</tool_call>"},
       {{"Look.\n<tool_call>\n<function=weather>\n<parameter=city>\nNew\n \"York\"\n</parameter>\n"
         "<parameter=days>\n3\n</parameter>\n<parameter=now>\nTrue\n</parameter>\n"
         "<parameter=any>\n[1, 2]\n</parameter>\n<parameter=note>\nnull\n</parameter>\n"
         "</function>\n</tool_call>\n<tool_call>\n<function=add>\n</function>\n</tool_call>",
         R"(C(Look.) weather({"city": "New\n \"York\"", "days": 3, "now": true, "any": [1, 2], )"
         R"("note": null}) add({}))"},
        {"<function=weather><parameter=city>12</parameter><parameter=days>some</parameter>"
         "</function>",
         R"(weather({"city": "12", "days": "some"}))"},
        {"<tool_call>\n<function=other>\n</function>",
         "C(<tool_call>\n<function=other>\n</function>)"},
        {"<tool_call>\n<function=add>\n<parameter=a>1</parameter><parameter=a>1</parameter>",
         "C(<tool_call>\n<function=add>\n<parameter=a>1</parameter><parameter=a>1</parameter>)"},
        {"<tool_call>\n<function=add>\n<para", "C(<tool_call>\n<function=add>\n<para)"}}},
      {"seed",
       "<seed:tool_call><function=f><parameter=p> <seed:think>",
       {},
       {{"<seed:think>Hm.</seed:think><seed:tool_call>\n<function=weather>\n<parameter=city>Oslo"
         "</parameter>\n</function>\n</seed:tool_call>",
         R"(R(Hm.) weather({"city": "Oslo"}))"}}},
      {"minimax",
       "<minimax:tool_call><invoke name=\"f\"><parameter name=\"p\">",
       {"~<minimax:tool_call>", "~</minimax:tool_call>"},
       {{"<minimax:tool_call>\n<invoke name=\"weather\">\n<parameter "
         "name=\"city\">Oslo</parameter>\n"
         "</invoke>\n<invoke name=\"add\">\n</invoke>\n</minimax:tool_call>",
         R"(weather({"city": "Oslo"}) add({}))"}}},
      {"glm",
       "<tool_call><arg_key><arg_value>",
       {"~<tool_call>", "~</tool_call>", "~<arg_key>", "~</arg_key>", "~<arg_value>",
        "~</arg_value>"},
       {{"\n<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n"
         "<arg_key>days</arg_key>\n<arg_value>2</arg_value>\n</tool_call>",
         R"(weather({"city": "Oslo", "days": 2}))"},
        {"<tool_call>weather<arg_key>city</arg_key><arg_value> a\n</arg_value></tool_call>"
         "<tool_call>add</tool_call>",
         R"(weather({"city": " a\n"}) add({}))"},
        {"<tool_call>other</tool_call>", "C(<tool_call>other</tool_call>)"}}},
      {"command-r7b",
       "<|START_ACTION|> <|START_THINKING|>",
       {"<|START_ACTION|>", "<|END_ACTION|>", "<|START_THINKING|>", "<|END_THINKING|>"},
       {{"<|START_THINKING|>Hm.<|END_THINKING|><|START_ACTION|>[\n  {\"tool_call_id\": \"0\", "
         "\"tool_name\": \"add\", \"parameters\": {}}\n]<|END_ACTION|>",
         "R(Hm.) add({})"}}},
      {"nemotron",
       "<TOOLCALL>",
       {},
       {{R"(<TOOLCALL>[{"name": "add", "arguments": {}}]</TOOLCALL>)", "add({})"}}},
      {"gpt-oss",
       "<|channel|>analysis<|message|>",
       {"<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|constrain|>", "<|call|>",
        "<|return|>"},
       {{"<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>"
         "Yes.<|return|>",
         "R(Hm.) C(Yes.)"},
        {"<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary"
         " to=functions.weather <|constrain|>json<|message|>{\"city\": \"Oslo\"}",
         R"(R(Hm.) weather({"city": "Oslo"}))"},
        {" to=functions.add<|channel|>commentary json<|message|> {} <|call|>", "add({})"},
        {"<|channel|>commentary<|message|>I look.<|end|><|start|>assistant to=functions.add"
         "<|channel|>commentary<|message|>{}<|call|><|start|>assistant<|channel|>final<|message|>B",
         "C(I look.) add({}) C(B)"},
        {"<|channel|>analysis<|message|>A<|end|><|start|>assistant<|channel|>analysis<|message|>B",
         "R(A\nB)"},
        {"<|channel|>commentary to=functions.other json<|message|>{}<|call|>",
         "C(commentary to=functions.other json{})"},
        {"<|channel|>commentary to=functions.add<|message|>{\"a\"",
         "C(commentary to=functions.add{\"a\")"},
        {"<|channel|>fin", "C(fin)"},
        {"Hello <|channel|>", "C(Hello )"}}},
      {"", "plain", {"<|python_tag|>"}, {{" <tool_call>{}", "C( <tool_call>{})"}}},
  };
  return kFamilies;
}

TEST(Answer, IsReadInEveryFamilyAndEveryPiece) {
  for (const FamilyRows& family : families()) {
    const Tokenizer tokenizer = tokenizer_with(family.tokens);
    const AnswerFormat format(family.chat_template, tokenizer);
    EXPECT_EQ(format.calls(), family.name);
    for (const FamilyRows::Row& row : family.rows)
      EXPECT_EQ(read(format, tokenizer, row.answer, {.tools = tools()}), row.events)
          << family.name << ": " << row.answer;
  }
}

/// The text of an answer as a client would have it without the parser.
std::string plain(const Tokenizer& tokenizer, const std::string& answer) {
  return tokenizer.decode(tokenizer.encode_ids(answer, {.add_special = false}), true);
}

TEST(Answer, WithoutToolsHasNoCalls) {
  for (const FamilyRows& family : families()) {
    if (family.name == "gpt-oss") continue;  // its headers are no content
    const Tokenizer tokenizer = tokenizer_with(family.tokens);
    const AnswerFormat format(family.chat_template, tokenizer);
    for (const FamilyRows::Row& row : family.rows) {
      const std::string events = read(format, tokenizer, row.answer, {});
      if (row.events.find("R(") == std::string::npos && !format.has_reasoning()) {
        const std::string text = plain(tokenizer, row.answer);
        EXPECT_EQ(events, text.empty() ? "" : "C(" + text + ")");
      }
      AnswerParser parser(format, tokenizer, {});
      parser.push(plain(tokenizer, row.answer),
                  tokenizer.encode_ids(row.answer, {.add_special = false}));
      parser.finish();
      EXPECT_EQ(parser.calls(), 0) << row.answer;
    }
  }
}

TEST(Answer, TellsATokenFromItsSpelling) {
  for (const FamilyRows& family : families()) {
    const Tokenizer tokenizer = tokenizer_with(family.tokens);
    const AnswerFormat format(family.chat_template, tokenizer);
    for (const FamilyRows::Row& row : family.rows) {
      const bool has_token =
          std::any_of(family.tokens.begin(), family.tokens.end(), [&](const std::string& token) {
            return row.answer.starts_with(token[0] == '~' ? token.substr(1) : token);
          });
      if (!has_token || family.name == "granite") continue;
      const std::string events = read(format, tokenizer, row.answer, {.tools = tools()}, false);
      if (family.name == "qwen-xml" || family.name == "minimax") continue;  // have others, spelled
      EXPECT_EQ(events, "C(" + row.answer + ")") << family.name;
    }
  }
}

TEST(Answer, MayBeginWithinReasoning) {
  const Tokenizer tokenizer = tokenizer_with({"~<think>", "~</think>"});
  const AnswerFormat format("<think>", tokenizer);
  const auto ids = [&](const std::string& text) { return tokenizer.encode_ids(text); };
  const auto after = [&](const std::string& prompt, const std::string& answer) {
    return read(format, tokenizer, answer, {.prompt = ids(prompt)});
  };
  EXPECT_EQ(after("assistant\n<think>\n", "Hm.\n</think>\n\nYes."), "R(Hm.) C(Yes.)");
  EXPECT_EQ(after("assistant\n<think>\n", "<think>\nHm.</think>Yes."), "R(Hm.) C(Yes.)");
  EXPECT_EQ(after("assistant\n<think>\n\n</think>\n\n", "Yes."), "C(Yes.)");
  EXPECT_EQ(after("assistant\n", "Yes.</think>"), "C(Yes.</think>)");
  const Tokenizer bytes = tokenizer_with({});
  EXPECT_EQ(read(AnswerFormat("<think>", bytes), bytes, "Hm.</think>Yes.",
                 {.prompt = bytes.encode_ids("<think>")}),
            "R(Hm.) C(Yes.)");
}

TEST(Answer, EndsAfterASingleCall) {
  for (const FamilyRows& family : families()) {
    const Tokenizer tokenizer = tokenizer_with(family.tokens);
    const AnswerFormat format(family.chat_template, tokenizer);
    for (const FamilyRows::Row& row : family.rows) {
      AnswerParser parser(format, tokenizer, {.tools = tools(), .is_single_call = true});
      const std::vector<int64_t> ids = tokenizer.encode_ids(row.answer, {.add_special = false});
      std::vector<AnswerEvent> events = parser.push(plain(tokenizer, row.answer), ids);
      const std::vector<AnswerEvent> rest = parser.finish();
      events.insert(events.end(), rest.begin(), rest.end());
      const bool has_call = row.events.find(" add") != row.events.npos ||
                            row.events.starts_with("add") || row.events.starts_with("weather");
      EXPECT_EQ(parser.calls(), std::min<int64_t>(parser.calls(), 1));
      EXPECT_EQ(parser.is_complete(), parser.calls() == 1);
      if (has_call) {
        EXPECT_EQ(events.back().kind, Kind::kCallEnd) << row.answer;
      }
    }
  }
}

TEST(Answer, TakesTextsThatDoNotFitTheirTokens) {
  const Tokenizer tokenizer = tokenizer_with({"~<tool_call>", "[TOOL_CALLS]"});
  const AnswerFormat format(R"(<tool_call>{"arguments"})", tokenizer);
  AnswerParser parser(format, tokenizer, {.tools = tools()});
  EXPECT_EQ(shown(parser.push("a", std::vector<int64_t>{256, 257, -5, 999, 97})), "");
  EXPECT_EQ(shown(parser.finish()), "C(<)");
}

TEST(Answer, ThatIsLongIsReadInLinearTime) {
  const Tokenizer tokenizer = tokenizer_with({});
  const AnswerFormat format(R"(<tool_call>{"arguments"})", tokenizer);
  for (const char* part : {"<tool_call>{\"", "<tool_call>", "<", " ", "{"}) {
    AnswerParser parser(format, tokenizer, {.tools = tools()});
    size_t size = 0, given = 0;
    const auto count = [&](const std::vector<AnswerEvent>& events) {
      for (const AnswerEvent& event : events) given += event.text.size();
    };
    for (; size < 1'500'000; size += std::string(part).size()) {
      count(parser.push(part, {}));
      ASSERT_LE(size - std::min(size, given), (1u << 20) + 100) << part;
    }
    count(parser.finish());
    EXPECT_EQ(given, size) << part;
  }
}

TEST(Answer, FormatComesFromTheTemplate) {
  const Tokenizer tokenizer = tokenizer_with({"[TOOL_CALLS]"});
  const ChatTemplate chat("{{ messages }}[TOOL_CALLS]", "test");
  const AnswerFormat format(chat.source(), tokenizer);
  EXPECT_EQ(format.calls(), "mistral");
  EXPECT_TRUE(format.has_short_call_ids());
  EXPECT_FALSE(format.has_reasoning());
  EXPECT_EQ(AnswerFormat().calls(), "");
}

/// Draws an answer of the grammar, another one for each seed.
std::vector<int64_t> drawn(const Grammar& grammar, const Tokenizer& tokenizer, uint64_t seed) {
  GrammarState state(grammar, tokenizer.token_table());
  std::vector<int64_t> ids;
  std::vector<uint32_t> words(size_t(state.mask_size() + 31) / 32);
  for (int i = 0; i < 5000 && !state.has_ended(); i++) {
    seed = seed * 6364136223846793005 + 1442695040888963407;
    if (state.may_end() && seed >> 62 == 0) break;
    state.mask(words);
    std::vector<int64_t> allowed;
    for (int64_t id = 0; id < state.mask_size(); id++)
      if (words[size_t(id) / 32] >> (id % 32) & 1) allowed.push_back(id);
    std::vector<int64_t> next = {allowed[(seed >> 33) % allowed.size()]};
    if (allowed.back() > 255 && seed >> 62 == 1) next = {allowed.back()};
    // Texts that end a string, a list or a text, which a random draw would hardly find.
    const std::vector<std::string> closes = {
        "</parameter>",         "</arg_value>", "</think>", "<|end|>", "</seed:think>",
        "Here is my response:", "\"",           "}",        "]"};
    const std::string& close = closes[(seed >> 20) % closes.size()];
    GrammarState copy = state;
    if (seed >> 62 == 2 && copy.accept_text(close)) next.assign(close.begin(), close.end());
    for (const int64_t id : next) {
      EXPECT_TRUE(state.accept(id));
      ids.push_back(id);
    }
  }
  EXPECT_TRUE(state.may_end());
  return ids;
}

/// Functions whose arguments have few spellings.
Setting::List narrow_tools() {
  const Settings all = parse_json(R"({"tools": [
        {"function": {"name": "weather", "parameters": {"type": "object", "properties": {
          "city": {"type": "string"}, "unit": {"type": "string", "enum": ["C", "F"]},
          "days": {"type": "integer", "minimum": 1, "maximum": 9}, "now": {"type": "boolean"}},
          "required": ["unit", "days"], "additionalProperties": false}}},
        {"function": {"name": "add"}}]})",
                                  "tools");
  return std::get<Setting::List>(all.find("tools")->value);
}

TEST(CallGrammar, GivesCallsThatTheParserReads) {
  const Setting::List functions = narrow_tools();
  for (const FamilyRows& family : families()) {
    if (family.name.empty()) continue;
    const Tokenizer tokenizer = tokenizer_with(family.tokens);
    const AnswerFormat format(family.chat_template, tokenizer);
    for (const bool is_single : {false, true})
      for (const std::string function : {"", "add", "weather"}) {
        const Grammar grammar =
            format.call_grammar(functions, {.function = function, .is_single_call = is_single});
        for (uint64_t seed = 0; seed < 12; seed++) {
          const std::vector<int64_t> ids = drawn(grammar, tokenizer, seed);
          AnswerParser parser(format, tokenizer, {.tools = functions});
          std::vector<AnswerEvent> events = parser.push(tokenizer.decode(ids, true), ids);
          const std::vector<AnswerEvent> rest = parser.finish();
          events.insert(events.end(), rest.begin(), rest.end());
          const std::string answer = tokenizer.decode(ids);
          EXPECT_GE(parser.calls(), 1) << family.name << ": " << answer;
          if (is_single || !function.empty()) {
            EXPECT_EQ(parser.calls(), 1) << answer;
          }
          std::string name;
          for (const AnswerEvent& event : events) {
            EXPECT_NE(event.kind, Kind::kContent) << family.name << ": " << answer;
            if (event.kind == Kind::kCallBegin) name = event.text;
            if (event.kind == Kind::kCallBegin && !function.empty()) {
              EXPECT_EQ(name, function);
            }
            if (event.kind != Kind::kArguments || name != "weather") continue;
            const Settings arguments = parse_json(event.text, "arguments");
            EXPECT_GE(arguments.integer("days"), 1) << event.text;
            EXPECT_LE(arguments.integer("days"), 9) << event.text;
            EXPECT_TRUE(arguments.text("unit") == "C" || arguments.text("unit") == "F");
          }
        }
      }
  }
}

TEST(CallGrammar, GivesCallsOrContentThatTheParserReads) {
  const Setting schema = parse_json(R"({"enum": [{"a": "b"}]})", "schema");
  for (const FamilyRows& family : families()) {
    if (family.name.empty()) continue;
    const Tokenizer tokenizer = tokenizer_with(family.tokens);
    const AnswerFormat format(family.chat_template, tokenizer);
    const Grammar grammar = format.call_grammar(narrow_tools(), {.content = schema});
    int calls = 0, contents = 0;
    for (uint64_t seed = 0; seed < 40; seed++) {
      const std::vector<int64_t> ids = drawn(grammar, tokenizer, seed);
      AnswerParser parser(format, tokenizer, {.tools = narrow_tools()});
      std::vector<AnswerEvent> events = parser.push(tokenizer.decode(ids, true), ids);
      const std::vector<AnswerEvent> rest = parser.finish();
      events.insert(events.end(), rest.begin(), rest.end());
      std::string content;
      for (const AnswerEvent& event : events)
        if (event.kind == Kind::kContent) content += event.text;
      if (parser.calls() > 0) {
        EXPECT_EQ(content, "") << family.name;
        calls++;
      } else {
        EXPECT_EQ(parse_json(content, "content").text("a"), "b") << family.name;
        contents++;
      }
    }
    EXPECT_GT(calls, 0) << family.name;
    EXPECT_GT(contents, 0) << family.name;
  }
}

TEST(CallGrammar, LetsReasoningEnd) {
  const Tokenizer tokenizer = tokenizer_with({});
  const AnswerFormat format(R"(<think> <tool_call> "arguments")", tokenizer);
  const Grammar open = format.call_grammar(
      tools(), {.function = "add", .prompt = tokenizer.encode_ids("<think>\n")});
  const std::string call = "<tool_call>\n{\"name\": \"add\", \"arguments\": {}}\n</tool_call>";
  EXPECT_TRUE(open.matches("a </th <</thin</think>\n\n" + call));
  EXPECT_TRUE(open.matches("</think>" + call));
  EXPECT_FALSE(open.matches(call));
  const Grammar closed = format.call_grammar(tools(), {.function = "add"});
  EXPECT_TRUE(closed.matches(call));
  EXPECT_TRUE(closed.matches("<think>a</think>" + call));
  EXPECT_FALSE(closed.matches("a" + call));
}

TEST(CallGrammar, NamesTheSchemaThatCannotBeHeld) {
  const auto fails = [](const std::string& chat_template, const std::string& function,
                        const std::string& schema) -> std::string {
    const Tokenizer tokenizer = tokenizer_with({});
    const Settings all = parse_json(
        R"({"tools": [{"function": {"name": "f"}}, {"function": {"name": "g", "parameters": )" +
            schema + "}}]}",
        "tools");
    try {
      AnswerFormat(chat_template, tokenizer)
          .call_grammar(std::get<Setting::List>(all.find("tools")->value), {.function = function});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const std::string hermes = R"(<tool_call> "arguments")";
  const std::string tags = "<tool_call><function=f><parameter=p>";
  EXPECT_EQ(fails(hermes, "", R"({"type": "object"})"), "");
  EXPECT_TRUE(
      fails(hermes, "", R"({"not": {}})").starts_with("tools[1].function.parameters: #/not"));
  EXPECT_TRUE(fails(hermes, "", R"({"type": "array"})")
                  .starts_with("tools[1].function.parameters: #/type: expected"));
  EXPECT_EQ(fails(hermes, "f", R"({"not": {}})"), "");  // it is not called
  EXPECT_TRUE(fails(hermes, "h", "{}").starts_with("tool_choice: there is no function \"h\""));
  EXPECT_TRUE(fails("plain", "", "{}").starts_with("tool_choice: the model's chat template"));
  EXPECT_TRUE(
      fails(tags, "", R"({"properties": {"a": {"type": "string", "pattern": "x"}}})")
          .starts_with("tools[1].function.parameters: #/properties/a/pattern: the keyword"));
  EXPECT_TRUE(fails(tags, "", R"({"properties": {"a": {"not": {}}}})")
                  .starts_with("tools[1].function.parameters: #/properties/a: #/not"));
  EXPECT_TRUE(fails(tags, "", R"({"required": ["a"]})")
                  .starts_with("tools[1].function.parameters: #/required"));
}

TEST(JsonScanner, TakesJsonAlone) {
  for (const char* json : {"0", "-1.5e+3", "true", " null ", "\"\\u00e9\\n\"", "[]", "[1, [2], {}]",
                           "{\"a\": {\"b\": [true, false]}, \"\": -0.0}", "1E5"})
    EXPECT_TRUE(answers::is_json(json)) << json;
  for (const char* text :
       {"",      " ",    "01",      "1.",          ".5",     "-",       "1e",          "tru",
        "truex", "[1,]", "{\"a\"}", "{\"a\": 1,}", "{a: 1}", "\"\\x\"", "\"\\u12g4\"", "\"\n\"",
        "[",     "1 2",  "{} {}",   "'a'",         "\"",     "[1}"})
    EXPECT_FALSE(answers::is_json(text)) << text;
  EXPECT_FALSE(answers::is_json(std::string(1000, '[') + std::string(1000, ']')));
  EXPECT_EQ(answers::unquoted(R"("a\u0041\n\ud83d\ude00\ud800x\"")"), "aA\n😀\uFFFDx\"");
}

}  // namespace
}  // namespace wick
