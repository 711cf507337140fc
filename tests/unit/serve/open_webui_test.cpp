// The requests of Open WebUI to a connection of the kind OpenAI, and the fields that it reads of the
// answers.
#include <gtest/gtest.h>

#include "tool_server.h"

namespace wick {
namespace {

using test::Answer;
using test::list;
using test::object;

constexpr const char* kOrigin = "http://localhost:3000";
/// Of a connection with a key, and with ENABLE_FORWARD_USER_INFO_HEADERS.
const std::string kHeaders =
    "Authorization: Bearer secret\r\nX-OpenWebUI-User-Name: J%C3%B8rgen\r\nX-OpenWebUI-User-Id: "
    "7\r\n"
    "X-OpenWebUI-User-Email: a@example.org\r\nX-OpenWebUI-User-Role: admin\r\n"
    "X-OpenWebUI-Chat-Id: c-1\r\nUser-Agent: Python/3.11 aiohttp/3.12\r\nAccept: */*\r\n"
    "Accept-Encoding: gzip, deflate, br\r\n";

class OpenWebUi : public testing::Test {
 protected:
  OpenWebUi() : server_(test::byte_model(4096, "{# <tool_call> arguments <think> #}"), options()) {
    server_.start();
  }
  static ServerOptions options() {
    ServerOptions options = ToolServer::options();
    options.api_keys = {"secret"};
    options.cors_origins = {kOrigin};
    return options;
  }
  using ToolServer = test::ToolServer;

