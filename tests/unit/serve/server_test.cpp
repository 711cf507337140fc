#include "wick/serve/server.h"

#include <cmath>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "../expect.h"
#include "base/base64.h"
#include "base/utf8.h"
#include "byte_model.h"
#include "client.h"
#include "wick/generate/generation.h"

namespace wick {
namespace {

using std::chrono::milliseconds;
using test::Answer;
using test::Client;

constexpr const char* kChat = "/v1/chat/completions";
constexpr const char* kText = "/v1/completions";
constexpr int64_t kEndless = 60'000;  // tokens of a text that no test waits for

const LanguageModel& model() {
  static const LanguageModel kModel = test::byte_model(kEndless);
  return kModel;
}

/// A server at a free port.
struct TestServer {
  explicit TestServer(ServerOptions options = {}) : server(model(), prepared(options)) {
    server.start();
  }
  static ServerOptions prepared(ServerOptions options) {
    options.port = 0;
    options.names = {"bytes", "alias"};
    if (options.engine.capacity == 0) options.engine.capacity = 512;
    return options;
  }
  Answer ask(const std::string& method, const std::string& path, const std::string& body = "",
             const std::string& headers = "") {
    return test::ask(server.port(), method, path, body, headers);
  }
  Answer post(const std::string& path, const std::string& fields) {
    return ask("POST", path, "{" + fields + "}");
  }
  /// A value of /metrics.
  int64_t metric(const std::string& name) {
    const std::string page = ask("GET", "/metrics").body;
    const size_t at = page.find("\n" + name + " ");
    return at == page.npos ? -1 : std::stoll(page.substr(at + name.size() + 2));
  }
  bool metric_becomes(const std::string& name, int64_t value) {
    for (int i = 0; i < 6000; i++) {
      if (metric(name) == value) return true;
      std::this_thread::sleep_for(milliseconds(5));
    }
    return false;
  }

