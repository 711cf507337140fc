// Calls of tools and reasoning in the answers of a server. A choice of one text holds the model to
// an answer that is known.
#include <gtest/gtest.h>

#include "tool_server.h"

namespace wick {
namespace {

using test::Answer;
using test::list;
using test::object;
using test::ToolServer;

constexpr const char* kTools = R"("tools": [
    {"type": "function", "function": {"name": "weather", "parameters": {"type": "object",
      "properties": {"city": {"type": "string"}}}}},
    {"type": "function", "function": {"name": "add"}}])";
const std::string kTwoCalls =
    "<think>Hm.</think>Look.\n"
    "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Ålesund\"}}\n</tool_call>\n"
    "<tool_call>\n{\"name\": \"add\", \"arguments\": {}}\n</tool_call>";
const std::string kCall = R"(<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>)";

Settings message(const Answer& answer) {
  return *object(list(answer.json(), "choices"), 0).group("message");
}
std::string finish_reason(const Answer& answer) {
  return object(list(answer.json(), "choices"), 0).text("finish_reason");
}

/// The deltas of a stream, joined as OpenAI's clients do.
struct Joined {
  std::string content, reasoning, finish_reason;
  struct Call {
    std::string id, type, name, arguments;
  };
  std::vector<Call> calls;
  int64_t scores = 0;  // tokens with log probabilities
};
Joined joined(const Answer& answer) {
  Joined result;
  for (const std::string& event : answer.events()) {
    if (event == "[DONE]") break;
    const Settings chunk = parse_json(event, "event");
    for (const Setting& item : list(chunk, "choices")) {
      const Settings& choice = std::get<Settings>(item.value);
      const Settings& delta = *choice.group("delta");
      EXPECT_EQ(result.finish_reason, "") << event;
      result.finish_reason = choice.text_or("finish_reason", "");
      result.content += delta.text_or("content", "");
      result.reasoning += delta.text_or("reasoning_content", "");
      if (const Settings* scores = choice.group("logprobs"))
        result.scores += int64_t(list(*scores, "content").size());
      if (!delta.has("tool_calls")) continue;
      for (const Setting& one : list(delta, "tool_calls")) {
        const Settings& call = std::get<Settings>(one.value);
        const size_t index = size_t(call.integer("index"));
        EXPECT_LE(index, result.calls.size());
        result.calls.resize(std::max(result.calls.size(), index + 1));
        Joined::Call& to = result.calls[index];
        to.id += call.text_or("id", "");
        to.type += call.text_or("type", "");
        to.name += call.group("function")->text_or("name", "");
        to.arguments += call.group("function")->text_or("arguments", "");
      }
    }
  }
  return result;
}

TEST(Tools, AreCalledInAWholeAnswer) {
  ToolServer server;
  const Answer answer = server.answer(kTwoCalls, kTools);
  ASSERT_EQ(answer.status, 200) << answer.body;
  const Settings said = message(answer);
  EXPECT_EQ(said.text("content"), "Look.");
  EXPECT_EQ(said.text("reasoning_content"), "Hm.");
  EXPECT_EQ(finish_reason(answer), "tool_calls");
  const Setting::List& calls = list(said, "tool_calls");
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(object(calls, 0).text("type"), "function");
  EXPECT_TRUE(object(calls, 0).text("id").starts_with("call_"));
  EXPECT_NE(object(calls, 0).text("id"), object(calls, 1).text("id"));
  EXPECT_EQ(object(calls, 0).group("function")->text("name"), "weather");
  EXPECT_EQ(object(calls, 0).group("function")->text("arguments"), "{\"city\": \"Ålesund\"}");
  EXPECT_EQ(object(calls, 1).group("function")->text("arguments"), "{}");
  const Answer alone = server.answer(kCall, kTools);
  EXPECT_NE(alone.body.find("\"content\":null"), std::string::npos) << alone.body;
  EXPECT_FALSE(message(alone).has("reasoning_content"));
}