  Answer post(const std::string& path, const std::string& body) {
    return test::ask(server_.port(), "POST", path, body, kHeaders);
  }
  /// A chat whose answer is this text.
  Answer chat(const std::string& text, const std::string& fields) {
    return post("/v1/chat/completions", R"({"model": "bytes", "guided_choice": )" +
                                            to_json(Setting(Setting::List{text}), -1) + ", " +
                                            fields + "}");
  }
  Server server_;
};

/// A stream as its middleware joins it: the first choice's delta, tool calls by index.
struct Joined {
  std::string content, reasoning;
  std::vector<Settings> calls;
  Settings usage;
  bool is_done = false;
};
Joined joined(const Answer& answer) {
  Joined result;
  for (const std::string& event : answer.events()) {
    EXPECT_FALSE(result.is_done);
    if (event == "[DONE]") {
      result.is_done = true;
      continue;
    }
    const Settings data = parse_json(event, "event");
    EXPECT_FALSE(data.has("error")) << event;
    if (const Settings* usage = data.group("usage")) result.usage = *usage;
    if (list(data, "choices").empty()) continue;
    const Settings& delta = *object(list(data, "choices"), 0).group("delta");
    result.content += delta.text_or("content", "");
    result.reasoning += delta.text_or("reasoning_content", "");
    if (!delta.has("tool_calls")) continue;
    for (const Setting& one : list(delta, "tool_calls")) {
      const Settings& call = std::get<Settings>(one.value);
      // It keeps the first delta of a call, and joins names and arguments of later ones to it.
      EXPECT_EQ(size_t(call.integer("index")), result.calls.size());
      result.calls.push_back(call);
    }
  }
  return result;
}

TEST_F(OpenWebUi, VerifiesAConnectionAndListsModels) {
  for (const char* path : {"/v1/models", "/v1/models/bytes"}) {
    EXPECT_EQ(test::ask(server_.port(), "GET", path, "", kHeaders).status, 200);
    EXPECT_EQ(test::ask(server_.port(), "HEAD", path, "", kHeaders).status, 200);
  }
  const Answer answer =
      test::ask(server_.port(), "GET", "/v1/models", "",
                kHeaders + "Content-Type: application/json\r\nCookie: token=x; other=y\r\n");
  EXPECT_EQ(answer.headers.at("content-type"), "application/json");
  const Settings body = answer.json();
  EXPECT_FALSE(body.has("error"));
  ASSERT_EQ(list(body, "data").size(), 1u);
  const Settings& model = object(list(body, "data"), 0);
  EXPECT_EQ(model.text("id"), "bytes");
  // It sets these itself, unless the model has them.
  for (const char* key : {"name", "tags", "connection_type", "info", "pipeline", "urlIdx"})
    EXPECT_FALSE(model.has(key)) << key;
  const Answer refused =
      test::ask(server_.port(), "GET", "/v1/models", "", "Authorization: Bearer \r\n");
  EXPECT_EQ(refused.status, 401);
  EXPECT_NE(refused.error().text("message"), "");
}

TEST_F(OpenWebUi, ConnectsFromTheBrowser) {
  const std::string origin = "Origin: " + std::string(kOrigin) + "\r\n";
  for (const char* path : {"/v1/models", "/v1/chat/completions"}) {
    const Answer preflight =
        test::ask(server_.port(), "OPTIONS", path, "",
                  origin +
                      "Access-Control-Request-Method: POST\r\n"
                      "Access-Control-Request-Headers: authorization,content-type\r\n");
    EXPECT_EQ(preflight.status, 204);
    EXPECT_EQ(preflight.headers.at("access-control-allow-origin"), kOrigin);
    EXPECT_NE(preflight.headers.at("access-control-allow-methods").find("POST"), std::string::npos);
    EXPECT_EQ(preflight.headers.at("access-control-allow-headers"), "authorization,content-type");
  }
  const Answer answer = test::ask(server_.port(), "GET", "/v1/models", "", kHeaders + origin);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.headers.at("access-control-allow-origin"), kOrigin);
}

TEST_F(OpenWebUi, ChatsWithFieldsOfItsOwn) {
  // Parameters of a model and of a chat, custom ones, and fields that reach a server if a filter
  // adds them.
  const std::string fields = R"(
      "messages": [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
        {"role": "assistant", "content": "<details>Hm.</details>\nHello.", "id": "m-1",
         "model": "bytes", "usage": {"total_tokens": 3}, "done": true, "timestamp": 1.5},
        {"role": "user", "files": [], "content": [
          {"type": "text", "text": "And?", "cache_control": {"type": "ephemeral"}}]}],
      "temperature": 0.8, "top_p": 0.9, "top_k": 40, "min_p": 0.0, "frequency_penalty": 0.0,
      "presence_penalty": 0, "repeat_penalty": 1.1, "repeat_last_n": 64, "max_tokens": 128,
      "seed": 0, "stop": ["</s>"], "logit_bias": {}, "reasoning_effort": "medium",
      "verbosity": "low", "summary": "auto", "mirostat": 0, "tfs_z": 1, "num_ctx": 2048,
      "num_batch": 512, "num_gpu": 1, "keep_alive": "5m", "think": true, "format": "",
      "reasoning": {"effort": "medium"}, "usage": {"include": true}, "plugins": [],
      "provider": null, "user": {"name": "J", "id": "7", "email": "a@example.org", "role": "user"},
      "metadata": {"chat_id": "c-1", "task": "title", "files": [{"type": "file"}]},
      "chat_id": "c-1", "id": "m-2", "session_id": "s", "features": {"web_search": false},
      "tool_ids": [], "tool_servers": [], "files": null, "variables": {"{{USER_NAME}}": "J"},
      "model_item": {"id": "bytes"}, "background_tasks": {"title_generation": true}, "tools": [],
      "params": {}, "filter_ids": [], "service_tier": "auto", "store": false)";
  const Answer stream =
      chat("<think>Hm.</think>Yes.",
           fields + R"(, "stream": true, "stream_options": {"include_usage": true})");
  ASSERT_EQ(stream.status, 200) << stream.body;
  EXPECT_EQ(stream.headers.at("content-type"), "text/event-stream");
  const Joined parts = joined(stream);
  EXPECT_EQ(parts.content, "Yes.");
  EXPECT_EQ(parts.reasoning, "Hm.");
  EXPECT_TRUE(parts.is_done);
  EXPECT_GT(parts.usage.integer("prompt_tokens"), 0);
  EXPECT_EQ(parts.usage.integer("total_tokens"),
            parts.usage.integer("prompt_tokens") + parts.usage.integer("completion_tokens"));
  const Answer whole = chat("Yes.", fields + R"(, "stream": false)");
  ASSERT_EQ(whole.status, 200) << whole.body;
  EXPECT_EQ(whole.headers.at("content-type"), "application/json");
  const Settings body = whole.json();
  EXPECT_EQ(object(list(body, "choices"), 0).group("message")->text("content"), "Yes.");
  EXPECT_GT(body.group("usage")->integer("total_tokens"), 0);
}

