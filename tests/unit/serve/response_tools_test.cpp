// Calls of tools and reasoning in OpenAI's API of responses.
#include <gtest/gtest.h>

#include "tool_server.h"

namespace wick {
namespace {

using test::Answer;
using test::list;
using test::object;
using test::ToolServer;

const std::string kTools = R"("tools": [
    {"type": "function", "name": "weather", "parameters": {"type": "object",
      "properties": {"city": {"type": "string"}}}},
    {"type": "function", "name": "add"}])";
const std::string kReasoning = "<think>Hm.</think>", kText = "Look.\n";
const std::string kFirstCall =
    "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Ålesund\"}}\n</tool_call>\n";
const std::string kSecondCall = "<tool_call>\n{\"name\": \"add\", \"arguments\": {}}\n</tool_call>";
const std::string kTwoCalls = kReasoning + kText + kFirstCall + kSecondCall;

/// The items of the output, a line each: their type, text and, if it is not completed, status.
std::string outline(const Settings& body) {
  std::string lines;
  for (const Setting& one : list(body, "output")) {
    const Settings& item = std::get<Settings>(one.value);
    const std::string type = item.text("type"), id = item.text("id");
    lines += type;
    if (type == "function_call") {
      EXPECT_TRUE(id.starts_with("fc_"));
      lines += " " + item.text("name") + " " + item.text("arguments");
    } else {
      EXPECT_TRUE(id.starts_with(type == "message" ? "msg_" : "rs_"));
      EXPECT_EQ(list(item, "content").size(), 1u);
      const Settings& part = object(list(item, "content"), 0);
      EXPECT_EQ(part.text("type"), type == "message" ? "output_text" : "reasoning_text");
      lines += " " + part.text("text");
    }
    if (type == "reasoning") {
      EXPECT_TRUE(list(item, "summary").empty());
    }
    if (item.text("status") != "completed") lines += " (" + item.text("status") + ")";
    lines += "\n";
  }
  return lines;
}

/// The output as a client joins it from the events, which must agree with the last event's.
std::string joined(const Answer& answer) {
  const std::vector<Settings> events = answer.typed_events();
  struct Item {
    std::string id, type, name, text;
    bool is_done = false;
  };
  std::vector<Item> items;
  std::string last_type;
  for (size_t i = 0; i < events.size(); i++) {
    const Settings& event = events[i];
    const std::string type = event.text("type");
    EXPECT_EQ(event.integer("sequence_number"), int64_t(i));
    if (!event.has("output_index")) continue;
    const size_t index = size_t(event.integer("output_index"));
    if (type == "response.output_item.added") {
      const Settings& item = *event.group("item");
      EXPECT_EQ(index, items.size());
      EXPECT_TRUE(items.empty() || items.back().is_done);
      EXPECT_EQ(item.text("status"), "in_progress");
      items.push_back({item.text("id"), item.text("type"), item.text_or("name", ""), "", false});
      continue;
    }
    EXPECT_EQ(index + 1, items.size()) << type;
    Item& item = items.back();
    EXPECT_FALSE(item.is_done);
    if (event.has("item_id")) {
      EXPECT_EQ(event.text("item_id"), item.id);
    }
    if (type.ends_with(".delta")) item.text += event.text("delta");
    if (type == "response.output_text.done" || type == "response.reasoning_text.done") {
      EXPECT_EQ(event.text("text"), item.text);
      EXPECT_EQ(item.type, type == "response.output_text.done" ? "message" : "reasoning");
    }
    if (type == "response.function_call_arguments.done") {
      EXPECT_EQ(event.text("arguments"), item.text);
      EXPECT_EQ(event.text("name"), item.name);
      EXPECT_EQ(item.type, "function_call");
    }
    item.is_done = type == "response.output_item.done";
  }
  const Settings& body = *events.back().group("response");
  EXPECT_EQ(list(body, "output").size(), items.size());
  std::string lines;
  for (size_t i = 0; i < items.size(); i++) {
    const Settings& item = object(list(body, "output"), i);
    EXPECT_TRUE(items[i].is_done);
    EXPECT_EQ(item.text("id"), items[i].id);
    lines += items[i].type + (items[i].name.empty() ? "" : " " + items[i].name) + " " +
             items[i].text +
             (item.text("status") == "completed" ? "" : " (" + item.text("status") + ")") + "\n";
  }
  EXPECT_EQ(lines, outline(body));
  return lines;
}