  Server server;
};

std::string chat_fields(const std::string& content, const std::string& more) {
  return R"("messages": [{"role": "user", "content": ")" + content + R"("}], )" + more;
}
/// A text that grows until its client goes away: no token ends it, and it has room for many.
std::string endless_fields() {
  return chat_fields("go on", R"("ignore_eos": true, "stream": true)");
}

/// The likeliest continuation of the ids, of so many tokens, by a session of its own.
std::string likeliest(const std::vector<int64_t>& ids, int64_t tokens) {
  Generation text(model(), ids, {.max_tokens = tokens},
                  {.sampling = {.temperature = 0}, .stop_ids = std::vector<int64_t>()});
  return text.finish().text;
}
std::vector<int64_t> chat_ids(const std::string& content) {
  return model().chat_ids({{.role = "user", .content = content}});
}

const Settings& choice(const Settings& answer, size_t index = 0) {
  const auto& choices = std::get<Setting::List>(answer.find("choices")->value);
  return std::get<Settings>(choices.at(index).value);
}
size_t choices(const Settings& answer) {
  return std::get<Setting::List>(answer.find("choices")->value).size();
}
std::string content(const Answer& answer, size_t index = 0) {
  return choice(answer.json(), index).group("message")->text("content");
}

TEST(Server, SaysThatItIsThere) {
  TestServer server;
  const Answer health = server.ask("GET", "/health");
  EXPECT_EQ(health.status, 200);
  EXPECT_EQ(health.json().text("status"), "ok");
  const Settings models = server.ask("GET", "/v1/models").json();
  EXPECT_EQ(models.text("object"), "list");
  const auto& list = std::get<Setting::List>(models.find("data")->value);
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(std::get<Settings>(list[0].value).text("id"), "bytes");
  EXPECT_EQ(std::get<Settings>(list[0].value).integer("max_model_len"), 512);
  EXPECT_EQ(server.ask("GET", "/v1/models/alias").json().text("id"), "alias");
  EXPECT_EQ(server.ask("GET", "/v1/models/other").error().text("code"), "model_not_found");
  EXPECT_EQ(server.server.url(), "http://127.0.0.1:" + std::to_string(server.server.port()));
}

TEST(Server, ShowsAPageThatLoadsNothingElse) {
  TestServer server({.api_keys = {"secret"}});
  const Answer page = server.ask("GET", "/");
  EXPECT_EQ(page.status, 200);
  EXPECT_NE(page.body.find("<!doctype html>"), std::string::npos);
  EXPECT_NE(page.body.find("v1/chat/completions"), std::string::npos);
  EXPECT_NE(page.body.find("</html>"), std::string::npos);  // whole
  for (const char* from : {"src=\"http", "@import", "href=\"http", "url(http"})
    EXPECT_EQ(page.body.find(from), std::string::npos) << from;
}

TEST(Server, HoldsAnswersToAGrammar) {
  TestServer server;
  const auto ask = [&](const std::string& fields) {
    return content(
        server.post(kChat, chat_fields("hi", R"("max_tokens": 40, "seed": 3, )" + fields)));
  };
  const std::string object = ask(R"("response_format": {"type": "json_object"})");
  EXPECT_EQ(object.substr(object.find_first_not_of(' '), 1), "{") << object;
  const std::string choice = ask(R"("guided_choice": ["yes", "no"])");
  EXPECT_TRUE(choice == "yes" || choice == "no") << choice;
  EXPECT_TRUE(Grammar::regex("[0-9]{3}").matches(ask(R"("guided_regex": "[0-9]{3}")")));
  EXPECT_TRUE(Grammar::regex("(ab){2}").matches(ask(R"("grammar": "root ::= \"ab\" \"ab\"")")));
  const std::string schema =
      R"({"type": "object", "properties": {"n": {"type": "integer", "minimum": 3, "maximum": 5}},
          "required": ["n"], "additionalProperties": false})";
  const std::string fits = ask(R"("response_format": {"type": "json_schema", "json_schema": {
      "name": "number", "strict": true, "schema": )" +
                               schema + "}}");
  EXPECT_TRUE(Grammar::regex("\\s*\\{\\s*\"n\"\\s*:\\s*[345]\\s*\\}\\s*").matches(fits)) << fits;
  const Answer broken = server.post(kChat, chat_fields("hi", R"("grammar": "root ::= (")"));
  EXPECT_EQ(broken.status, 400);
  EXPECT_EQ(broken.error().text("param"), "grammar");
  // Byte 0 is the token that ends texts, and no other token has it.
  const Answer unwritable = server.post(kChat, chat_fields("hi", R"("guided_regex": "\\x00")"));
  EXPECT_EQ(unwritable.status, 400) << unwritable.body;
  EXPECT_NE(unwritable.body.find("no token of the vocabulary can follow"), std::string::npos)
      << unwritable.body;
}

TEST(Server, AnswersAChat) {
  TestServer server;
  const Answer answer = server.post(
      kChat, chat_fields("Hi", R"("temperature": 0, "ignore_eos": true, "max_tokens": 20,
                                              "model": "alias")"));
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.headers.at("content-type"), "application/json");
  const Settings body = answer.json();
  EXPECT_EQ(body.text("object"), "chat.completion");
  EXPECT_EQ(body.text("id").rfind("chatcmpl-", 0), 0u);
  EXPECT_EQ(body.text("model"), "bytes");
  EXPECT_GT(body.integer("created"), 1'700'000'000);
  EXPECT_EQ(choices(body), 1u);
  EXPECT_EQ(choice(body).group("message")->text("role"), "assistant");
  EXPECT_EQ(content(answer), likeliest(chat_ids("Hi"), 20));
  EXPECT_EQ(choice(body).text("finish_reason"), "length");
  const Settings& usage = *body.group("usage");
  EXPECT_EQ(usage.integer("prompt_tokens"), int64_t(chat_ids("Hi").size()));
  EXPECT_EQ(usage.integer("completion_tokens"), 20);
  EXPECT_EQ(usage.integer("total_tokens"), 20 + int64_t(chat_ids("Hi").size()));
  EXPECT_EQ(usage.group("prompt_tokens_details")->integer("cached_tokens"), 0);
}

TEST(Server, StreamsAChat) {
  TestServer server;
  const std::string fields =
      R"("temperature": 0, "ignore_eos": true, "max_tokens": 20, "stream": true)";
  for (const bool with_usage : {false, true}) {
    const Answer answer = server.post(
        kChat,
        chat_fields("Hi",
                    fields + (with_usage ? R"(, "stream_options": {"include_usage": true})" : "")));
    EXPECT_EQ(answer.headers.at("content-type"), "text/event-stream");
    EXPECT_EQ(answer.headers.at("cache-control"), "no-cache");
    std::vector<std::string> events = answer.events();
    ASSERT_GE(events.size(), 4u) << answer.body;
    EXPECT_EQ(events.back(), "[DONE]");
    events.pop_back();
    if (with_usage) {
      const Settings last = parse_json(events.back(), "event");
      EXPECT_EQ(choices(last), 0u);
      EXPECT_EQ(last.group("usage")->integer("completion_tokens"), 20);
      events.pop_back();
    }
    std::string text, id;
    for (size_t i = 0; i < events.size(); i++) {
      const Settings event = parse_json(events[i], "event");
      EXPECT_EQ(event.text("object"), "chat.completion.chunk");
      EXPECT_EQ(event.text("id"), id.empty() ? event.text("id") : id);
      id = event.text("id");
      EXPECT_EQ(events[i].find("\"usage\":null") != std::string::npos, with_usage) << events[i];
      const Settings& delta = *choice(event).group("delta");
      EXPECT_EQ(delta.text_or("role", ""), i == 0 ? "assistant" : "");
      text += delta.text_or("content", "");
      EXPECT_EQ(choice(event).text_or("finish_reason", ""), i + 1 == events.size() ? "length" : "");
    }
    EXPECT_EQ(text, likeliest(chat_ids("Hi"), 20));
  }
}

TEST(Server, StreamsWholeCharacters) {
  TestServer server;
  // Mostly the two bytes of a character, in any order.
  const std::string fields = R"("ignore_eos": true, "max_tokens": 200, "seed": 5, "temperature": 1,
      "logit_bias": {"195": 100, "164": 100})";
  const std::string whole = content(server.post(kChat, chat_fields("Hi", fields)));
  EXPECT_NE(whole.find("\u00e4"), whole.npos) << whole;
  EXPECT_NE(whole.find("\uFFFD"), whole.npos) << whole;
  std::string joined;
  std::vector<std::string> events =
      server.post(kChat, chat_fields("Hi", fields + R"(, "stream": true)")).events();
  events.pop_back();
  for (const std::string& event : events) {
    const std::string part =
        choice(parse_json(event, "event")).group("delta")->text_or("content", "");
    EXPECT_TRUE(is_utf8(part));
    joined += part;
  }
  EXPECT_EQ(joined, whole);
}

TEST(Server, RepeatsATextWithItsSeed) {
  TestServer server;
  const auto text = [&](const std::string& more) {
    const Answer answer = server.post(
        kChat,
        chat_fields("Hi", R"("temperature": 1.5, "max_tokens": 30, "ignore_eos": true, )" + more));
    return content(answer);
  };
  EXPECT_EQ(text(R"("seed": 3)"), text(R"("seed": 3)"));
  EXPECT_NE(text(R"("seed": 3)"), text(R"("seed": 4)"));
  const Answer two = server.post(kChat, chat_fields("Hi", R"("temperature": 1.5, "max_tokens": 30,
      "ignore_eos": true, "seed": 3, "n": 2)"));
  ASSERT_EQ(choices(two.json()), 2u);
  EXPECT_EQ(content(two, 0), text(R"("seed": 3)"));
  EXPECT_EQ(content(two, 1), text(R"("seed": 4)"));
  EXPECT_EQ(two.json().group("usage")->integer("completion_tokens"), 60);
  EXPECT_EQ(two.json().group("usage")->integer("prompt_tokens"), int64_t(chat_ids("Hi").size()));
}

TEST(Server, EndsATextAtAStopText) {
  TestServer server;
  const std::string all = likeliest(chat_ids("Hi"), 20);
  const size_t at = all.size() / 2;
  size_t begin = at;
  while (!starts_character(all[begin])) begin++;
  const std::string stop = all.substr(begin, character_length(all[begin]));
  const Answer answer = server.post(
      kChat,
      chat_fields("Hi", R"("temperature": 0, "ignore_eos": true, "max_tokens": 20, "stop": )" +
                            to_json(stop)));
  EXPECT_EQ(content(answer), all.substr(0, all.find(stop)));
  EXPECT_EQ(choice(answer.json()).text("finish_reason"), "stop");
}

TEST(Server, EndsATextAtAStopToken) {
  TestServer server;
  const Answer answer = server.post(kChat, chat_fields("Hi", R"("logit_bias": {"0": 100})"));
  EXPECT_EQ(content(answer), "");
  EXPECT_EQ(choice(answer.json()).text("finish_reason"), "stop");
}

TEST(Server, EndsATextInAFullContext) {
  TestServer server(ServerOptions{.engine = {.capacity = 40}});
  const Answer answer = server.post(kChat, chat_fields("Hi", R"("ignore_eos": true)"));
  EXPECT_EQ(choice(answer.json()).text("finish_reason"), "length") << answer.body;
  const Answer long_prompt = server.post(kChat, chat_fields(std::string(60, 'a'), R"("n": 1)"));
  EXPECT_EQ(long_prompt.status, 400);
  EXPECT_EQ(long_prompt.error().text("code"), "context_length_exceeded");
  EXPECT_EQ(long_prompt.error().text("param"), "messages");
  const Answer very_long = server.post(kText, R"("prompt": ")" + std::string(100'000, 'a') + "\"");
  EXPECT_EQ(very_long.error().text("code"), "context_length_exceeded");
  EXPECT_EQ(very_long.error().text("param"), "prompt");
}

TEST(Server, ContinuesPrompts) {
  TestServer server;
  const std::string fields = R"("temperature": 0, "ignore_eos": true, "max_tokens": 8, )";
  const Settings body =
      server.post(kText, fields + R"("prompt": ["ab", "cd"], "echo": true)").json();
  EXPECT_EQ(body.text("object"), "text_completion");
  ASSERT_EQ(choices(body), 2u);
  EXPECT_EQ(choice(body, 0).text("text"), "ab" + likeliest(model().prompt_ids("ab"), 8));
  EXPECT_EQ(choice(body, 1).text("text"), "cd" + likeliest(model().prompt_ids("cd"), 8));
  EXPECT_EQ(body.group("usage")->integer("prompt_tokens"), 4);
  EXPECT_EQ(choice(server.post(kText, fields + R"("prompt": [97, 98])").json()).text("text"),
            likeliest({97, 98}, 8));
  std::vector<std::string> events =
      server.post(kText, fields + R"("prompt": "ab", "stream": true)").events();
  EXPECT_EQ(events.back(), "[DONE]");
  events.pop_back();
  std::string text;
  for (const std::string& event : events) text += choice(parse_json(event, "event")).text("text");
  EXPECT_EQ(text, likeliest(model().prompt_ids("ab"), 8));
}

TEST(Server, GivesLogProbabilities) {
  TestServer server;
  const std::string fields =
      R"("temperature": 0, "ignore_eos": true, "max_tokens": 3, "logprobs": )";
  const Answer chat = server.post(kChat, chat_fields("Hi", fields + R"(true, "top_logprobs": 2)"));
  ASSERT_EQ(chat.status, 200) << chat.body;
  const Settings body = chat.json();
  const auto& list =
      std::get<Setting::List>(choice(body).group("logprobs")->find("content")->value);
  ASSERT_EQ(list.size(), 3u);
  for (const Setting& item : list) {
    const Settings& token = std::get<Settings>(item.value);
    const auto& top = std::get<Setting::List>(token.find("top_logprobs")->value);
    ASSERT_EQ(top.size(), 2u);
    // The likeliest token was taken.
    EXPECT_EQ(std::get<Settings>(top[0].value).text("token"), token.text("token"));
    EXPECT_EQ(std::get<Settings>(top[0].value).real("logprob"), token.real("logprob"));
    EXPECT_LT(token.real("logprob"), 0);
    EXPECT_GT(token.real("logprob"), std::log(1.0 / 256));
    EXPECT_LE(std::get<Settings>(top[1].value).real("logprob"), token.real("logprob"));
  }
  const Settings text = server.post(kText, fields + R"(1, "prompt": "ab")").json();
  const Settings& logprobs = *choice(text).group("logprobs");
  EXPECT_EQ(logprobs.texts("tokens").size(), 3u);
  EXPECT_EQ(logprobs.reals("token_logprobs").size(), 3u);
  EXPECT_EQ(logprobs.integers("text_offset"), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(choice(server.post(kText, R"("prompt": "ab")").json()).group("logprobs"), nullptr);
}

TEST(Server, ReadsACommonBeginningOnce) {
  TestServer server;
  const std::string fields = chat_fields(std::string(100, 'a'), R"("max_tokens": 2)");
  const auto cached = [&] {
    const Settings body = server.post(kChat, fields).json();
    return body.group("usage")->group("prompt_tokens_details")->integer("cached_tokens");
  };
  EXPECT_EQ(cached(), 0);
  EXPECT_GT(cached(), 50);
}

TEST(Server, HandsToolsToTheTemplate) {
  TestServer server;
  const std::string tools = R"("temperature": 0, "ignore_eos": true, "max_tokens": 5,
      "tools": [{"type": "function", "function": {"name": "f"}}])";
  const Answer answer = server.post(kChat, chat_fields("Hi", tools));
  EXPECT_EQ(content(answer), likeliest(model().prompt_ids("user Hi;tool f;assistant "), 5));
}

TEST(Server, CutsTextsIntoTokensAndBack) {
  TestServer server;
  const Settings tokens = server.post("/tokenize", R"("prompt": "ab")").json();
  EXPECT_EQ(tokens.integers("tokens"), (std::vector<int64_t>{97, 98}));
  EXPECT_EQ(tokens.integer("count"), 2);
  EXPECT_EQ(server.post("/tokenize", R"("content": "a")").json().integers("tokens"),
            std::vector<int64_t>{97});
  EXPECT_EQ(server.post("/tokenize", chat_fields("Hi", R"("n": 1)")).json().integers("tokens"),
            chat_ids("Hi"));
  EXPECT_EQ(server.post("/detokenize", R"("tokens": [97, 98])").json().text("prompt"), "ab");
  EXPECT_EQ(server.post("/detokenize", R"("tokens": [256])").status, 400);
  EXPECT_EQ(server.post("/tokenize", "").error().text("param"), "prompt");
}

TEST(Server, EmbedsTexts) {
  TestServer server;
  const Settings body = server.post("/v1/embeddings", R"("input": ["ab", "c"])").json();
  const auto& list = std::get<Setting::List>(body.find("data")->value);
  ASSERT_EQ(list.size(), 2u);
  const std::vector<float> expected = model().embed("ab").to_vector<float>();
  const std::vector<double> values = std::get<Settings>(list[0].value).reals("embedding");
  EXPECT_EQ(std::vector<float>(values.begin(), values.end()), expected);
  EXPECT_EQ(body.group("usage")->integer("prompt_tokens"), 3);
  const Settings packed =
      server.post("/v1/embeddings", R"("input": "ab", "encoding_format": "base64")").json();
  const auto& one = std::get<Setting::List>(packed.find("data")->value);
  const std::string bytes = *from_base64(std::get<Settings>(one.at(0).value).text("embedding"));
  ASSERT_EQ(bytes.size(), expected.size() * sizeof(float));
  EXPECT_EQ(std::memcmp(bytes.data(), expected.data(), bytes.size()), 0);
  EXPECT_EQ(server.post("/v1/embeddings", R"("input": [1, 2])").error().text("param"), "input");
  EXPECT_EQ(server.post("/v1/embeddings", R"("input": "a", "dimensions": 8)").status, 400);
}

TEST(Server, ReportsErrorsAsOpenAIDoes) {
  TestServer server(ServerOptions{.max_body_bytes = 1000});
  const auto expect_error = [](const Answer& answer, int status, const std::string& type,
                               const std::string& code, const std::string& param) {
    EXPECT_EQ(answer.status, status) << answer.body;
    EXPECT_EQ(answer.headers.at("content-type"), "application/json");
    const Settings error = answer.error();
    EXPECT_FALSE(error.text("message").empty());
    EXPECT_EQ(error.text("type"), type);
    EXPECT_EQ(error.text_or("code", ""), code);
    EXPECT_EQ(error.text_or("param", ""), param);
    for (const char* key : {"\"param\":", "\"code\":"})  // null if there is nothing to say
      EXPECT_NE(answer.body.find(key), std::string::npos) << answer.body;
  };
  const std::string invalid = "invalid_request_error";
  expect_error(server.ask("POST", kChat, "{"), 400, invalid, "", "");
  expect_error(server.post(kChat, R"("messages": 5)"), 400, invalid, "invalid_value", "messages");
  expect_error(server.post(kChat, chat_fields("a", R"("model": "gpt-4o")")), 404, invalid,
               "model_not_found", "model");
  expect_error(server.post(kText, R"("prompt": ")" + std::string(1000, 'a') + "\""), 413, invalid,
               "", "");
  expect_error(server.ask("GET", "/nothing"), 404, invalid, "unknown_url", "");
  const Answer method = server.ask("GET", kChat);
  expect_error(method, 405, invalid, "", "");
  EXPECT_EQ(method.headers.at("allow"), "POST");
  expect_error(server.ask("GET", "/health", "", "Host: evil.example\r\n"), 403, "permission_error",
               "host_not_allowed", "");
  expect_error(server.ask("POST", kChat, "{}", "Content-Encoding: gzip\r\n"), 415, invalid, "", "");
  Client broken(server.server.port());
  broken.send("nonsense\r\n\r\n");
  expect_error(broken.read_answer(), 400, invalid, "", "");
}

TEST(Server, AsksForAKey) {
  TestServer server(ServerOptions{.api_keys = {"secret", "other"}});
  EXPECT_EQ(server.ask("GET", "/health").status, 200);
  for (const char* path : {"/v1/models", "/metrics"}) {
    const Answer refused = server.ask("GET", path);
    EXPECT_EQ(refused.status, 401);
    EXPECT_EQ(refused.headers.at("www-authenticate"), "Bearer");
    EXPECT_EQ(refused.error().text("code"), "missing_api_key");
    EXPECT_EQ(server.ask("GET", path, "", "Authorization: Bearer other\r\n").status, 200);
  }
  EXPECT_EQ(server.ask("POST", kChat, "{}", "Authorization: Bearer wrong\r\n").error().text("code"),
            "invalid_api_key");
}

TEST(Server, AnswersBrowsersOfAllowedOrigins) {
  TestServer server(ServerOptions{.api_keys = {"secret"}, .cors_origins = {"https://a.example"}});
  const std::string origin = "Origin: https://a.example\r\n";
  const Answer preflight =
      server.ask("OPTIONS", kChat, "",
                 origin +
                     "Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: "
                     "authorization, x-b\r\n");
  EXPECT_EQ(preflight.status, 204);
  EXPECT_EQ(preflight.headers.at("access-control-allow-origin"), "https://a.example");
  EXPECT_EQ(preflight.headers.at("access-control-allow-headers"), "authorization, x-b");
  EXPECT_EQ(server.ask("GET", "/health", "", origin).headers.at("access-control-allow-origin"),
            "https://a.example");
  // An error is readable too.
  EXPECT_EQ(server.ask("POST", kChat, "{}", origin).headers.at("access-control-allow-origin"),
            "https://a.example");
  EXPECT_EQ(server.ask("OPTIONS", kChat, "", "Origin: https://b.example\r\n").status, 403);
  EXPECT_EQ(server.ask("OPTIONS", kChat).status, 405);
}

TEST(Server, CancelsTheTextOfAClientThatGoesAway) {
  TestServer server(ServerOptions{.engine = {.sequences = 1, .capacity = kEndless}});
  Client running(server.server.port()), waiting(server.server.port());
  running.send(Client::head("POST", kChat, endless_fields().size() + 2) + "{" + endless_fields() +
               "}");
  running.read_until("\"content\":\"");
  const std::string whole = chat_fields("wait", R"("ignore_eos": true)");  // not streamed
  waiting.send(Client::head("POST", kChat, whole.size() + 2) + "{" + whole + "}");
  EXPECT_TRUE(server.metric_becomes("wick_texts_waiting", 1));
  waiting.close();
  EXPECT_TRUE(server.metric_becomes("wick_texts_waiting", 0));
  EXPECT_EQ(server.metric("wick_texts_running"), 1);
  running.close();
  EXPECT_TRUE(server.metric_becomes("wick_texts_running", 0));
  EXPECT_EQ(server.metric("wick_texts_cancelled_total"), 2);
  EXPECT_TRUE(server.metric_becomes(
      "wick_requests_total{path=\"/v1/chat/completions\",status=\"499\"}", 2));
}

TEST(Server, RefusesWhatTheQueueCannotHold) {
  TestServer server(ServerOptions{.engine = {.sequences = 1, .capacity = kEndless, .queue = 1}});
  std::vector<std::unique_ptr<Client>> clients;
  const std::string request =
      Client::head("POST", kChat, endless_fields().size() + 2) + "{" + endless_fields() + "}";
  for (int i = 0; i < 2; i++) {
    clients.push_back(std::make_unique<Client>(server.server.port()));
    clients.back()->send(request);
    if (i == 0) {
      EXPECT_TRUE(server.metric_becomes("wick_texts_running", 1));  // it waits no longer
    }
  }
  EXPECT_TRUE(server.metric_becomes("wick_texts_waiting", 1));
  const Answer refused = server.post(kChat, chat_fields("a", R"("n": 1)"));
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.headers.at("retry-after"), "1");
  EXPECT_EQ(refused.error().text("type"), "server_error");
  EXPECT_EQ(refused.error().text("code"), "server_busy");
  // Of several texts all or none are taken.
  clients[1]->close();
  EXPECT_TRUE(server.metric_becomes("wick_texts_waiting", 0));
  EXPECT_EQ(server.post(kChat, chat_fields("a", R"("n": 2)")).status, 503);
  EXPECT_TRUE(server.metric_becomes("wick_texts_waiting", 0));
  clients[0]->close();
  EXPECT_TRUE(server.metric_becomes("wick_texts_running", 0));
  EXPECT_EQ(server.post(kChat, chat_fields("a", R"("max_tokens": 1)")).status, 200);
}

