#include "serve/service.h"

#include <algorithm>
#include <cstdio>

#include "base/base64.h"
#include "base/json_text.h"
#include "serve/page.h"
#include "serve/text_answer.h"
#include "wick/base/error.h"
#include "wick/io/json.h"
#include "wick/media/image.h"
#include "wick/ops/arrange.h"

namespace wick::serve {
namespace {

constexpr const char* kJson = "application/json";
constexpr std::string_view kModelPath = "/v1/models/", kOneModel = "/v1/models/{model}";

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void respond_json(HttpExchange& exchange, const Settings& body) {
  exchange.respond(200, kJson, to_json(body, -1));
}

/// The error of wick as a client gets it. field: the one that the prompt comes from.
RequestError request_error(const Error& error, const std::string& field) {
  switch (error.code()) {
    case ErrorCode::kOutOfMemory: {
      RequestError busy(503, error.what(), "", "server_busy");
      busy.retry_after_seconds = 1;
      return busy;
    }
    case ErrorCode::kOutOfRange:
      return RequestError(400, error.what(), field, "context_length_exceeded");
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kUnsupported:
    case ErrorCode::kFormat:
      return RequestError(400, error.what(), field, "invalid_value");
    default:
      return RequestError(500, error.what());
  }
}

/// Returns f(). Its Errors become the request's.
template <class F>
auto of_request(const std::string& field, const F& f) {
  try {
    return f();
  } catch (const Error& error) {
    throw request_error(error, field);
  }
}

/// The images of all messages as the model's input; empty without images.
Tensor pixels_of(const LanguageModel& model, const std::vector<ChatMessage>& messages) {
  std::vector<Tensor> pixels;
  for (const ChatMessage& message : messages)
    for (const auto& image : message.images) pixels.push_back(model.pixel_values({image.get(), 1}));
  return pixels.empty() ? Tensor() : cat(pixels, 0);
}

}  // namespace

Service::Service(const LanguageModel& model, const ServerOptions& options)
    : model_(model), options_(options), access_(options) {
  check(!options.names.empty(), ErrorCode::kInvalidArgument, "serve",
        "expected a name of the model");
  if (model.facts().is_causal && model.facts().embedding_dim == 0)
    engine_.emplace(model_, options.engine);
  limits_ = {.sampling = model.default_sampling(),
             .vocab_size = model.facts().vocab_size,
             .reads_images = model.facts().images && model.image_processor};
  if (model.tokenizer) {
    token_texts_.emplace(*model_.tokenizer);
    for (int64_t id = 0; id < model_.tokenizer->vocab_size(); id++)
      longest_token_ = std::max(longest_token_, int64_t(model_.tokenizer->token(id).size()));
  }
}

const std::vector<Service::Route>& Service::routes() {
  static const std::vector<Route> kRoutes = {
      {"GET", "/", &Service::get_page, false},
      {"GET", "/health", &Service::get_health, false},
      {"GET", "/metrics", &Service::get_metrics},
      {"GET", "/v1/models", &Service::get_models},
      {"GET", kOneModel, &Service::get_model},
      {"POST", "/v1/chat/completions", &Service::post_chat},
      {"POST", "/v1/completions", &Service::post_completions},
      {"POST", "/v1/embeddings", &Service::post_embeddings},
      {"POST", "/tokenize", &Service::post_tokenize},
      {"POST", "/detokenize", &Service::post_detokenize},
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
    try {
      (this->*route.handler)(exchange, usage);
    } catch (const Error& error) {
      throw request_error(error, "");
    } catch (const std::bad_alloc&) {
      throw RequestError(500, "out of memory");
    }
  } catch (const RequestError& error) {
    if (exchange.status() == 0) {
      refuse(exchange, error);
      metrics_.add_request(std::string(route.path), error.status, seconds_since(start));
      return;
    }
    count(error.status);  // of a stream, whose last event it was
    return;
  } catch (const ClientGone&) {
    count(kClientGone);
    throw;
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

const Tokenizer& Service::tokenizer() const {
  if (!model_.tokenizer) throw RequestError(400, "the model has no tokenizer");
  return *model_.tokenizer;
}

Engine& Service::engine() {
  if (!engine_)
    throw RequestError(400, "the model gives embeddings and continues no text: use /v1/embeddings");
  return *engine_;
}

/// The page needs no key: it asks for one, and sends it with its requests.
void Service::get_page(HttpExchange& exchange, Usage&) {
  exchange.headers.push_back(
      {"Content-Security-Policy",
       "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
       "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"});
  exchange.headers.push_back({"Cache-Control", "no-cache"});
  exchange.headers.push_back({"X-Content-Type-Options", "nosniff"});
  exchange.respond(200, "text/html; charset=utf-8", kPage);
}

void Service::get_health(HttpExchange& exchange, Usage&) {
  Settings body;
  body.set("status", "ok");
  respond_json(exchange, body);
}

void Service::get_metrics(HttpExchange& exchange, Usage&) {
  EngineStats stats;
  if (engine_) stats = engine_->stats();
  exchange.respond(200, "text/plain; version=0.0.4", metrics_.page(engine_ ? &stats : nullptr));
}

Settings Service::model_object(const std::string& name) const {
  Settings s;
  s.set("id", name).set("object", "model").set("created", created_).set("owned_by", "wick");
  if (engine_) s.set("max_model_len", engine_->options().capacity);
  return s;
}

void Service::get_models(HttpExchange& exchange, Usage&) {
  Setting::List models;
  for (const std::string& name : options_.names) models.push_back(model_object(name));
  Settings body;
  body.set("object", "list").set("data", std::move(models));
  respond_json(exchange, body);
}

void Service::get_model(HttpExchange& exchange, Usage&) {
  const std::string wanted = exchange.request.path.substr(kModelPath.size());
  check_name(wanted);
  respond_json(exchange, model_object(wanted));
}

/// A request without a model means the one that is there.
void Service::check_model(const Fields& body) const {
  if (const std::optional<std::string> wanted = body.text("model")) check_name(*wanted);
}

void Service::check_name(const std::string& model) const {
  if (std::find(options_.names.begin(), options_.names.end(), model) != options_.names.end())
    return;
  throw RequestError(404,
                     "the model '" + model + "' does not exist here; expected '" + name() + "'",
                     "model", "model_not_found");
}

/// Refuses a text that cannot fit, before the time that its tokens would take.
void Service::check_length(size_t bytes, const std::string& field) const {
  if (!engine_) return;
  const int64_t capacity = engine_->options().capacity;
  if (int64_t(bytes) / longest_token_ > capacity)
    throw RequestError(400,
                       "'" + field + "': " + std::to_string(bytes) +
                           " bytes are more than a context of " + std::to_string(capacity) +
                           " tokens can hold",
                       field, "context_length_exceeded");
}

Service::TextPrompt Service::chat_prompt(const ChatRequest& request) const {
  size_t bytes = 0;
  for (const ChatMessage& message : request.messages) bytes += message.content.size();
  check_length(bytes, "messages");
  return of_request("messages", [&] {
    return TextPrompt{
        {model_.chat_ids(request.messages, request.layout), pixels_of(model_, request.messages)},
        "messages"};
  });
}

std::vector<Service::TextPrompt> Service::completion_prompts(
    const CompletionRequest& request) const {
  std::vector<TextPrompt> prompts;
  for (const PromptInput& input : request.prompts) {
    if (const std::string* text = std::get_if<std::string>(&input)) {
      check_length(text->size(), "prompt");
      prompts.push_back(of_request("prompt", [&] {
        return TextPrompt{{model_.prompt_ids(*text), Tensor()}, "prompt"};
      }));
    } else {
      prompts.push_back({{std::get<std::vector<int64_t>>(input), Tensor()}, "prompt"});
    }
  }
  return prompts;
}

void Service::post_chat(HttpExchange& exchange, Usage& usage) {
  const Settings settings = parse_body(exchange.request.body);
  const Fields body(settings);
  check_model(body);
  engine();
  const ChatRequest request = read_chat(body, limits_);
  const TextOptions& options = request.options;
  const auto form = chat_form(options.logprobs ? &*token_texts_ : nullptr);
  answer(exchange, options, {chat_prompt(request)},
         answer_head("chatcmpl-", options.streams ? "chat.completion.chunk" : "chat.completion",
                     name()),
         *form, usage);
}

void Service::post_completions(HttpExchange& exchange, Usage& usage) {
  const Settings settings = parse_body(exchange.request.body);
  const Fields body(settings);
  check_model(body);
  engine();
  const CompletionRequest request = read_completion(body, limits_);
  const TextOptions& options = request.options;
  std::vector<std::string> echoes;
  if (request.echoes)
    for (const PromptInput& input : request.prompts) {
      const std::string* const text = std::get_if<std::string>(&input);
      echoes.insert(echoes.end(), size_t(options.choices),
                    text ? *text : tokenizer().decode(std::get<std::vector<int64_t>>(input), true));
    }
  const auto form = completion_form(options.logprobs ? &*token_texts_ : nullptr, std::move(echoes));
  answer(exchange, options, completion_prompts(request),
         answer_head("cmpl-", "text_completion", name()), *form, usage);
}

/// Queues the texts of all prompts and choices. Errors: RequestError.
void Service::submit(TextFeed& feed, const TextOptions& options,
                     const std::vector<TextPrompt>& prompts) {
  for (const TextPrompt& prompt : prompts) {
    if (options_.log && options_.log_prompts)
      options_.log("prompt " + json_quote(tokenizer().decode(prompt.prompt.ids)));
    for (int64_t choice = 0; choice < options.choices; choice++) {
      EngineRequest request{.prompt = prompt.prompt.ids,
                            .sampling = options.sampling,
                            .seed = options.seed,
                            .max_tokens = options.max_tokens,
                            .stop = options.stop,
                            .grammar = options.grammar,
                            .logprobs = options.logprobs,
                            .pixel_values = prompt.prompt.pixel_values};
      if (options.seed) request.seed = *options.seed + uint64_t(choice);
      if (options.ignores_end) request.stop_ids.emplace();
      of_request(prompt.param, [&] { feed.add(engine().submit(std::move(request))); });
    }
  }
}

void Service::answer(HttpExchange& exchange, const TextOptions& options,
                     const std::vector<TextPrompt>& prompts, const AnswerHead& head,
                     ChoiceForm& form, Usage& usage) {
  const Clock::time_point start = Clock::now();
  TextAnswer answer(exchange, options, head, form, metrics_, usage);
  TextFeed feed([&] {
    exchange.check_client();
    if (ends_texts_) throw RequestError(503, "the server is shutting down");
    if (Clock::now() - start > options_.max_time)
      throw RequestError(503, "the request took longer than the server allows", "", "timeout");
    answer.keep_alive();
  });
  submit(feed, options, prompts);
  for (const TextPrompt& prompt : prompts) usage.prompt_tokens += int64_t(prompt.prompt.ids.size());
  if (options.streams)
    answer.send_parts(feed);
  else
    answer.send_whole(feed);
}

void Service::post_embeddings(HttpExchange& exchange, Usage& usage) {
  const Settings settings = parse_body(exchange.request.body);
  const Fields body(settings);
  check_model(body);
  const std::string format = body.text("encoding_format").value_or("float");
  if (format != "float" && format != "base64")
    fail_field("encoding_format", "float or base64", *body.find("encoding_format"));
  const std::vector<PromptInput> inputs = read_inputs(body, "input", limits_);
  const int64_t size = model_.facts().hidden_size;
  if (const auto dimensions = body.integer("dimensions", 1); dimensions && *dimensions != size)
    fail_unsupported("dimensions", "expected " + std::to_string(size) + ", the model's");
  Setting::List data;
  for (size_t i = 0; i < inputs.size(); i++) {
    exchange.check_client();
    const std::string* const text = std::get_if<std::string>(&inputs[i]);
    if (!text)
      fail_unsupported("input", "expected texts: ids of another tokenizer mean other texts");
    check_length(text->size(), "input");
    const std::vector<float> values = of_request("input", [&] {
      usage.prompt_tokens += int64_t(tokenizer().encode_ids(*text).size());
      const std::lock_guard lock(embedding_);
      return model_.embed(*text).to_vector<float>();
    });
    Settings one;
    one.set("object", "embedding").set("index", int64_t(i));
    if (format == "base64")
      one.set("embedding", to_base64({reinterpret_cast<const char*>(values.data()),
                                      values.size() * sizeof(float)}));
    else
      one.set("embedding", Setting::List(values.begin(), values.end()));
    data.push_back(std::move(one));
  }
  Settings answer, used;
  used.set("prompt_tokens", usage.prompt_tokens).set("total_tokens", usage.prompt_tokens);
  answer.set("object", "list").set("data", std::move(data)).set("model", name());
  answer.set("usage", std::move(used));
  respond_json(exchange, answer);
}

/// The ids of a text or a conversation. vLLM and llama.cpp name the fields differently.
void Service::post_tokenize(HttpExchange& exchange, Usage&) {
  const Settings settings = parse_body(exchange.request.body);
  const Fields body(settings);
  check_model(body);
  std::vector<int64_t> ids;
  if (body.find("messages")) {
    ids =
        chat_prompt(
            {.options = {}, .messages = read_messages(body, limits_), .layout = read_layout(body)})
            .prompt.ids;
  } else {
    const std::string field = body.find("content") ? "content" : "prompt";
    const std::optional<std::string> text = body.text(field);
    if (!text) fail_field(field, "a text, or messages", nullptr);
    const bool special =
        body.flag(field == "prompt" ? "add_special_tokens" : "add_special").value_or(true);
    ids = of_request(field, [&] {
      return tokenizer().encode_ids(*text, {.add_special = special, .add_end = false});
    });
  }
  Settings answer;
  answer.set("count", int64_t(ids.size()));
  if (engine_) answer.set("max_model_len", engine_->options().capacity);
  answer.set("tokens", Setting::List(ids.begin(), ids.end()));
  respond_json(exchange, answer);
}

void Service::post_detokenize(HttpExchange& exchange, Usage&) {
  const Settings settings = parse_body(exchange.request.body);
  const Fields body(settings);
  check_model(body);
  const Setting::List* const list = body.list("tokens");
  if (!list) fail_field("tokens", "a list of ids", nullptr);
  std::vector<int64_t> ids = read_ids(*list, "tokens", limits_);
  const std::string text = tokenizer().decode(ids);
  Settings answer;
  answer.set("prompt", text).set("content", text);
  respond_json(exchange, answer);
}

}  // namespace wick::serve