TEST(Tools, AreCalledInAStream) {
  ToolServer server;
  const Joined answer = joined(
      server.answer(kTwoCalls, std::string(kTools) + R"(, "stream": true, "logprobs": true)"));
  EXPECT_EQ(answer.content, "Look.");
  EXPECT_EQ(answer.reasoning, "Hm.");
  EXPECT_EQ(answer.finish_reason, "tool_calls");
  EXPECT_EQ(answer.scores, int64_t(kTwoCalls.size()));
  ASSERT_EQ(answer.calls.size(), 2u);
  EXPECT_TRUE(answer.calls[0].id.starts_with("call_"));
  EXPECT_EQ(answer.calls[0].type, "function");
  EXPECT_EQ(answer.calls[0].name, "weather");
  EXPECT_EQ(answer.calls[0].arguments, "{\"city\": \"Ålesund\"}");
  EXPECT_EQ(answer.calls[1].name, "add");
  EXPECT_EQ(answer.calls[1].arguments, "{}");
}

TEST(Tools, ThatAreNotGivenAreNotCalled) {
  ToolServer server;
  const std::string other = R"(<tool_call>{"name": "other", "arguments": {}}</tool_call>)";
  const std::string broken = R"(<tool_call>{"name": "add", "arguments": {"a"}}</tool_call>)";
  struct Row {
    std::string answer, fields;
  };
  for (const Row& row :
       {Row{kCall, "\"n\": 1"}, Row{kCall, std::string(kTools) + R"(, "tool_choice": "none")"},
        Row{other, kTools}, Row{broken, kTools}, Row{"a <tool_", kTools}, Row{" \n", kTools}}) {
    const Answer whole = server.answer(row.answer, row.fields);
    EXPECT_EQ(message(whole).text("content"), row.answer);
    EXPECT_FALSE(message(whole).has("tool_calls"));
    EXPECT_EQ(finish_reason(whole), "stop");
    const Joined parts = joined(server.answer(row.answer, row.fields + R"(, "stream": true)"));
    EXPECT_EQ(parts.content, row.answer);
    EXPECT_TRUE(parts.calls.empty());
    EXPECT_EQ(parts.finish_reason, "stop");
  }
}

TEST(Tools, AreCalledOnceWithoutParallelCalls) {
  ToolServer server;
  const std::string fields = std::string(kTools) + R"(, "parallel_tool_calls": false)";
  const Answer whole = server.answer(kTwoCalls, fields);
  EXPECT_EQ(list(message(whole), "tool_calls").size(), 1u);
  EXPECT_EQ(finish_reason(whole), "tool_calls");
  const Joined parts = joined(server.answer(kTwoCalls, fields + R"(, "stream": true)"));
  EXPECT_EQ(parts.calls.size(), 1u);
  EXPECT_EQ(parts.content, "Look.");
  EXPECT_EQ(parts.finish_reason, "tool_calls");
}

TEST(Tools, OfAnAnswerThatIsCutAreText) {
  ToolServer server;
  const Answer cut = server.answer(kCall, std::string(kTools) + R"(, "max_tokens": 20)");
  EXPECT_EQ(message(cut).text("content"), kCall.substr(0, 20));
  EXPECT_EQ(finish_reason(cut), "length");
  const Answer stopped = server.answer(kCall, std::string(kTools) + R"(, "stop": ["arg"])");
  EXPECT_EQ(message(stopped).text("content"), kCall.substr(0, kCall.find("arg")));
}

TEST(Tools, AreCalledInEachOfSeveralChoices) {
  ToolServer server;
  const Answer answer = server.answer(kCall, std::string(kTools) + R"(, "n": 3)");
  const Settings body = answer.json();
  ASSERT_EQ(list(body, "choices").size(), 3u);
  for (size_t i = 0; i < 3; i++)
    EXPECT_EQ(list(*object(list(body, "choices"), i).group("message"), "tool_calls").size(), 1u);
}

constexpr const char* kHeld = R"("tools": [
    {"type": "function", "function": {"name": "days", "parameters": {"type": "object",
      "properties": {"n": {"type": "integer", "minimum": 1, "maximum": 9}},
      "required": ["n"], "additionalProperties": false}}},
    {"type": "function", "function": {"name": "unit", "parameters": {
      "properties": {"u": {"enum": ["C", "F"]}},
      "required": ["u"], "additionalProperties": false}}}], "max_tokens": 1000)";