TEST(Server, Answers256StreamsAtOnce) {
  TestServer server(ServerOptions{.engine = {.sequences = 32, .capacity = 128, .queue = 256}});
  const std::string fields = chat_fields(
      "Hi", R"("temperature": 0, "ignore_eos": true, "max_tokens": 20, "stream": true)");
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 256; i++) {
    clients.push_back(std::make_unique<Client>(server.server.port()));
    clients.back()->send(Client::head("POST", kChat, fields.size() + 2) + "{" + fields + "}");
  }
  const std::string expected = likeliest(chat_ids("Hi"), 20);
  for (const auto& client : clients) {
    std::vector<std::string> events = client->read_answer().events();
    ASSERT_FALSE(events.empty());
    EXPECT_EQ(events.back(), "[DONE]");
    events.pop_back();
    std::string text;
    for (const std::string& event : events)
      text += choice(parse_json(event, "event")).group("delta")->text_or("content", "");
    EXPECT_EQ(text, expected);
  }
}

TEST(Server, ServesOthersBesideASlowReader) {
  TestServer server(ServerOptions{.engine = {.sequences = 2, .capacity = 4000}});
  Client slow(server.server.port(), 2048);
  slow.send(Client::head("POST", kChat, endless_fields().size() + 2) + "{" + endless_fields() +
            "}");
  EXPECT_TRUE(server.metric_becomes("wick_texts_running", 1));
  for (int i = 0; i < 3; i++)
    EXPECT_EQ(server.post(kChat, chat_fields("a", R"("max_tokens": 50)")).status, 200);
  // Its text ends although nobody reads it.
  EXPECT_TRUE(server.metric_becomes("wick_texts_running", 0));
}