TEST(ResponseTools, AreItemsInTheOrderOfTheAnswer) {
  ToolServer server;
  const std::string two =
      "reasoning Hm.\nmessage Look.\n"
      "function_call weather {\"city\": \"Ålesund\"}\nfunction_call add {}\n";
  struct Row {
    std::string text, fields, output;
  };
  const Row rows[] = {
      {kTwoCalls, kTools, two},
      {kTwoCalls, kTools + R"(, "parallel_tool_calls": false)",
       "reasoning Hm.\nmessage Look.\nfunction_call weather {\"city\": \"Ålesund\"}\n"},
      {kSecondCall, kTools, "function_call add {}\n"},
      {kSecondCall + "\nand then", kTools, "function_call add {}\nmessage \nand then\n"},
      {kReasoning + "\n\n" + kSecondCall, kTools, "reasoning Hm.\nfunction_call add {}\n"},
      {kReasoning + "Yes.", R"("top_p": 1)", "reasoning Hm.\nmessage Yes.\n"},
      {kSecondCall, kTools + R"(, "tool_choice": "none")", "message " + kSecondCall + "\n"},
      {kSecondCall, R"("top_p": 1)", "message " + kSecondCall + "\n"},
      {"<think>Hm", R"("top_p": 1)", "reasoning Hm\n"},
      {"", R"("top_p": 1)", "message \n"},
      {kTwoCalls, kTools + R"(, "max_output_tokens": 8)", "reasoning H (incomplete)\n"},
      {kTwoCalls, kTools + R"(, "max_output_tokens": 40)",
       "reasoning Hm.\nmessage Look.\n<tool_call>\n{\"na (incomplete)\n"},
      {kSecondCall, kTools + R"(, "tool_choice": {"type": "allowed_tools", "mode": "auto",
                              "tools": [{"type": "function", "name": "weather"}]})",
       "message " + kSecondCall + "\n"},
  };
  for (const Row& row : rows) {
    const Answer whole = server.response(row.text, row.fields);
    ASSERT_EQ(whole.status, 200) << whole.body;
    EXPECT_EQ(outline(whole.json()), row.output);
    EXPECT_EQ(joined(server.response(row.text, row.fields + R"(, "stream": true)")), row.output);
  }
}

TEST(ResponseTools, CountTheTokensOfReasoning) {
  ToolServer server;
  const auto tokens = [&](const std::string& text) {
    const Settings body = server.response(text, kTools).json();
    const Settings& usage = *body.group("usage");
    EXPECT_LE(usage.group("output_tokens_details")->integer("reasoning_tokens"),
              usage.integer("output_tokens"));
    return usage.group("output_tokens_details")->integer("reasoning_tokens");
  };
  EXPECT_EQ(tokens(kTwoCalls), int64_t(std::string("<think>Hm.").size()));
  EXPECT_EQ(tokens("<think>\n\n</think>\n\nNo."), 0);
  EXPECT_EQ(tokens(kSecondCall), 0);
  const Settings chat = server.answer(kTwoCalls, R"("n": 2)").json();
  EXPECT_EQ(chat.group("usage")->group("completion_tokens_details")->integer("reasoning_tokens"),
            2 * int64_t(std::string("<think>Hm.").size()));
}

TEST(ResponseTools, LeaveTheirLogProbabilitiesOut) {
  ToolServer server;
  const std::string fields = kTools + R"(, "include": ["message.output_text.logprobs"])";
  const auto tokens = [](const Setting::List& scores) {
    std::string text;
    for (const Setting& score : scores) text += std::get<Settings>(score.value).text("token");
    return text;
  };
  const Settings body = server.response(kReasoning + "\n\n" + kText + kFirstCall, fields).json();
  const Settings& message = object(list(body, "output"), 1);
  EXPECT_EQ(tokens(list(object(list(message, "content"), 0), "logprobs")), "Look.");
  std::string text;
  for (const Settings& event :
       server.response(kReasoning + kText + kFirstCall, fields + R"(, "stream": true)")
           .typed_events())
    if (event.text("type") == "response.output_text.delta") text += tokens(list(event, "logprobs"));
  EXPECT_EQ(text, "Look.");
}

TEST(ResponseTools, HaveIdsOfTheirOwn) {
  ToolServer server;
  const Settings body = server.response(kTwoCalls, kTools).json();
  const Settings &first = object(list(body, "output"), 2),
                 &second = object(list(body, "output"), 3);
  EXPECT_TRUE(first.text("call_id").starts_with("call_"));
  EXPECT_NE(first.text("call_id"), second.text("call_id"));
  EXPECT_NE(first.text("id"), second.text("id"));
  // Some models number their calls, and may begin anew.
  ToolServer numbering(test::byte_model(4096, "{# <|tool_calls_section_begin|> #}"));
  const std::string call =
      "<|tool_call_begin|>functions.add:0<|tool_call_argument_begin|>{}"
      "<|tool_call_end|>";
  const Settings again =
      numbering
          .response("<|tool_calls_section_begin|>" + call + call + "<|tool_calls_section_end|>",
                    kTools)
          .json();
  ASSERT_EQ(outline(again), "function_call add {}\nfunction_call add {}\n");
  EXPECT_EQ(object(list(again, "output"), 0).text("call_id"), "functions.add:0");
  EXPECT_TRUE(object(list(again, "output"), 1).text("call_id").starts_with("call_"));
}

