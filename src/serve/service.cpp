#include "serve/service.h"

#include <cstdio>

#include "base/json_text.h"
#include "serve/page.h"
#include "wick/base/error.h"
#include "wick/io/json.h"

namespace wick::serve {
namespace {

constexpr std::string_view kModelPath = "/v1/models/", kOneModel = "/v1/models/{model}";

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

const std::vector<Service::Route>& Service::routes() {
  static const std::vector<Route> kRoutes = {
      {.method = "GET", .path = "/", .get = &Service::get_page, .needs_key = false},
      {.method = "GET", .path = "/health", .get = &Service::get_health, .needs_key = false},
      {.method = "GET", .path = "/metrics", .get = &Service::get_metrics},
      {.method = "GET", .path = "/v1/models", .get = &Service::get_models},
      {.method = "GET", .path = kOneModel, .get = &Service::get_model},
      {.method = "POST", .path = "/v1/chat/completions", .post = answer_chat},
      {.method = "POST", .path = "/v1/responses", .post = answer_response},
      {.method = "POST", .path = "/v1/completions", .post = answer_completion},
      {.method = "POST", .path = "/v1/embeddings", .post = answer_embeddings},
      {.method = "POST", .path = "/tokenize", .post = answer_tokenize},
      {.method = "POST", .path = "/detokenize", .post = answer_detokenize},
  };
  return kRoutes;
}

/// The route of the path; nullptr if there is no such path, or if it takes another method.
const Service::Route* Service::find_route(std::string_view method, std::string_view path) {
  const bool is_model = path.starts_with(kModelPath) && path.size() > kModelPath.size();
  for (const Route& route : routes())
    if (route.path == (is_model ? kOneModel : path) &&
        route.method == (method == "HEAD" ? "GET" : method))
      return &route;
  return nullptr;
}

void Service::admit(HttpExchange& exchange) {
  access_.check_site(exchange);
  const HttpRequest& request = exchange.request;
  if (access_.is_preflight(request)) return;
  const Route* const route = find_route(request.method, request.path);
  if (!route) {
    for (const char* method : {"GET", "POST"}) {
      if (!find_route(method, request.path)) continue;
      exchange.headers.push_back({"Allow", method});
      throw RequestError(405, request.path + ": expected " + method + ", got " + request.method);
    }
    throw RequestError(404, "there is no " + request.path + " here", "", "unknown_url");
  }
  if (route->needs_key) access_.check_key(request);
  if (const std::string* coding = request.find("content-encoding"); coding && *coding != "identity")
    throw RequestError(415, "Content-Encoding: expected none, got " + *coding);
}

void Service::handle(HttpExchange& exchange) {
  const Clock::time_point start = Clock::now();
  if (access_.is_preflight(exchange.request)) {
    const std::string* const wanted = exchange.request.find("access-control-request-headers");
    exchange.headers.push_back({"Access-Control-Allow-Methods", "GET, POST, OPTIONS"});
    exchange.headers.push_back(
        {"Access-Control-Allow-Headers", wanted ? *wanted : "authorization, content-type"});
    exchange.headers.push_back({"Access-Control-Max-Age", "86400"});
    exchange.respond(204, "", "");
    return;
  }
  const Route& route = *find_route(exchange.request.method, exchange.request.path);
  Usage usage;
  const auto count = [&](int status) {
    metrics_.add_request(std::string(route.path), status, seconds_since(start));
    log(exchange, status, usage, seconds_since(start));
  };
  constexpr int kClientGone = 499;  // as nginx has it
  try {
    if (route.post)
      ask_model(route, exchange, usage);
    else
      (this->*route.get)(exchange);
  } catch (const ClientGone&) {
    count(kClientGone);
    throw;
  } catch (const std::exception&) {
    const RequestError error = current_request_error();
    if (exchange.status() == 0) {
      refuse(exchange, error);
      metrics_.add_request(std::string(route.path), error.status, seconds_since(start));
      return;
    }
    exchange.closes = true;
    count(error.status);  // of a stream, whose last event it was
    return;
  }
  count(exchange.status());
}

void Service::refuse(HttpExchange& exchange, const RequestError& error) {
  if (error.retry_after_seconds)
    exchange.headers.push_back({"Retry-After", std::to_string(*error.retry_after_seconds)});
  if (error.status == 401) exchange.headers.push_back({"WWW-Authenticate", "Bearer"});
  log(exchange, error.status, {}, 0);
  exchange.respond(error.status, kJson, to_json(error_object(error), -1));
}

void Service::log(const HttpExchange& exchange, int status, const Usage& usage,
                  double seconds) const {
  if (!options_.log) return;
  const HttpRequest& request = exchange.request;
  char numbers[128];
  std::snprintf(numbers, sizeof numbers, " %d prompt=%lld cached=%lld text=%lld %.3f s ", status,
                static_cast<long long>(usage.prompt_tokens),
                static_cast<long long>(usage.cached_tokens),
                static_cast<long long>(usage.completion_tokens), seconds);
  const std::string path = json_quote(request.path.substr(0, 200));  // without control characters
  options_.log((request.method.empty() ? "-" : request.method.substr(0, 20)) + " " +
               path.substr(1, path.size() - 2) + numbers + request.peer);
}

/// The page needs no key: it asks for one, and sends it with its requests.
void Service::get_page(HttpExchange& exchange) {
  exchange.headers.push_back(
      {"Content-Security-Policy",
       "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
       "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"});
  exchange.headers.push_back({"Cache-Control", "no-cache"});
  exchange.headers.push_back({"X-Content-Type-Options", "nosniff"});
  exchange.respond(200, "text/html; charset=utf-8", kPage);
}

void Service::get_health(HttpExchange& exchange) {
  const std::string state = models_.readiness();
  Settings body;
  body.set("status", state);
  exchange.respond(state == "ok" ? 200 : 503, kJson, to_json(body, -1));
}

void Service::get_metrics(HttpExchange& exchange) {
  exchange.respond(200, "text/plain; version=0.0.4",
                   metrics_.page(models_.stats(), models_.loaded()));
}

/// As of OpenAI, with the model's context as vLLM has it and its state as llama.cpp has it.
Settings Service::model_object(const ModelPool::Listed& model) const {
  Settings s, status;
  s.set("id", model.name).set("object", "model").set("created", created_).set("owned_by", "wick");
  if (model.capacity) s.set("max_model_len", *model.capacity);
  status.set("value", model.state);
  s.set("status", std::move(status));
  return s;
}

void Service::get_models(HttpExchange& exchange) {
  Setting::List models;
  for (const ModelPool::Listed& model : models_.list()) models.push_back(model_object(model));
  Settings body;
  body.set("object", "list").set("data", std::move(models));
  respond_json(exchange, body);
}

void Service::get_model(HttpExchange& exchange) {
  const std::string wanted = exchange.request.path.substr(kModelPath.size());
  respond_json(exchange, model_object(models_.look_up(wanted)));
}

/// Answers by the model that the body names; without a name, by the first one.
void Service::ask_model(const Route& route, HttpExchange& exchange, Usage& usage) {
  const RequestWatch watch(exchange, options_.max_time, ends_texts_);
  const Settings settings = parse_body(exchange.request.body);
  const Fields body(settings);
  const auto model = models_.use(body.text("model").value_or(models_.first_name()), watch);
  route.post({exchange, body, *model, watch, options_, metrics_, usage});
}

}  // namespace wick::serve
