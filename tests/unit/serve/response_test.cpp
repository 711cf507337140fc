// OpenAI's API of responses.
#include <gtest/gtest.h>

#include "byte_model.h"
#include "client.h"
#include "serve/requests.h"
#include "wick/generate/generation.h"
#include "wick/serve/server.h"

namespace wick {
namespace {

using serve::Fields;
using test::Answer;

constexpr int64_t kEndless = 60'000;  // tokens of a text that no test waits for
constexpr const char* kPath = "/v1/responses";

const LanguageModel& model() {
  static const LanguageModel kModel = test::byte_model(kEndless);
  return kModel;
}

struct TestServer {
  explicit TestServer(ServerOptions options = {}) : server(model(), prepared(options)) {
    server.start();
  }
  static ServerOptions prepared(ServerOptions options) {
    options.port = 0;
    options.names = {"bytes"};
    return options;
  }
  Answer post(const std::string& fields) {
    return test::ask(server.port(), "POST", kPath, "{" + fields + "}");
  }
  Server server;
};

std::string likeliest(const std::string& prompt, int64_t tokens) {
  Generation text(model(), model().prompt_ids(prompt), {.max_tokens = tokens},
                  {.sampling = {.temperature = 0}, .stop_ids = std::vector<int64_t>()});
  return text.finish().text;
}

const Settings& item(const Settings& object, const char* list, size_t index = 0) {
  return std::get<Settings>(std::get<Setting::List>(object.find(list)->value).at(index).value);
}
size_t count(const Settings& object, const char* list) {
  return std::get<Setting::List>(object.find(list)->value).size();
}

serve::ChatRequest read(const std::string& fields) {
  const serve::RequestLimits limits{.sampling = {}, .vocab_size = 100, .reads_images = false};
  const Settings body = serve::parse_body("{" + fields + "}");
  return serve::read_response(Fields(body), limits);
}
/// "FIELD | MESSAGE" of the error.
std::string error_of(const std::string& fields) {
  try {
    read(fields);
    return "no error";
  } catch (const serve::RequestError& error) {
    EXPECT_EQ(error.status, 400);
    return error.param + " | " + error.what();
  }
}

TEST(Response, IsOneMessage) {
  TestServer server;
  const Answer answer = server.post(
      R"("input": "Hi", "instructions": "Be kind", "temperature": 0, "ignore_eos": true,
         "max_output_tokens": 20, "metadata": {"a": "b"})");
  ASSERT_EQ(answer.status, 200) << answer.body;
  const Settings body = answer.json();
  EXPECT_EQ(body.text("object"), "response");
  EXPECT_EQ(body.text("id").rfind("resp_", 0), 0u);
  EXPECT_EQ(body.text("model"), "bytes");
  EXPECT_EQ(body.text("status"), "incomplete");
  EXPECT_EQ(body.group("incomplete_details")->text("reason"), "max_output_tokens");
  EXPECT_FALSE(body.flag_or("store", true));
  EXPECT_EQ(body.text("instructions"), "Be kind");
  EXPECT_EQ(body.group("metadata")->text("a"), "b");
  EXPECT_EQ(body.integer("max_output_tokens"), 20);
  EXPECT_EQ(body.group("text")->group("format")->text("type"), "text");
  ASSERT_EQ(count(body, "output"), 1u);
  const Settings& message = item(body, "output");
  EXPECT_EQ(message.text("type"), "message");
  EXPECT_EQ(message.text("role"), "assistant");
  EXPECT_EQ(message.text("status"), "incomplete");
  const std::string prompt = "system Be kind;user Hi;assistant ";
  EXPECT_EQ(item(message, "content").text("type"), "output_text");
  EXPECT_EQ(item(message, "content").text("text"), likeliest(prompt, 20));
  EXPECT_EQ(count(item(message, "content"), "logprobs"), 0u);
  const Settings& usage = *body.group("usage");
  EXPECT_EQ(usage.integer("input_tokens"), int64_t(prompt.size()));
  EXPECT_EQ(usage.integer("output_tokens"), 20);
  EXPECT_EQ(usage.integer("total_tokens"), 20 + int64_t(prompt.size()));
  EXPECT_EQ(usage.group("input_tokens_details")->integer("cached_tokens"), 0);
  EXPECT_EQ(usage.group("output_tokens_details")->integer("reasoning_tokens"), 0);
}

TEST(Response, IsCompleteIfTheModelEndsIt) {
  TestServer server;
  const Settings body = server
                            .post(R"("input": "Hi", "grammar": "root ::= \"yes\"",
                                     "include": ["message.output_text.logprobs"],
                                     "top_logprobs": 2)")
                            .json();
  EXPECT_EQ(body.text("status"), "completed");
  EXPECT_FALSE(body.group("incomplete_details"));
  const Settings& text = item(item(body, "output"), "content");
  EXPECT_EQ(text.text("text"), "yes");
  ASSERT_GE(count(text, "logprobs"), 3u);
  EXPECT_EQ(item(text, "logprobs").text("token"), "y");
  EXPECT_EQ(count(item(text, "logprobs"), "top_logprobs"), 2u);
}

TEST(Response, IsStreamedInTypedEvents) {
  TestServer server;
  const Answer answer = server.post(
      R"("input": "Hi", "temperature": 0, "ignore_eos": true, "max_output_tokens": 20,
         "stream": true)");
  EXPECT_EQ(answer.headers.at("content-type"), "text/event-stream");
  std::vector<std::string> types;
  std::string text;
  const std::vector<Settings> events = answer.typed_events();
  for (size_t i = 0; i < events.size(); i++) {
    const std::string type = events[i].text("type");
    EXPECT_EQ(events[i].integer("sequence_number"), int64_t(i));
    if (type == "response.output_text.delta") text += events[i].text("delta");
    if (types.empty() || types.back() != type) types.push_back(type);
  }
  EXPECT_EQ(types, (std::vector<std::string>{
                       "response.created", "response.in_progress", "response.output_item.added",
                       "response.content_part.added", "response.output_text.delta",
                       "response.output_text.done", "response.content_part.done",
                       "response.output_item.done", "response.incomplete"}));
  EXPECT_EQ(text, likeliest("user Hi;assistant ", 20));
  const Settings &begin = *events.front().group("response"),
                 &end = *events.back().group("response");
  EXPECT_EQ(begin.text("status"), "in_progress");
  EXPECT_EQ(count(begin, "output"), 0u);
  EXPECT_EQ(begin.text("id"), end.text("id"));
  EXPECT_EQ(end.text("status"), "incomplete");
  EXPECT_EQ(item(item(end, "output"), "content").text("text"), text);
  EXPECT_EQ(end.group("usage")->integer("output_tokens"), 20);
  const Settings& added = *events[2].group("item");
  EXPECT_EQ(added.text("id"), item(end, "output").text("id"));
  for (const Settings& event : events) {
    if (const Setting* id = event.find("item_id")) {
      EXPECT_EQ(std::get<std::string>(id->value), added.text("id"));
    }
  }
}

TEST(Response, ThatFailsWhileItIsStreamedSaysSo) {
  TestServer server(ServerOptions{.engine = {.capacity = kEndless}});
  test::Client client(server.server.port());
  const std::string body = R"({"input": "go on", "ignore_eos": true, "stream": true})";
  client.send(test::Client::head("POST", kPath, body.size()) + body);
  client.read_until("response.output_text.delta");
  EXPECT_FALSE(server.server.stop());
  const std::string rest = client.read_until("shutting down\"}");
  EXPECT_NE(rest.find("event: response.failed\n"), rest.npos) << rest.substr(rest.size() - 300);
  EXPECT_NE(rest.find("\"status\":\"failed\""), rest.npos);
}

TEST(Response, HoldsTheTextToAFormat) {
  TestServer server;
  const Settings body = server
                            .post(R"("input": "Hi", "text": {"format": {"type": "json_schema",
          "name": "n", "strict": true, "schema": {"type": "object", "properties": {"n": {"enum": [7]}},
          "required": ["n"], "additionalProperties": false}}}, "max_output_tokens": 60)")
                            .json();
  const std::string text = item(item(body, "output"), "content").text("text");
  EXPECT_TRUE(Grammar::regex("\\s*\\{\\s*\"n\"\\s*:\\s*7\\s*\\}\\s*").matches(text)) << text;
  EXPECT_EQ(body.group("text")->group("format")->text("name"), "n");
}

