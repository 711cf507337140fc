// A server of several models, loaded for requests and unloaded.
#include <atomic>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "../expect.h"
#include "../temporary_folder.h"
#include "byte_model.h"
#include "client.h"
#include "wick/serve/server.h"

namespace wick {
namespace {

using std::chrono::milliseconds;
using test::Answer;
using test::Client;

constexpr const char* kChat = "/v1/chat/completions";

bool becomes(const std::function<bool()>& condition) {
  for (int i = 0; i < 2000; i++) {
    if (condition()) return true;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return false;
}

/// A model, and the way it loads.
struct Source {
  explicit Source(std::string name) : name(std::move(name)) {}

  const std::string name;
  std::atomic<int> loads = 0;         // that have begun
  std::atomic<bool> is_held = false;  // a load goes on until it is not
  std::function<void()> before = [] {};
  std::weak_ptr<const CausalModel> model;  // of the last load

  ServerModel entry(bool at_start = false) {
    return {.names = {name, name + "-alias"},
            .load =
                [this](const auto& progress) {
                  loads++;
                  while (is_held) {
                    progress(1, 2);
                    std::this_thread::sleep_for(milliseconds(1));
                  }
                  before();
                  const LanguageModel loaded = test::byte_model(4000);
                  model = loaded.model;
                  return loaded;
                },
            .path = "/srv/models/" + name + ".gguf",
            .at_start = at_start};
  }
};

struct Models {
  Source a{"a"}, b{"b"}, c{"c"};
};

struct TestServer {
  TestServer(std::vector<ServerModel> models, ServerOptions options = {})
      : server(std::move(models), prepared(options)) {
    server.start();
  }
  static ServerOptions prepared(ServerOptions options) {
    options.port = 0;
    return options;
  }
  Answer ask(const std::string& method, const std::string& path, const std::string& body = "") {
    return test::ask(server.port(), method, path, body);
  }
  static std::string fields(const std::string& model, const std::string& more) {
    return R"({"messages": [{"role": "user", "content": "Hi"}], "ignore_eos": true, "model": ")" +
           model + "\", " + more + "}";
  }
  Answer chat(const std::string& model) {
    return ask("POST", kChat, fields(model, R"("max_tokens": 2)"));
  }
  /// Sends a chat that goes on until its client goes away.
  void send_endless(Client& client, const std::string& model) {
    const std::string body = fields(model, R"("stream": true)");
    client.send(Client::head("POST", kChat, body.size()) + body);
  }
  /// A chat that is over for the server too: it uses its model no longer.
  void finish_chat(const std::string& model) {
    EXPECT_EQ(chat(model).status, 200);
    const std::string row = R"(wick_requests_total{path="/v1/chat/completions",status="200"} )" +
                            std::to_string(++finished);
    EXPECT_TRUE(becomes([&] { return has_metric(row); })) << row;
  }
  std::string state(const std::string& model) {
    return ask("GET", "/v1/models/" + model).json().group("status")->text("value");
  }
  bool has_metric(const std::string& row) {
    return ask("GET", "/metrics").body.find("\n" + row + "\n") != std::string::npos;
  }

  Server server;
  int finished = 0;
};

TEST(Models, AreLoadedAtTheFirstRequestThatNamesThem) {
  Models m;
  TestServer server({m.a.entry(), m.b.entry()}, {.max_models = 2});
  EXPECT_EQ(server.ask("GET", "/health").status, 200);
  EXPECT_EQ(server.state("a"), "unloaded");
  EXPECT_EQ(m.a.loads + m.b.loads, 0);
  const Answer answer = server.chat("b-alias");
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.json().text("model"), "b");
  EXPECT_EQ(server.state("b"), "loaded");
  EXPECT_EQ(server.state("a"), "unloaded");
  const Settings models = server.ask("GET", "/v1/models").json();
  const auto& list = std::get<Setting::List>(models.find("data")->value);
  ASSERT_EQ(list.size(), 4u);
  EXPECT_EQ(std::get<Settings>(list[1].value).text("id"), "a-alias");
  EXPECT_EQ(std::get<Settings>(list[2].value).integer("max_model_len"), 4000);
  EXPECT_EQ(std::get<Settings>(list[0].value).find("max_model_len"), nullptr);
  // Without a name, a request means the first model.
  const Answer first = server.ask("POST", "/v1/completions", R"({"prompt": "a"})");
  EXPECT_EQ(first.json().text("model"), "a");
  EXPECT_EQ(m.a.loads + m.b.loads, 2);
  EXPECT_EQ(server.chat("d").error().text("code"), "model_not_found");
  EXPECT_TRUE(server.has_metric("wick_models_loaded 2"));
}

TEST(Models, MakeRoomInTheOrderOfTheirUse) {
  Models m;
  TestServer server({m.a.entry(), m.b.entry(), m.c.entry()}, {.max_models = 2});
  for (const char* name : {"a", "b", "a", "c"}) server.finish_chat(name);
  EXPECT_EQ(server.state("a"), "loaded");
  EXPECT_EQ(server.state("b"), "unloaded");
  EXPECT_EQ(server.state("c"), "loaded");
  EXPECT_TRUE(m.b.model.expired());
  EXPECT_FALSE(m.a.model.expired());
  server.finish_chat("b");
  EXPECT_EQ(server.state("a"), "unloaded");
  EXPECT_EQ(m.b.loads, 2);
  // The texts of unloaded models count.
  EXPECT_TRUE(server.has_metric("wick_generated_tokens_total 10"))
      << server.ask("GET", "/metrics").body;
}

TEST(Models, AreLoadedOnceForSeveralRequests) {
  Models m;
  m.a.is_held = true;
  TestServer server({m.a.entry()});
  std::vector<std::thread> threads;
  std::atomic<int> answered = 0;
  for (int i = 0; i < 4; i++)
    threads.emplace_back([&] { answered += server.chat("a").status == 200; });
  EXPECT_TRUE(becomes([&] { return m.a.loads == 1; }));
  std::this_thread::sleep_for(milliseconds(300));  // so that all wait
  EXPECT_EQ(answered, 0);
  m.a.is_held = false;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(answered, 4);
  EXPECT_EQ(m.a.loads, 1);
}

TEST(Models, WaitUntilOthersHaveEnded) {
  Models m;
  TestServer server({m.a.entry(), m.b.entry()}, {.model_wait = milliseconds(1000)});
  Client client(server.server.port());
  server.send_endless(client, "a");
  client.read_until("\"content\":\"");
  const Answer late = server.chat("b");
  EXPECT_EQ(late.status, 503);
  EXPECT_EQ(late.headers.at("retry-after"), "5");
  EXPECT_EQ(late.error().text("code"), "model_not_ready");
  EXPECT_EQ(m.b.loads, 0);
  std::thread later([&] {
    std::this_thread::sleep_for(milliseconds(100));
    client.close();
  });
  EXPECT_EQ(server.chat("b").status, 200);
  later.join();
  EXPECT_EQ(server.state("a"), "unloaded");
  EXPECT_TRUE(becomes([&] { return server.has_metric("wick_texts_running 0"); }));
  EXPECT_TRUE(server.has_metric("wick_texts_cancelled_total 1"));
}

TEST(Models, ThatAlwaysHaveRequestsGiveWay) {
  Models m;
  TestServer server({m.a.entry(), m.b.entry()}, {.model_wait = milliseconds(20'000)});
  server.finish_chat("a");
  std::atomic<bool> ends = false;
  std::atomic<int> answered = 0, refused = 0;
  std::vector<std::thread> clients;
  for (int i = 0; i < 4; i++)
    clients.emplace_back([&] {
      while (!ends) {
        const Answer answer =
            server.ask("POST", kChat, TestServer::fields("a", R"("max_tokens": 200)"));
        answered += answer.status == 200;
        refused += answer.status != 200;
      }
    });
  EXPECT_TRUE(becomes([&] { return answered > 4; }));
  for (int i = 0; i < 2; i++) {
    EXPECT_EQ(server.chat("b").status, 200);
    const int before = answered;
    EXPECT_TRUE(becomes([&] { return answered > before + 4; }));  // "a" has its turn again
  }
  ends = true;
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(refused, 0);
  EXPECT_EQ(m.b.loads, 2);
}

TEST(Models, AnswerWhileAnotherOneLoads) {
  Models m;
  m.b.is_held = true;
  TestServer server({m.a.entry(), m.b.entry()}, {.max_models = 2});
  EXPECT_EQ(server.chat("a").status, 200);
  std::thread waits([&] { EXPECT_EQ(server.chat("b").status, 200); });
  EXPECT_TRUE(becomes([&] { return server.state("b") == "loading"; }));
  EXPECT_EQ(server.chat("a").status, 200);
  EXPECT_EQ(server.state("b"), "loading");
  m.b.is_held = false;
  waits.join();
}

TEST(Models, ThatDoNotLoadAreErrorsOfTheirRequests) {
  Models m;
  std::mutex mutex;
  std::string log;
  m.b.before = [] {
    fail(ErrorCode::kFormat, "gguf", "/srv/models/b.gguf: no magic; /srv/models/");
  };
  TestServer server({m.a.entry(), m.b.entry()}, {.log = [&](const std::string& line) {
                      const std::lock_guard lock(mutex);
                      log += line + "\n";
                    }});
  EXPECT_EQ(server.chat("a").status, 200);
  for (int i = 0; i < 2; i++) {
    const Answer answer = server.chat("b");
    EXPECT_EQ(answer.status, 500);
    EXPECT_EQ(answer.error().text("code"), "model_not_loaded");
    EXPECT_EQ(answer.error().text("message"),
              "the model 'b' could not be loaded: gguf: b: no magic; ");
  }
  EXPECT_EQ(m.b.loads, 2);
  EXPECT_EQ(server.state("b"), "unloaded");
  m.b.before = [] {};
  EXPECT_EQ(server.chat("b").status, 200);
  EXPECT_EQ(server.chat("a").status, 200);
  const std::lock_guard lock(mutex);
  EXPECT_NE(log.find("could not load b: gguf: /srv/models/b.gguf: no magic"), log.npos) << log;
  EXPECT_NE(log.find("loaded b in "), log.npos) << log;
  EXPECT_NE(log.find("unloaded b to make room"), log.npos) << log;
}

TEST(Models, AreNotHeldByAClientThatWentAway) {
  Models m;
  m.a.is_held = true;
  TestServer server({m.a.entry(), m.b.entry()});
  {
    Client client(server.server.port());
    server.send_endless(client, "a");
    EXPECT_TRUE(becomes([&] { return server.state("a") == "loading"; }));
  }
  EXPECT_TRUE(becomes([&] {
    return server.has_metric(R"(wick_requests_total{path="/v1/chat/completions",status="499"} 1)");
  }));
  m.a.is_held = false;
  EXPECT_TRUE(becomes([&] { return server.state("a") == "loaded"; }));
  EXPECT_EQ(server.chat("b").status, 200);
  EXPECT_EQ(server.state("a"), "unloaded");
}

TEST(Models, AreNotLoadedForAClientThatWentAway) {
  Models m;
  TestServer server({m.a.entry(), m.b.entry(), m.c.entry()});
  Client running(server.server.port());
  server.send_endless(running, "a");
  running.read_until("\"content\":\"");
  {
    Client client(server.server.port());
    server.send_endless(client, "b");
    std::this_thread::sleep_for(milliseconds(50));
  }
  EXPECT_TRUE(becomes([&] {
    return server.has_metric(R"(wick_requests_total{path="/v1/chat/completions",status="499"} 1)");
  }));
  running.close();
  EXPECT_EQ(server.chat("c").status, 200);
  EXPECT_EQ(m.b.loads, 0);
}

TEST(Models, AreUnloadedAfterATimeWithoutRequests) {
  Models m;
  TestServer server({m.a.entry()}, {.idle = milliseconds(200)});
  Client client(server.server.port());
  server.send_endless(client, "a");
  client.read_until("\"content\":\"");
  std::this_thread::sleep_for(milliseconds(500));
  EXPECT_EQ(server.state("a"), "loaded");
  client.close();
  EXPECT_TRUE(becomes([&] { return server.state("a") == "unloaded"; }));
  EXPECT_TRUE(becomes([&] { return m.a.model.expired(); }));
  EXPECT_EQ(server.chat("a").status, 200);
  EXPECT_EQ(m.a.loads, 2);
}

TEST(Models, MakeRoomIfTheMemoryDoesNotHoldBoth) {
  Models m;
  m.b.before = [&] {
    if (!m.a.model.expired()) fail(ErrorCode::kOutOfMemory, "load", "5 GB are missing");
  };
  TestServer server({m.a.entry(), m.b.entry()}, {.max_models = 2});
  server.finish_chat("a");
  EXPECT_EQ(server.chat("b").status, 200);
  EXPECT_EQ(m.b.loads, 2);
  EXPECT_EQ(server.state("a"), "unloaded");
  // Without another model to unload, the request gets the error.
  m.c.before = [] { fail(ErrorCode::kOutOfMemory, "load", "5 GB are missing"); };
  TestServer other({m.c.entry()});
  EXPECT_EQ(other.chat("c").status, 503);
  EXPECT_EQ(m.c.loads, 1);
}

TEST(Models, AreLoadedAndUnloadedIfTheLogFails) {
  Models m;
  const auto log = [](const std::string& line) {
    if (line.find("loaded ") != line.npos) throw std::runtime_error("the disk is full");
  };
  TestServer server({m.a.entry(), m.b.entry()}, {.log = log});
  server.finish_chat("a");
  EXPECT_EQ(server.chat("b").status, 200);
  EXPECT_EQ(server.state("a"), "unloaded");
}

TEST(Models, OfTheStartAreLoadedWithoutARequest) {
  Models m;
  m.b.is_held = true;
  TestServer server({m.a.entry(), m.b.entry(true)}, {.max_models = 2});
  EXPECT_EQ(server.ask("GET", "/health").status, 503);
  EXPECT_EQ(server.ask("GET", "/health").json().text("status"), "loading");
  EXPECT_FALSE(server.server.wait_until_ready(milliseconds(20)));
  std::thread waits([&] { EXPECT_EQ(server.chat("b").status, 200); });
  m.b.is_held = false;
  EXPECT_TRUE(server.server.wait_until_ready(milliseconds(20'000)));
  EXPECT_EQ(server.ask("GET", "/health").json().text("status"), "ok");
  EXPECT_EQ(server.state("a"), "unloaded");
  waits.join();
  EXPECT_EQ(m.b.loads, 1);
}

TEST(Models, OfTheStartReportTheirErrors) {
  Models m;
  m.a.before = [] { fail(ErrorCode::kFormat, "gguf", "/srv/models/a.gguf: no magic"); };
  TestServer server({m.a.entry(true)});
  EXPECT_ERROR(server.server.wait_until_ready(milliseconds(20'000)), kFormat,
               "gguf: /srv/models/a.gguf: no magic");
  const Answer health = server.ask("GET", "/health");
  EXPECT_EQ(health.status, 503);
  EXPECT_EQ(health.json().text("status"), "failed");
}

TEST(Models, AreNotLoadedIfThePortIsTaken) {
  Models m;
  TestServer first({m.a.entry()});
  ServerOptions options;
  options.port = first.server.port();
  Server second({m.b.entry(true)}, options);
  EXPECT_ERROR(second.start(), kIo, "in use");
  EXPECT_EQ(m.b.loads, 0);
}

TEST(Models, ThatLoadEndWithTheServer) {
  Models m;
  m.a.is_held = true;  // for ever
  TestServer server({m.a.entry()});
  std::thread waits([&] { EXPECT_EQ(server.chat("a").status, 503); });
  EXPECT_TRUE(becomes([&] { return m.a.loads == 1; }));
  EXPECT_FALSE(server.server.stop());
  waits.join();
}

TEST(Models, OfAFolderAreItsFilesAndFolders) {
  const test::TemporaryFolder folder;
  for (const char* name :
       {"b.gguf", "c-00001-of-00002.gguf", "c-00002-of-00002.gguf", "text.txt", ".hidden.gguf"})
    folder.write(name, "");
  std::filesystem::create_directories(folder.path() + "/a.5/deeper");
  std::filesystem::create_directories(folder.path() + "/empty");
  folder.write("a.5/config.json", "{}");
  folder.write("a.5/deeper/config.json", "{}");
  std::vector<std::string> names;
  for (const ServerModel& model : server_models(folder.path())) {
    names.insert(names.end(), model.names.begin(), model.names.end());
    EXPECT_ERROR(model.load([](int64_t, int64_t) {}), kFormat, model.path);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"a.5", "b", "c-00001-of-00002"}));
  std::filesystem::create_directories(folder.path() + "/b");
  folder.write("b/config.json", "{}");
  EXPECT_ERROR(server_models(folder.path()), kInvalidArgument, "two models have the name \"b\"");
  EXPECT_ERROR(server_models(folder.path() + "/nothing"), kIo, "nothing");
}

TEST(Models, RefuseOptionsOutsideTheirRange) {
  Models m;
  using List = std::vector<ServerModel>;
  EXPECT_ERROR(Server(List{}), kInvalidArgument, "models: expected at least one");
  EXPECT_ERROR(Server(List{m.a.entry(), m.a.entry()}), kInvalidArgument, "the name \"a\"");
  EXPECT_ERROR(Server(List{ServerModel{.names = {"a"}, .load = {}}}), kInvalidArgument, "load");
  EXPECT_ERROR(Server(List{m.a.entry()}, {.max_models = 0}), kInvalidArgument, "max_models");
  EXPECT_ERROR(Server(List{m.a.entry()}, {.idle = milliseconds(0)}), kInvalidArgument, "idle");
  EXPECT_ERROR(Server(List{m.a.entry()}, {.model_wait = milliseconds(0)}), kInvalidArgument,
               "model_wait");
}

}  // namespace
}  // namespace wick