/// Asks for answers that must call, and checks them.
void expect_forced_calls(ToolServer& server, size_t id_size) {
  for (const std::string choice :
       {R"("required")", R"({"type": "function", "function": {"name": "unit"}})"})
    for (int seed = 0; seed < 5; seed++) {
      const std::string fields = std::string(kHeld) + R"(, "tool_choice": )" + choice +
                                 R"(, "parallel_tool_calls": false, "seed": )" +
                                 std::to_string(seed);
      const Answer answer = server.post(fields);
      ASSERT_EQ(answer.status, 200) << answer.body;
      EXPECT_EQ(finish_reason(answer), "tool_calls") << answer.body;
      const Settings said = message(answer);
      ASSERT_TRUE(said.has("tool_calls")) << answer.body;
      ASSERT_EQ(list(said, "tool_calls").size(), 1u);
      const Settings& call = object(list(said, "tool_calls"), 0);
      EXPECT_EQ(call.text("id").size(), id_size);
      const Settings& function = *call.group("function");
      const Settings arguments = parse_json(function.text("arguments"), "arguments");
      if (choice != R"("required")") {
        EXPECT_EQ(function.text("name"), "unit");
      }
      if (function.text("name") == "unit") {
        EXPECT_TRUE(arguments.text("u") == "C" || arguments.text("u") == "F");
      } else {
        EXPECT_GE(arguments.integer("n"), 1);
        EXPECT_LE(arguments.integer("n"), 9);
      }
      const Joined parts = joined(server.post(fields + R"(, "stream": true)"));
      ASSERT_EQ(parts.calls.size(), 1u);
      EXPECT_EQ(parts.calls[0].name, function.text("name"));
      EXPECT_EQ(parts.calls[0].arguments, function.text("arguments"));
    }
}

TEST(Tools, AreCalledIfTheRequestForcesIt) {
  ToolServer server(test::byte_model(4096, "{# <tool_call> arguments #}"));
  expect_forced_calls(server, 29);
}

TEST(Tools, BesideAFormatAreCalledOrAnsweredInIt) {
  ToolServer server(test::byte_model(4096, "{# <tool_call> arguments #}"));
  const std::string format =
      R"(, "response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema":
         {"type": "object", "properties": {"name": {"enum": ["unit"]}}, "required": ["name"],
          "additionalProperties": false}}}, "seed": )";
  int calls = 0, answers = 0;
  for (int seed = 0; seed < 12; seed++) {
    // The first letter decides.
    const std::string first = seed % 2 ? "60" : "123";  // <, {
    const std::string fields = std::string(kHeld) + format + std::to_string(seed) +
                               R"(, "logit_bias": {")" + first + R"(": 100})";
    const Answer answer = server.post(fields);
    ASSERT_EQ(answer.status, 200) << answer.body;
    const Settings said = message(answer);
    const Joined parts = joined(server.post(fields + R"(, "stream": true)"));
    if (seed % 2) {
      ASSERT_TRUE(said.has("tool_calls")) << answer.body;
      const Settings& function = *object(list(said, "tool_calls"), 0).group("function");
      const Settings arguments = parse_json(function.text("arguments"), "arguments");
      EXPECT_TRUE(arguments.has(function.text("name") == "unit" ? "u" : "n")) << answer.body;
      EXPECT_GE(parts.calls.size(), 1u);
      calls++;
    } else {
      EXPECT_FALSE(said.has("tool_calls")) << answer.body;
      EXPECT_EQ(parse_json(said.text("content"), "content").text("name"), "unit");
      EXPECT_EQ(parts.content, said.text("content"));
      answers++;
    }
  }
  EXPECT_EQ(calls, 6);
  EXPECT_EQ(answers, 6);
  // Without calls in the template, or with tool_choice none, the answer has the format.
  const std::string none = std::string(kHeld) + format + R"(1, "tool_choice": "none")";
  EXPECT_EQ(parse_json(message(server.post(none)).text("content"), "content").text("name"), "unit");
  // The same by the API of responses.
  const Answer response = server.respond(R"("tools": [{"type": "function", "name": "unit",
      "parameters": {"properties": {"u": {"enum": ["C"]}}, "required": ["u"],
      "additionalProperties": false}}], "logit_bias": {"60": 100}, "parallel_tool_calls": false,
      "text": {"format": {"type": "json_object"}}, "max_output_tokens": 500)");
  ASSERT_EQ(response.status, 200) << response.body;
  const Settings body = response.json();
  EXPECT_EQ(object(list(body, "output"), 0).text("type"), "function_call") << response.body;
  EXPECT_EQ(parse_json(object(list(body, "output"), 0).text("arguments"), "a").text("u"), "C");
}