TEST(ReadResponse, ReadsAConversation) {
  const serve::ChatRequest request = read(R"("instructions": "one", "input": [
      {"role": "developer", "content": "two"},
      {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}]},
      {"type": "reasoning", "id": "rs_1", "summary": []},
      {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant",
       "content": [{"type": "output_text", "text": "b", "annotations": []}]},
      {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f",
       "arguments": "{\"x\": 1}"},
      {"type": "function_call", "call_id": "c2", "name": "g", "arguments": "{}"},
      {"type": "function_call_output", "call_id": "c1", "output": "3"},
      {"type": "function_call_output", "call_id": "c2",
       "output": [{"type": "input_text", "text": "4"}]},
      {"role": "user", "content": "c"},
      {"type": "function_call", "call_id": "c3", "name": "f", "arguments": "{}"}])");
  std::string all;
  for (const ChatMessage& message : request.messages) {
    all += message.role + " " + message.content;
    if (const Setting* calls = message.more.find("tool_calls"))
      for (const Setting& call : std::get<Setting::List>(calls->value))
        all += " " + std::get<Settings>(call.value).text("id") + "=" +
               std::get<Settings>(call.value).group("function")->text("name");
    if (message.more.has("tool_call_id")) all += " of " + message.more.text("tool_call_id");
    all += "\n";
  }
  EXPECT_EQ(all,
            "system one\n\ntwo\nuser a\nassistant b c1=f c2=g\ntool 3 of c1\ntool 4 of c2\n"
            "user c\nassistant  c3=f\n");
  const auto& calls = std::get<Setting::List>(request.messages[2].more.find("tool_calls")->value);
  EXPECT_EQ(std::get<Settings>(calls[0].value).group("function")->group("arguments")->integer("x"),
            1);
}