TEST_F(OpenWebUi, AsksForTitlesTagsAndFollowUps) {
  const struct {
    const char *fields, *text;
  } kRows[] = {
      {R"("max_completion_tokens": 1000)", R"({ "title": "A greeting" })"},
      {R"("max_tokens": 1000)", R"({"title": "A greeting"})"},
      {R"("top_p": null)", "```json\n{ \"tags\": [\"Greetings\", \"Chat\"] }\n```"},
      {R"("top_p": null)", R"({ "follow_ups": ["Why?", "How?"] })"},
      {R"("top_p": null)", R"({ "queries": [] })"},
      {R"("max_completion_tokens": 4, "chat_id": "c-1")", "\xf0\x9f\x98\x80"},
  };
  for (const auto& row : kRows) {
    const Answer answer = chat(
        row.text, std::string(row.fields) +
                      R"(, "messages": [{"role": "user", "content": "### Task:\nSay it in JSON."}],
                         "stream": false, "metadata": {"task": "title_generation", "task_body":
                         {"model": "bytes", "messages": []}, "chat_id": null})");
    ASSERT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(object(list(answer.json(), "choices"), 0).group("message")->text("content"),
              row.text);
  }
}

TEST_F(OpenWebUi, CallsToolsAndSendsTheirResults) {
  const std::string tools = R"("stream": true, "stream_options": {"include_usage": true}, "tools": [
      {"type": "function", "function": {"name": "get_time", "description": "The time.",
        "parameters": {"type": "object", "properties": {"zone": {"type": "string",
          "description": "A zone."}}, "required": []}}}])";
  const std::string call =
      "<tool_call>\n{\"name\": \"get_time\", \"arguments\": {\"zone\": \"UTC\"}}\n</tool_call>";
  const Answer stream =
      chat("Look.\n" + call + "\n" + call,
           tools + R"(, "messages": [{"role": "user", "content": "How late is it?"}])");
  ASSERT_EQ(stream.status, 200) << stream.body;
  const Joined first = joined(stream);
  ASSERT_EQ(first.calls.size(), 2u);
  std::string calls, results;
  for (const Settings& one : first.calls) {
    EXPECT_EQ(one.text("type"), "function");
    const Settings arguments = parse_json(one.group("function")->text("arguments"), "arguments");
    EXPECT_EQ(arguments.text("zone"), "UTC");
    EXPECT_NE(one.text("id"), "");
    // It sends the deltas back as they came, index and all.
    calls += (calls.empty() ? "" : ", ") + to_json(one, -1);
    results += R"(, {"role": "tool", "tool_call_id": ")" + one.text("id") +
               R"(", "content": [{"type": "input_text", "text": "12:00"}]})";
  }
  const Answer next =
      chat("Noon.", tools + R"(, "messages": [{"role": "user", "content": "How late is it?"},
          {"role": "assistant", "content": ")" +
                        first.content + R"(", "tool_calls": [)" + calls + "]}" + results + "]");
  ASSERT_EQ(next.status, 200) << next.body;
  EXPECT_EQ(joined(next).content, "Noon.");
}