TEST(ResponseTools, AreCalledIfTheRequestForcesIt) {
  ToolServer server(test::byte_model(4096, "{# <tool_call> arguments #}"));
  const std::string held = R"("tools": [
      {"type": "function", "name": "days", "parameters": {"type": "object",
        "properties": {"n": {"type": "integer", "minimum": 1, "maximum": 9}},
        "required": ["n"], "additionalProperties": false}},
      {"type": "function", "name": "unit", "parameters": {"properties": {"u": {"enum": ["C", "F"]}},
        "required": ["u"], "additionalProperties": false}}],
      "max_output_tokens": 1000, "parallel_tool_calls": false, "tool_choice": )";
  const struct {
    std::string choice, names;
  } kRows[] = {
      {R"("required")", "days unit"},
      {R"({"type": "function", "name": "unit"})", "unit"},
      {R"({"type": "allowed_tools", "mode": "required",
           "tools": [{"type": "function", "name": "days"}]})",
       "days"},
  };
  for (const auto& row : kRows)
    for (int seed = 0; seed < 4; seed++) {
      const std::string fields = held + row.choice + ", \"seed\": " + std::to_string(seed);
      const Answer answer = server.respond(fields);
      ASSERT_EQ(answer.status, 200) << answer.body;
      const Settings body = answer.json();
      ASSERT_EQ(list(body, "output").size(), 1u) << answer.body;
      const Settings& call = object(list(body, "output"), 0);
      ASSERT_EQ(call.text("type"), "function_call");
      EXPECT_NE(row.names.find(call.text("name")), row.names.npos) << call.text("name");
      const Settings arguments = parse_json(call.text("arguments"), "arguments");
      EXPECT_TRUE(arguments.has(call.text("name") == "unit" ? "u" : "n"));
      EXPECT_EQ(joined(server.respond(fields + R"(, "stream": true)")), outline(body));
    }
}

TEST(ResponseTools, ThatNoGrammarCanHoldAreNamed) {
  ToolServer server;
  const std::string tools = R"("tools": [{"type": "function", "name": "f"},
      {"type": "function", "name": "g", "parameters": {"not": {}}}], "tool_choice": )";
  EXPECT_EQ(server.respond(tools + R"("required")").error().text("param"), "tools[1].parameters");
  const Settings allowed = server
                               .respond(tools + R"({"type": "allowed_tools", "mode": "required",
                                            "tools": [{"type": "function", "name": "g"}]})")
                               .error();
  EXPECT_EQ(allowed.text("param"), "tools[1].parameters");
  EXPECT_TRUE(allowed.text("message").starts_with("'tools[1].parameters': #/not"));
}

TEST(ResponseTools, OfAnInputReachTheTemplate) {
  // The template writes calls, their results and reasoning after the messages.
  ToolServer server(
      "{% for m in messages %}{% for c in m.tool_calls or [] %}[{{ c.id }} {{ c.function.name }} "
      "{{ c.function.arguments.x }}]{% endfor %}{% if m.tool_call_id %}({{ m.tool_call_id }} "
      "{{ m.content }}){% endif %}{{ m.reasoning_content or '' }}{% endfor %}");
  const Answer answer = test::ask(server.server.port(), "POST", "/v1/responses", R"({"input": [
      {"role": "user", "content": "Hi"},
      {"type": "reasoning", "id": "rs_1", "summary": [], "status": "completed",
       "content": [{"type": "reasoning_text", "text": "Hm."}]},
      {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "status": "completed",
       "arguments": "{\"x\": 5}"},
      {"type": "function_call_output", "call_id": "c1", "output": "7"}], "max_output_tokens": 1})");
  ASSERT_EQ(answer.status, 200) << answer.body;
  const std::string expected = "user Hi;assistant ;tool 7;assistant [c1 f 5]Hm.(c1 7)";
  EXPECT_EQ(answer.json().group("usage")->integer("input_tokens"), int64_t(expected.size()));
}

TEST(ResponseTools, LeaveAnAnswerInAFormatToTheMessage) {
  // The prompt has opened the reasoning, and the answer looks like a call.
  ToolServer server("<think>\n");
  const std::string fields =
      kTools + R"(, "tool_choice": "none", "max_output_tokens": 400, "seed": 3, "text": {"format": {
      "type": "json_schema", "name": "n", "schema": {"type": "object",
      "properties": {"n": {"enum": ["</think>"]}}, "required": ["n"],
      "additionalProperties": false}}})";
  const Settings body = server.respond(fields).json();
  ASSERT_EQ(list(body, "output").size(), 1u);
  const Settings& message = object(list(body, "output"), 0);
  ASSERT_EQ(message.text("type"), "message");
  const std::string text = object(list(message, "content"), 0).text("text");
  EXPECT_EQ(parse_json(text, "answer").text("n"), "</think>");
  EXPECT_EQ(joined(server.respond(fields + R"(, "stream": true)")), "message " + text + "\n");
}

}  // namespace
}  // namespace wick