TEST(ReadResponse, JoinsReasoningAndCallsOfOneAnswer) {
  const serve::ChatRequest request = read(R"("input": [
      {"role": "user", "content": "a"},
      {"type": "reasoning", "id": "rs_1", "summary": [],
       "content": [{"type": "reasoning_text", "text": "one"}]},
      {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
      {"type": "reasoning", "id": "rs_2", "summary": [],
       "content": [{"type": "reasoning_text", "text": "two"}]},
      {"type": "function_call", "call_id": "c2", "name": "g", "arguments": "{}"},
      {"type": "function_call_output", "call_id": "c1", "output": "3"},
      {"type": "function_call_output", "call_id": "c2", "output": "4"},
      {"type": "reasoning", "summary": [], "content": null, "encrypted_content": "x"},
      {"type": "reasoning", "summary": null, "content": [5, {"type": "other"}, {"text": 1}]},
      {"type": "reasoning", "content": "of another kind"},
      {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "three"}]},
      {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "b"}]},
      {"type": "function_call", "call_id": "c3", "name": "f", "arguments": "{}"},
      {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "lost"}]},
      {"role": "user", "content": "c"},
      {"role": "assistant", "content": "d"}])");
  std::string all;
  for (const ChatMessage& message : request.messages) {
    all += message.role + " " + message.content;
    if (const Setting* calls = message.more.find("tool_calls"))
      for (const Setting& call : std::get<Setting::List>(calls->value))
        all += " " + std::get<Settings>(call.value).text("id");
    all += " (" + message.more.text_or("reasoning_content", "") + ")\n";
  }
  EXPECT_EQ(all,
            "user a ()\nassistant  c1 c2 (one\ntwo)\ntool 3 ()\ntool 4 ()\nassistant b c3 (three\n"
            "lost)\nuser c ()\nassistant d ()\n");
}