TEST(Server, EndsRequestsThatTakeTooLong) {
  TestServer server(ServerOptions{.engine = {.sequences = 2, .capacity = kEndless},
                                  .max_time = std::chrono::seconds(1)});
  Client streamed(server.server.port());
  streamed.send(Client::head("POST", kChat, endless_fields().size() + 2) + "{" + endless_fields() +
                "}");
  const Answer whole = server.post(kChat, chat_fields("go on", R"("ignore_eos": true)"));
  EXPECT_EQ(whole.status, 503);
  EXPECT_EQ(whole.error().text("code"), "timeout");
  const std::vector<std::string> events = streamed.read_answer().events();
  EXPECT_EQ(parse_json(events.back(), "event").group("error")->text("code"), "timeout");
  EXPECT_TRUE(server.metric_becomes("wick_texts_running", 0));
  EXPECT_EQ(server.metric("wick_texts_cancelled_total"), 2);
}

TEST(Server, FinishesRunningRequestsBeforeItStops) {
  TestServer server;
  const std::string fields = chat_fields(
      "Hi", R"("temperature": 0, "ignore_eos": true, "max_tokens": 300, "stream": true)");
  Client client(server.server.port());
  client.send(Client::head("POST", kChat, fields.size() + 2) + "{" + fields + "}");
  const std::string begin = client.read_until("\"content\":\"");
  EXPECT_TRUE(server.server.stop(milliseconds(20'000)));
  EXPECT_FALSE(Client(server.server.port()).is_connected());
  const std::string rest = client.read_until("[DONE]");
  EXPECT_NE(rest.find("\"finish_reason\":\"length\""), rest.npos);
}

TEST(Server, EndsRequestsWithAnErrorOnceTheTimeIsOver) {
  TestServer server(ServerOptions{.engine = {.capacity = kEndless}});
  Client client(server.server.port());
  client.send(Client::head("POST", kChat, endless_fields().size() + 2) + "{" + endless_fields() +
              "}");
  client.read_until("\"content\":\"");
  EXPECT_FALSE(server.server.stop());
  const std::string rest = client.read_until("shutting down");
  EXPECT_TRUE(rest.ends_with("shutting down")) << rest.substr(rest.size() - 200);
}

TEST(Server, GoesOnIfARequestFailsUnexpectedly) {
  ServerOptions options;
  options.log_prompts = true;
  options.log = [](const std::string& line) {
    if (line.starts_with("prompt ")) throw std::out_of_range("no such line");
  };
  TestServer server(options);
  const Answer answer = server.post(kChat, chat_fields("Hi", R"("max_tokens": 2)"));
  EXPECT_EQ(answer.status, 500);
  EXPECT_EQ(answer.error().text("message"), "internal error: no such line");
  options.log = [](const std::string&) { throw std::out_of_range("no line at all"); };
  TestServer silent(options);
  EXPECT_EQ(silent.ask("GET", "/health").status, 200);
  EXPECT_EQ(silent.ask("GET", "/health").status, 200);
}

TEST(Server, LogsALineForEachRequest) {
  std::mutex mutex;
  std::vector<std::string> lines;
  ServerOptions options;
  options.log = [&](const std::string& line) {
    const std::lock_guard lock(mutex);
    lines.push_back(line);
  };
  for (const bool prompts : {false, true}) {
    lines.clear();
    options.log_prompts = prompts;
    TestServer server(options);
    server.post(kChat, chat_fields("secret words", R"("max_tokens": 2, "ignore_eos": true)"));
    server.ask("GET", "/\x22nothing");
    server.server.stop(milliseconds(5000));
    const std::string all = [&] {
      std::string joined;
      for (const std::string& line : lines) joined += line + "\n";
      return joined;
    }();
    EXPECT_EQ(lines.size(), prompts ? 3u : 2u) << all;
    EXPECT_EQ(all.find("secret words") != all.npos, prompts) << all;
    EXPECT_NE(all.find("POST /v1/chat/completions 200 prompt=28 cached=0 text=2 "), all.npos)
        << all;
    EXPECT_NE(all.find("GET /\\\"nothing 404 "), all.npos) << all;
  }
}

TEST(Server, RefusesOptionsOutsideTheirRange) {
  EXPECT_ERROR(Server(model(), {.port = 65536}), kInvalidArgument, "port: expected 0 to 65535");
  EXPECT_ERROR(Server(model(), {.names = {}}), kInvalidArgument, "names");
  EXPECT_ERROR(Server(model(), {.api_keys = {""}}), kInvalidArgument, "api_keys");
  EXPECT_ERROR(Server(model(), {.max_body_bytes = 0}), kInvalidArgument, "max_body_bytes");
  EXPECT_ERROR(Server(model(), {.engine = {.sequences = 0}}), kInvalidArgument, "sequences");
}

}  // namespace
}  // namespace wick
