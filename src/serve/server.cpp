#include "wick/serve/server.h"

#include <algorithm>
#include <map>
#include <optional>

#include "load/model_folder.h"
#include "serve/model_pool.h"
#include "serve/service.h"
#include "wick/base/error.h"

namespace wick {

using serve::Clock;

struct Server::Parts {
  explicit Parts(const ServerOptions& options)
      : options(options), models(options), service(models, options) {}

  ServerOptions options;
  serve::ModelPool models;
  serve::Service service;
  std::optional<serve::HttpServer> http;  // before the service goes
  int port = 0;
  bool was_started = false;
};

namespace {

void require(bool good, const char* text) {
  check(good, ErrorCode::kInvalidArgument, "serve", text);
}

}  // namespace

ServerModel server_model(const std::string& path, const LoadOptions& options) {
  return {.names = {model_name(path)},
          .load =
              [path, options](const std::function<void(int64_t, int64_t)>& progress) {
                LoadOptions with_progress = options;
                with_progress.progress = [&](int64_t done, int64_t total) {
                  if (options.progress) options.progress(done, total);
                  progress(done, total);
                };
                return load_model(path, with_progress);
              },
          .path = path};
}

std::vector<ServerModel> server_models(const std::string& folder, const LoadOptions& options) {
  std::map<std::string, std::string> paths;
  for (const std::string& path : models_in(folder)) {
    const auto [other, is_new] = paths.insert({model_name(path), path});
    check(is_new, ErrorCode::kInvalidArgument, folder, "two models have the name \"", other->first,
          "\": ", other->second, " and ", path);
  }
  std::vector<ServerModel> models;
  for (const auto& [name, path] : paths) models.push_back(server_model(path, options));
  return models;
}

void Server::check_options(const ServerOptions& options) {
  require(options.port >= 0 && options.port <= 65535, "port: expected 0 to 65535");
  require(options.max_body_bytes > 0, "max_body_bytes: expected at least 1");
  require(options.max_connections > 0, "max_connections: expected at least 1");
  require(options.max_time.count() > 0, "max_time: expected at least a second");
  require(options.max_models > 0, "max_models: expected at least 1");
  require(!options.idle || options.idle->count() > 0, "idle: expected at least a millisecond");
  require(options.model_wait.count() > 0, "model_wait: expected at least a millisecond");
  require(std::count(options.api_keys.begin(), options.api_keys.end(), "") == 0,
          "api_keys: expected keys that are not empty");
}

Server::Server(const LanguageModel& model, const ServerOptions& options) {
  check_options(options);
  parts_ = std::make_unique<Parts>(options);
  parts_->models.add(options.names, model);
}

Server::Server(std::vector<ServerModel> models, const ServerOptions& options) {
  check_options(options);
  require(!models.empty(), "models: expected at least one");
  parts_ = std::make_unique<Parts>(options);
  for (ServerModel& model : models) parts_->models.add(std::move(model));
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
  parts_->models.start();
  parts_->was_started = true;
}

bool Server::wait_until_ready(std::chrono::milliseconds time) {
  return parts_->models.wait_until_ready(Clock::now() + time);
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
