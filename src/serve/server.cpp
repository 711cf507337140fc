#include "wick/serve/server.h"

#include <algorithm>
#include <optional>

#include "serve/service.h"
#include "wick/base/error.h"

namespace wick {

using serve::Clock;

struct Server::Parts {
  Parts(const LanguageModel& model, const ServerOptions& options)
      : options(options), service(model, options) {}

  ServerOptions options;
  serve::Service service;
  std::optional<serve::HttpServer> http;  // before the service goes
  int port = 0;
  bool was_started = false;
};

Server::Server(const LanguageModel& model, const ServerOptions& options) {
  const auto require = [](bool good, const char* text) {
    check(good, ErrorCode::kInvalidArgument, "serve", text);
  };
  require(options.port >= 0 && options.port <= 65535, "port: expected 0 to 65535");
  require(options.max_body_bytes > 0, "max_body_bytes: expected at least 1");
  require(options.max_connections > 0, "max_connections: expected at least 1");
  require(options.max_time.count() > 0, "max_time: expected at least a second");
  require(!options.names.empty(), "names: expected a name of the model");
  require(std::count(options.api_keys.begin(), options.api_keys.end(), "") == 0,
          "api_keys: expected keys that are not empty");
  parts_ = std::make_unique<Parts>(model, options);
}

Server::~Server() { stop(); }

void Server::start() {
  check(!parts_->was_started, ErrorCode::kInvalidArgument, "serve",
        "the server was started before");
  serve::HttpOptions http;
  http.host = parts_->options.host;
  http.port = parts_->options.port;
  http.max_body_bytes = parts_->options.max_body_bytes;
  http.max_connections = parts_->options.max_connections;
  parts_->http.emplace(http, parts_->service);
  parts_->port = parts_->http->port();
  parts_->was_started = true;
}

int Server::port() const { return parts_->port; }

std::string Server::url() const {
  const std::string& host = parts_->options.host;
  const bool is_v6 = host.find(':') != host.npos;
  return "http://" + (is_v6 ? "[" + host + "]" : host) + ":" + std::to_string(port());
}

bool Server::stop(std::chrono::milliseconds time) {
  if (!parts_->http) return true;
  parts_->http->close();
  bool ended = parts_->http->wait_until(Clock::now() + time);
  if (!ended) {
    parts_->service.end_texts();
    constexpr std::chrono::seconds kLastEvents(1);
    parts_->http->wait_until(Clock::now() + kLastEvents);
  }
  parts_->http.reset();
  return ended;
}

}  // namespace wick