TEST_F(OpenWebUi, SendsResponses) {
  // A connection whose API is "responses". Items of earlier answers come back without their ids.
  const Answer answer = post("/v1/responses", R"({"model": "bytes", "stream": true,
      "guided_choice": ["<think>Hm.</think>Noon."], "instructions": "Be kind.", "input": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "When?"}]},
        {"type": "reasoning", "id": "rs_1", "status": "completed", "summary": null, "duration": 1,
         "started_at": 1.5, "attributes": {"type": "reasoning_content"},
         "content": [{"type": "output_text", "text": "Hm."}]},
        {"type": "message", "role": "assistant",
         "content": [{"type": "output_text", "text": "Look."}]},
        {"type": "function_call", "call_id": "c1", "name": "get_time", "arguments": "{}",
         "id": "fc_1"},
        {"type": "function_call_output", "call_id": "c1",
         "output": [{"type": "input_text", "text": "12:00"}]}],
      "tools": [{"type": "function", "name": "get_time", "description": "The time.",
        "parameters": {"type": "object", "properties": {}}}],
      "max_output_tokens": 100, "metadata": {"chat_id": "c-1"}})");
  ASSERT_EQ(answer.status, 200) << answer.body;
  std::string text, reasoning;
  const std::vector<Settings> events = answer.typed_events();
  for (const Settings& event : events) {
    if (event.text("type") == "response.output_text.delta") text += event.text("delta");
    if (event.text("type") == "response.reasoning_text.delta") reasoning += event.text("delta");
  }
  EXPECT_EQ(text, "Noon.");
  EXPECT_EQ(reasoning, "Hm.");
  EXPECT_EQ(events.back().text("type"), "response.completed");
  const Settings& response = *events.back().group("response");
  EXPECT_GT(response.group("usage")->integer("total_tokens"), 0);
  EXPECT_EQ(list(response, "output").size(), 2u);
}

TEST_F(OpenWebUi, EmbedsBatches) {
  // RAG_EMBEDDING_PREFIX_FIELD_NAME adds a field of any name.
  const Answer answer = post(
      "/v1/embeddings",
      R"({"input": ["one", "two", "three"], "model": "bytes", "input_type": "search_document"})");
  ASSERT_EQ(answer.status, 200) << answer.body;
  const Settings body = answer.json();
  ASSERT_EQ(list(body, "data").size(), 3u);
  std::vector<size_t> sizes;
  for (size_t i = 0; i < 3; i++) {
    EXPECT_EQ(object(list(body, "data"), i).integer("index"), int64_t(i));
    sizes.push_back(object(list(body, "data"), i).reals("embedding").size());
  }
  EXPECT_GT(sizes[0], 0u);
  EXPECT_EQ(sizes[0], sizes[1]);
  EXPECT_EQ(sizes[0], sizes[2]);
  EXPECT_GT(body.group("usage")->integer("total_tokens"), 0);
}

TEST_F(OpenWebUi, ShowsErrors) {
  const Answer model =
      post("/v1/chat/completions",
           R"({"model": "other", "messages": [{"role": "user", "content": "a"}]})");
  EXPECT_EQ(model.status, 404);
  EXPECT_EQ(model.headers.at("content-type"), "application/json");
  EXPECT_NE(model.error().text("message").find("'other'"), std::string::npos);
  // Also if the answer would have been a stream.
  const Answer image = post("/v1/chat/completions", R"({"model": "bytes", "stream": true,
      "messages": [{"role": "user", "content": [{"type": "image_url",
        "image_url": {"url": "https://example.org/a.png"}}]}]})");
  EXPECT_EQ(image.status, 400);
  EXPECT_EQ(image.headers.at("content-type"), "application/json");
  EXPECT_EQ(image.error().text("param"), "messages[0].content[0].image_url.url");
}

}  // namespace
}  // namespace wick