TEST(Tools, ThatCannotFitAreRefusedBeforeTheyAreRead) {
  ToolServer server;
  const std::string tool = R"("max_tokens": 2, "tools": [{"type": "function", "function":
      {"name": "f", "description": ")" +
                           std::string(300'000, 'a') + R"("}}])";
  const Answer answer = server.post(tool);
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.error().text("code"), "context_length_exceeded");
  EXPECT_EQ(answer.error().text("param"), "tools");
  // A template without calls passes over tools.
  ToolServer plain(test::byte_model(4096));
  EXPECT_EQ(plain.post(tool).status, 200);
}

TEST(Tools, AreCalledByMarkersThatAreTokens) {
  ToolServer server(
      test::byte_model(4096, "{# [TOOL_CALLS] [ARGS] #}", {"[TOOL_CALLS]", "[ARGS]"}));
  expect_forced_calls(server, 9);
}

TEST(Tools, ThatNoGrammarCanHoldAreNamed) {
  ToolServer server;
  const auto error = [&](const std::string& fields) { return server.post(fields).error(); };
  const Settings schema = error(R"("tool_choice": "required", "tools": [
      {"function": {"name": "f"}}, {"function": {"name": "g", "parameters": {"not": {}}}}])");
  EXPECT_EQ(schema.text("param"), "tools[1].function.parameters");
  EXPECT_TRUE(schema.text("message").starts_with("'tools[1].function.parameters': #/not"));
  const Settings unknown =
      error(std::string(kTools) + R"(, "tool_choice": {"function": {"name": "other"}})");
  EXPECT_EQ(unknown.text("param"), "tool_choice");
  ToolServer plain(test::byte_model(4096));
  EXPECT_EQ(
      plain.post(std::string(kTools) + R"(, "tool_choice": "required")").error().text("param"),
      "tool_choice");
}

TEST(Tools, CallsReachTemplatesThatTakeArgumentsAsTextsOnly) {
  // The template writes the arguments of the first message's calls.
  const std::string written = "{% for c in messages[0].tool_calls or [] %}";
  for (const std::string arguments :
       {"{{ 'a' + c.function.arguments }}", "{{ c.function.arguments.x }}"}) {
    ToolServer server(written + arguments + "{% endfor %}");
    const Answer answer = test::ask(server.server.port(), "POST", "/tokenize", R"({"messages": [
        {"role": "assistant", "tool_calls": [{"id": "1", "type": "function",
         "function": {"name": "f", "arguments": "{\"x\": \"y\"}"}}]}]})");
    ASSERT_EQ(answer.status, 200) << answer.body;
    const Settings body = answer.json();
    std::string text;
    for (const Setting& id : list(body, "tokens")) text += char(std::get<int64_t>(id.value));
    const std::string expected = arguments.find('+') == arguments.npos ? "y" : R"(a{"x":"y"})";
    EXPECT_TRUE(text.ends_with(expected)) << text;
  }
}

TEST(Tools, AnswersBeginInReasoningThatThePromptHasOpened) {
  ToolServer server("<think>\n");
  const Settings said = message(server.answer("Hm.\n</think>\n\nYes.", "\"n\": 1"));
  EXPECT_EQ(said.text("reasoning_content"), "Hm.");
  EXPECT_EQ(said.text("content"), "Yes.");
  const Joined parts = joined(server.answer("Hm.\n</think>\n\nYes.", R"("stream": true)"));
  EXPECT_EQ(parts.reasoning, "Hm.");
  EXPECT_EQ(parts.content, "Yes.");
}

}  // namespace
}  // namespace wick