TEST(ReadResponse, HandsFunctionsToTheTemplate) {
  const std::string tools = R"("input": "a", "tools": [{"type": "function", "name": "f",
      "description": "d", "strict": true, "parameters": {"type": "object"}}])";
  const serve::ChatRequest request = read(tools + R"(, "reasoning": {"effort": "low"})");
  ASSERT_EQ(request.layout.tools.size(), 1u);
  const Settings& tool = std::get<Settings>(request.layout.tools[0].value);
  EXPECT_EQ(tool.text("type"), "function");
  EXPECT_EQ(tool.group("function")->text("name"), "f");
  EXPECT_EQ(tool.group("function")->group("parameters")->text("type"), "object");
  EXPECT_EQ(request.layout.more.text("reasoning_effort"), "low");
  EXPECT_TRUE(read(tools + R"(, "tool_choice": "none")").layout.tools.empty());
}

TEST(ReadResponse, ReadsToolChoice) {
  const std::string tools = R"("input": "a", "tools": [{"type": "function", "name": "f"},
      {"type": "function", "name": "g"}, {"type": "function", "name": "h"}], )";
  const auto names = [](const serve::ChatRequest& request) {
    std::string all;
    for (size_t i = 0; i < request.layout.tools.size(); i++)
      all += std::get<Settings>(request.layout.tools[i].value).group("function")->text("name") +
             "=" + request.tool_fields.at(i) + " ";
    return all;
  };
  const serve::ChatRequest plain = read(tools + R"("tool_choice": "auto")");
  EXPECT_EQ(names(plain), "f=tools[0] g=tools[1] h=tools[2] ");
  EXPECT_FALSE(plain.forced_function);
  EXPECT_FALSE(plain.is_single_call);
  EXPECT_TRUE(read(tools + R"("parallel_tool_calls": false)").is_single_call);
  EXPECT_EQ(read(tools + R"("tool_choice": "required")").forced_function, "");
  EXPECT_EQ(read(tools + R"("tool_choice": {"type": "function", "name": "g"})").forced_function,
            "g");
  const std::string allowed = R"("tools": [{"type": "function", "name": "h"},
      {"type": "function", "name": "f"}]})";
  const serve::ChatRequest some =
      read(tools + R"("tool_choice": {"type": "allowed_tools", "mode": "required", )" + allowed);
  EXPECT_EQ(names(some), "f=tools[0] h=tools[2] ");
  EXPECT_EQ(some.forced_function, "");
  const serve::ChatRequest any =
      read(tools + R"("tool_choice": {"type": "allowed_tools", "mode": "auto", )" + allowed);
  EXPECT_EQ(names(any), "f=tools[0] h=tools[2] ");
  EXPECT_FALSE(any.forced_function);
}

TEST(ReadResponse, ReadsOptions) {
  const serve::TextOptions options =
      read(R"("input": "a", "max_output_tokens": 5, "temperature": 0.5, "top_p": 0.25,
              "stream": true, "store": false, "background": false, "user": "u",
              "previous_response_id": null, "text": {"format": {"type": "text"}}, "n": 3,
              "include": ["reasoning.encrypted_content"], "top_logprobs": 3)")
          .options;
  EXPECT_EQ(options.max_tokens, 5);
  EXPECT_EQ(options.sampling.temperature, 0.5);
  EXPECT_EQ(options.sampling.top_p, 0.25);
  EXPECT_TRUE(options.streams);
  EXPECT_EQ(options.choices, 1);
  EXPECT_EQ(options.logprobs, std::nullopt);
  EXPECT_FALSE(options.grammar);
  EXPECT_TRUE(read(R"("input": "a", "text": {"format": {"type": "json_object"}})").options.grammar);
}

