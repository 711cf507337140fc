#include "serve/http_server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <iterator>
#include <thread>

#include "client.h"

namespace wick::serve {
namespace {

using std::chrono::milliseconds;
using test::Answer;
using test::Client;

/// Answers by the path.
class TestHandler : public HttpHandler {
 public:
  void admit(HttpExchange& exchange) override {
    if (exchange.request.path == "/refused") throw RequestError(403, "refused");
  }
  void handle(HttpExchange& exchange) override {
    const HttpRequest& request = exchange.request;
    if (request.path == "/error") throw RequestError(400, "bad");
    if (request.path == "/parts") {
      exchange.begin(200, "text/plain");
      exchange.write("a");
      exchange.write("");
      exchange.write(std::string(70'000, 'b'));
      return exchange.end();
    }
    if (request.path == "/wait") {  // until the client goes away
      waiting++;
      try {
        for (;;) {
          exchange.check_client();
          std::this_thread::sleep_for(milliseconds(1));
        }
      } catch (const ClientGone&) {
        gone++;
        throw;
      }
    }
    if (request.path == "/endless") {
      exchange.begin(200, "text/plain");
      try {
        for (;;) exchange.write(std::string(10'000, 'x'));
      } catch (const ClientGone&) {
        gone++;
        throw;
      }
    }
    if (request.path == "/slow") std::this_thread::sleep_for(milliseconds(200));
    exchange.respond(200, "text/plain", request.method + " " + request.body);
  }
  void refuse(HttpExchange& exchange, const RequestError& error) override {
    exchange.respond(error.status, "text/plain", error.what());
  }

  std::atomic<int> waiting = 0, gone = 0;
};

/// Waits for the condition for at most ten seconds.
template <class F>
bool becomes_true(const F& f) {
  for (int i = 0; i < 10'000; i++) {
    if (f()) return true;
    std::this_thread::sleep_for(milliseconds(1));
  }
  return false;
}

struct TestServer {
  explicit TestServer(HttpOptions options = {}) : server(with_any_port(options), handler) {}
  static HttpOptions with_any_port(HttpOptions options) {
    options.port = 0;
    return options;
  }
  int port() const { return server.port(); }

  TestHandler handler;
  HttpServer server;
};

TEST(HttpServer, AnswersSeveralRequestsOfAConnection) {
  TestServer server;
  Client client(server.port());
  const Answer first = client.ask("POST", "/", "one");
  EXPECT_EQ(first.status, 200);
  EXPECT_EQ(first.body, "POST one");
  EXPECT_EQ(first.headers.at("content-type"), "text/plain");
  EXPECT_EQ(first.headers.count("connection"), 0u);
  EXPECT_EQ(client.ask("GET", "/").body, "GET ");
  const Answer head = client.ask("HEAD", "/");
  EXPECT_EQ(head.headers.at("content-length"), "5");
  EXPECT_EQ(client.ask("GET", "/error").status, 400);
  EXPECT_EQ(client.ask("POST", "/", "two").body, "POST two");
  // Two at once: the second waits for its turn.
  client.send(Client::head("POST", "/", 1) + "a" + Client::head("POST", "/", 1) + "b");
  EXPECT_EQ(client.read_answer().body, "POST a");
  EXPECT_EQ(client.read_answer().body, "POST b");
  EXPECT_EQ(client.ask("GET", "/", "", "Connection: close\r\n").headers.at("connection"), "close");
  EXPECT_TRUE(client.is_at_end());
}

TEST(HttpServer, ClosesTheSocketOfAConnectionThatHasEnded) {
  const auto open_files = [] {
    const std::filesystem::directory_iterator files("/proc/self/fd");
    return std::distance(begin(files), end(files));
  };
  TestServer server;
  const auto before = open_files();
  for (int i = 0; i < 3; i++) {
    Client client(server.port());
    EXPECT_EQ(client.ask("GET", "/", "", "Connection: close\r\n").status, 200);
  }
  EXPECT_TRUE(becomes_true([&] { return open_files() == before; })) << open_files();
}

TEST(HttpServer, SendsPartsAsChunks) {
  TestServer server;
  Client client(server.port());
  for (int i = 0; i < 2; i++) {
    const Answer answer = client.ask("GET", "/parts");
    EXPECT_EQ(answer.headers.at("transfer-encoding"), "chunked");
    EXPECT_EQ(answer.body, "a" + std::string(70'000, 'b'));
  }
  client.send("GET /parts HTTP/1.0\r\n\r\n");
  const Answer old = client.read_answer();
  EXPECT_EQ(old.headers.count("transfer-encoding"), 0u);
  EXPECT_EQ(old.body.size(), 70'001u);
}

TEST(HttpServer, TakesBodiesInChunks) {
  TestServer server;
  Client client(server.port());
  client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab");
  std::this_thread::sleep_for(milliseconds(20));
  client.send("c\r\n1\r\nd\r\n0\r\n\r\n");
  EXPECT_EQ(client.read_answer().body, "POST abcd");
  EXPECT_EQ(client.ask("GET", "/").status, 200);
}

TEST(HttpServer, AsksForABodyThatAwaitsIt) {
  TestServer server;
  Client client(server.port());
  client.send(Client::head("POST", "/", 3, "Expect: 100-continue\r\n"));
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("abc");
  EXPECT_EQ(client.read_answer().body, "POST abc");
  client.send(Client::head("POST", "/refused", 3, "Expect: 100-continue\r\n"));
  EXPECT_EQ(client.read_answer().status, 403);
  EXPECT_EQ(test::ask(server.port(), "POST", "/", "a", "Expect: wonders\r\n").status, 417);
}

TEST(HttpServer, RefusesLongHeadsAndBodiesBeforeTheyArrive) {
  HttpOptions options;
  options.max_head_bytes = 1000;
  options.max_body_bytes = 100;
  TestServer server(options);
  EXPECT_EQ(test::ask(server.port(), "POST", "/", std::string(100, 'a')).status, 200);
  const Answer body = test::ask(server.port(), "POST", "/", std::string(101, 'a'));
  EXPECT_EQ(body.status, 413);
  EXPECT_EQ(body.headers.at("connection"), "close");
  Client endless(server.port());
  endless.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n");
  EXPECT_EQ(endless.read_answer().status, 413);
  Client chunked(server.port());
  chunked.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" +
               std::string("65\r\n"));
  EXPECT_EQ(chunked.read_answer().status, 413);
  EXPECT_EQ(test::ask(server.port(), "GET", "/", "", "X: " + std::string(900, 'a') + "\r\n").status,
            200);
  EXPECT_EQ(
      test::ask(server.port(), "GET", "/", "", "X: " + std::string(1000, 'a') + "\r\n").status,
      431);
  Client line(server.port());  // that does not end
  line.send(std::string(100'000, 'a'));
  EXPECT_EQ(line.read_answer().status, 431);
}

TEST(HttpServer, RefusesBrokenRequests) {
  TestServer server;
  Client client(server.port());
  client.send("hello\r\n\r\n");
  EXPECT_EQ(client.read_answer().status, 400);
  EXPECT_TRUE(client.is_at_end());
  EXPECT_EQ(test::ask(server.port(), "POST", "/refused", "body").status, 403);
  EXPECT_EQ(test::ask(server.port(), "GET", "/").status, 200);
}

TEST(HttpServer, EndsSlowRequests) {
  HttpOptions options;
  options.head = options.body = milliseconds(50);
  TestServer server(options);
  Client head(server.port());
  head.send("GET / HTTP/1.1\r\n");
  EXPECT_EQ(head.read_answer().status, 408);
  Client body(server.port());
  body.send(Client::head("POST", "/", 3) + "a");
  EXPECT_EQ(body.read_answer().status, 408);
}

TEST(HttpServer, EndsIdleConnections) {
  HttpOptions options;
  options.idle = milliseconds(50);
  TestServer server(options);
  Client client(server.port());
  EXPECT_EQ(client.ask("GET", "/").status, 200);
  EXPECT_TRUE(client.is_at_end());
}

TEST(HttpServer, NoticesThatAClientGoesAway) {
  TestServer server;
  {
    Client client(server.port());
    client.send(Client::head("GET", "/wait", 0));
    EXPECT_TRUE(becomes_true([&] { return server.handler.waiting == 1; }));
    EXPECT_EQ(server.handler.gone, 0);
  }
  EXPECT_TRUE(becomes_true([&] { return server.handler.gone == 1; }));
  {
    Client client(server.port());
    client.send(Client::head("GET", "/endless", 0));
    client.read_until("xxx");
  }
  EXPECT_TRUE(becomes_true([&] { return server.handler.gone == 2; }));
}

TEST(HttpServer, EndsWithAClientThatDoesNotRead) {
  HttpOptions options;
  options.patience = milliseconds(50);
  TestServer server(options);
  Client slow(server.port(), 4096);
  slow.send(Client::head("GET", "/endless", 0));
  EXPECT_EQ(test::ask(server.port(), "GET", "/").status, 200);  // others do not wait
  EXPECT_TRUE(becomes_true([&] { return server.handler.gone == 1; }));
}

TEST(HttpServer, TakesManyConnectionsAtOnce) {
  TestServer server;
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 256; i++) {
    clients.push_back(std::make_unique<Client>(server.port()));
    clients.back()->send(Client::head("GET", "/wait", 0));
  }
  EXPECT_TRUE(becomes_true([&] { return server.handler.waiting == 256; }));
  clients.clear();
  EXPECT_TRUE(becomes_true([&] { return server.handler.gone == 256; }));
}

TEST(HttpServer, MakesRoomByEndingIdleConnections) {
  HttpOptions options;
  options.max_connections = 2;
  TestServer server(options);
  Client first(server.port()), second(server.port());
  // A connection is idle shortly after its client has the answer.
  for (Client* client : {&first, &second}) {
    EXPECT_EQ(client->ask("GET", "/").status, 200);
    std::this_thread::sleep_for(milliseconds(50));
  }
  Client third(server.port());
  EXPECT_EQ(third.ask("GET", "/").status, 200);
  EXPECT_TRUE(first.is_at_end());
  EXPECT_EQ(second.ask("GET", "/").status, 200);
}

TEST(HttpServer, RefusesConnectionsBeyondTheLimit) {
  HttpOptions options;
  options.max_connections = 1;
  TestServer server(options);
  Client busy(server.port());
  busy.send(Client::head("GET", "/wait", 0));
  EXPECT_TRUE(becomes_true([&] { return server.handler.waiting == 1; }));
  EXPECT_EQ(test::ask(server.port(), "GET", "/").status, 503);
  busy.close();
  EXPECT_TRUE(becomes_true([&] { return test::ask(server.port(), "GET", "/").status == 200; }));
}

TEST(HttpServer, ClosesWithoutCuttingRequests) {
  TestServer server;
  Client idle(server.port()), slow(server.port());
  EXPECT_EQ(idle.ask("GET", "/").status, 200);
  slow.send(Client::head("POST", "/slow", 1) + "a");
  EXPECT_TRUE(becomes_true([&] { return server.server.connections() == 2; }));
  std::this_thread::sleep_for(milliseconds(50));
  server.server.close();
  EXPECT_TRUE(idle.is_at_end());
  EXPECT_FALSE(Client(server.port()).is_connected());
  const Answer answer = slow.read_answer();
  EXPECT_EQ(answer.body, "POST a");
  EXPECT_TRUE(slow.is_at_end());
  EXPECT_TRUE(server.server.wait_until(Clock::now() + milliseconds(5000)));
}

TEST(HttpServer, StopsWaitingForRequestsThatDoNotEnd) {
  TestServer server;
  Client client(server.port());
  client.send(Client::head("GET", "/wait", 0));
  EXPECT_TRUE(becomes_true([&] { return server.handler.waiting == 1; }));
  server.server.close();
  EXPECT_FALSE(server.server.wait_until(Clock::now() + milliseconds(20)));
}

TEST(HttpServer, NamesAPortThatIsTaken) {
  TestServer server;
  TestHandler handler;
  HttpOptions options;
  options.port = server.port();
  try {
    const HttpServer second(options, handler);
    ADD_FAILURE() << "two servers at one port";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kIo);
    EXPECT_NE(std::string(error.what()).find("127.0.0.1:" + std::to_string(server.port())),
              std::string::npos)
        << error.what();
  }
  options.host = "no.such.host.invalid";
  EXPECT_THROW(HttpServer(options, handler), Error);
}

}  // namespace
}  // namespace wick::serve
