#include "serve/access.h"

#include <gtest/gtest.h>

#include <sys/socket.h>

namespace wick::serve {
namespace {

/// The status with which a request of these headers is refused, 0 if it is not; its answer's headers.
struct Outcome {
  int status = 0;
  std::string cors;
};

Outcome outcome(const ServerOptions& options, const std::string& headers) {
  int ends[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  Socket server(ends[0]);
  const Socket client(ends[1]);
  HttpExchange exchange(server, std::chrono::milliseconds(1));
  exchange.request = parse_head("GET / HTTP/1.1\r\n" + headers + "\r\n");
  Outcome result;
  try {
    const Access access(options);
    access.check_site(exchange);
    access.check_key(exchange.request);
  } catch (const RequestError& error) {
    result.status = error.status;
  }
  for (const HttpHeader& header : exchange.headers)
    if (header.name == "Access-Control-Allow-Origin") result.cors = header.value;
  return result;
}

int status(const ServerOptions& options, const std::string& headers) {
  return outcome(options, headers).status;
}

TEST(Access, TakesLocalNamesAndAddresses) {
  const ServerOptions local{.allowed_hosts = {"Wick.Example"}};
  for (const char* host : {"localhost", "localhost:8080", "LOCALHOST", "127.0.0.1:1", "[::1]:8080",
                           "192.0.2.5:8080", "wick.example", "wick.example:80"})
    EXPECT_EQ(status(local, "Host: " + std::string(host) + "\r\n"), 0) << host;
  // A page's own name, which its name server has pointed to this machine.
  for (const char* host : {"evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "",
                           "[::1", "[evil]:80", "999.1.1.1"})
    EXPECT_EQ(status(local, "Host: " + std::string(host) + "\r\n"), 403) << host;
  EXPECT_EQ(status({.host = "gpu-box"}, "Host: gpu-box:8080\r\n"), 0);
  EXPECT_EQ(status({.allowed_hosts = {"*"}}, "Host: any.example\r\n"), 0);
}

TEST(Access, TakesPagesOfItsOwnAndOfAllowedOrigins) {
  const ServerOptions some{.cors_origins = {"https://chat.example"}};
  const std::string host = "Host: localhost:8080\r\n";
  EXPECT_EQ(outcome({}, host).cors, "");
  EXPECT_EQ(status({}, host + "Origin: http://localhost:8080\r\n"), 0);
  for (const char* origin : {"https://evil.example", "http://localhost:9090", "null"})
    EXPECT_EQ(status({}, host + "Origin: " + origin + "\r\n"), 403) << origin;
  const Outcome allowed = outcome(some, host + "Origin: https://chat.example\r\n");
  EXPECT_EQ(allowed.status, 0);
  EXPECT_EQ(allowed.cors, "https://chat.example");
  EXPECT_EQ(status(some, host + "Origin: https://evil.example\r\n"), 403);
  EXPECT_EQ(outcome({.cors_origins = {"*"}}, host + "Origin: https://a.example\r\n").cors, "*");
}

TEST(Access, ComparesKeys) {
  const ServerOptions keys{.api_keys = {"first", "second key"}};
  const std::string head = "Host: localhost\r\nAuthorization: ";
  EXPECT_EQ(status({}, "Host: localhost\r\n"), 0);
  EXPECT_EQ(status(keys, "Host: localhost\r\n"), 401);
  for (const char* good : {"Bearer first", "bearer first", "Bearer second key"})
    EXPECT_EQ(status(keys, head + good + "\r\n"), 0) << good;
  for (const char* bad : {"Bearer", "Bearer ", "Bearer firs", "Bearer firstfirst", "Bearer FIRST",
                          "Basic first", "first", "Bearer first second key"})
    EXPECT_EQ(status(keys, head + bad + "\r\n"), 401) << bad;
  EXPECT_FALSE(is_one_of("", {""}));
  EXPECT_FALSE(is_one_of("", {"a"}));
}

}  // namespace
}  // namespace wick::serve