TEST(ReadResponse, NamesTheFieldOfAnError) {
  const struct {
    const char *fields, *error;
  } kRows[] = {
      {R"("instructions": "a")", "input | 'input': expected a string or a list of items"},
      {R"("input": 5)", "input | 'input': expected a string or a list of items, got 5"},
      {R"("input": [])", "input | 'input': expected at least one message"},
      {R"("input": [{"type": "item_reference", "id": "x"}])", "input[0].type | "},
      {R"("input": [{"role": "user"}])", "input[0].content | "},
      {R"("input": [{"role": "bot", "content": "a"}])", "input[0].role | "},
      {R"("input": [{"role": "user", "content": [{"type": "input_file"}]}])",
       "input[0].content[0].type | "},
      {R"("input": [{"type": "function_call", "name": "f"}])", "input[0].call_id | "},
      {R"("input": [{"type": "function_call_output", "call_id": "f"}])", "input[0].output | "},
      {R"("input": "a", "previous_response_id": "resp_1")", "previous_response_id | "},
      {R"("input": "a", "conversation": "c")", "conversation | "},
      {R"("input": "a", "prompt": {"id": "p"})", "prompt | "},
      {R"("input": "a", "store": true)", "store | "},
      {R"("input": "a", "background": true)", "background | "},
      {R"("input": "a", "tools": [{"type": "web_search"}])", "tools[0].type | "},
      {R"("input": "a", "tools": [{"type": "function"}])", "tools[0].name | "},
      {R"("input": "a", "tools": [{"type": "function", "name": "f"}], "tool_choice": "must")",
       "tool_choice | "},
      {R"("input": "a", "tool_choice": "required")", "tool_choice | "},
      {R"("input": "a", "tools": [{"type": "function", "name": "f"}],
          "tool_choice": {"type": "web_search_preview"})",
       "tool_choice.type | 'tool_choice.type': expected function or allowed_tools"},
      {R"("input": "a", "tools": [{"type": "function", "name": "f"}],
          "tool_choice": {"type": "function", "function": {"name": "f"}})",
       "tool_choice.name | "},
      {R"("input": "a", "tools": [{"type": "function", "name": "f"}],
          "tool_choice": {"type": "function", "name": "g"})",
       "tool_choice | 'tool_choice': there is no function \"g\" among the tools"},
      {R"("input": "a", "tools": [{"type": "function", "name": "f"}],
          "tool_choice": {"type": "allowed_tools", "tools": []})",
       "tool_choice.mode | "},
      {R"("input": "a", "tools": [{"type": "function", "name": "f"}],
          "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": []})",
       "tool_choice.tools | "},
      {R"("input": "a", "tools": [{"type": "function", "name": "f"}],
          "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "mcp"}]})",
       "tool_choice.tools[0].type | "},
      {R"("input": "a", "tools": [{"type": "function", "name": "f"}], "tool_choice": "required",
          "text": {"format": {"type": "json_object"}})",
       "tool_choice | 'tool_choice': expected auto or none beside a grammar or a format"},
      {R"("input": "a", "max_output_tokens": 0)", "max_output_tokens | "},
      {R"("input": "a", "text": {"format": {"type": "xml"}})", "text.format.type | "},
      {R"("input": "a", "text": {"format": {"type": "json_schema"}})", "text.format.schema | "},
      {R"("input": "a", "text": {"format": {"type": "json_schema", "schema": {"type": "t"}}})",
       "text.format | 'text.format': "},
  };
  for (const auto& row : kRows)
    EXPECT_EQ(error_of(row.fields).substr(0, std::string(row.error).size()), row.error)
        << error_of(row.fields);
}

}  // namespace
}  // namespace wick
