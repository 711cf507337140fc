// The router of a server: routes, access, errors, log, metrics.
#pragma once
#include <atomic>
#include <ctime>
#include <string>
#include <vector>

#include "serve/access.h"
#include "serve/http_server.h"
#include "serve/metrics.h"
#include "serve/model_pool.h"
#include "serve/model_routes.h"
#include "wick/serve/server.h"

namespace wick::serve {

class Service : public HttpHandler {
 public:
  Service(ModelPool& models, const ServerOptions& options)
      : options_(options), access_(options), models_(models) {}

  void admit(HttpExchange& exchange) override;
  void handle(HttpExchange& exchange) override;
  void refuse(HttpExchange& exchange, const RequestError& error) override;

  /// Ends the texts that are generated, with an error.
  void end_texts() { ends_texts_ = true; }

 private:
  struct Route {
    std::string_view method, path;
    void (Service::*get)(HttpExchange& exchange) = nullptr;
    void (*post)(const ModelCall& call) = nullptr;  // by the model that the body names
    bool needs_key = true;
  };
  static const std::vector<Route>& routes();
  static const Route* find_route(std::string_view method, std::string_view path);

  void get_page(HttpExchange& exchange);
  void get_health(HttpExchange& exchange);
  void get_metrics(HttpExchange& exchange);
  void get_models(HttpExchange& exchange);
  void get_model(HttpExchange& exchange);
  void ask_model(const Route& route, HttpExchange& exchange, Usage& usage);

  Settings model_object(const ModelPool::Listed& model) const;
  void log(const HttpExchange& exchange, int status, const Usage& usage, double seconds) const;

  const ServerOptions options_;
  const Access access_;
  ModelPool& models_;
  const int64_t created_ = int64_t(std::time(nullptr));  // seconds since 1970
  Metrics metrics_;
  std::atomic<bool> ends_texts_ = false;
};

}  // namespace wick::serve
