// The answers of a server: OpenAI's API for one model.
#pragma once
#include <atomic>
#include <ctime>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "serve/access.h"
#include "serve/answers.h"
#include "serve/http_server.h"
#include "serve/metrics.h"
#include "serve/requests.h"
#include "wick/serve/server.h"

namespace wick::serve {

class ChoiceForm;
class TextFeed;

class Service : public HttpHandler {
 public:
  /// Errors: as of Server.
  Service(const LanguageModel& model, const ServerOptions& options);

  void admit(HttpExchange& exchange) override;
  void handle(HttpExchange& exchange) override;
  void refuse(HttpExchange& exchange, const RequestError& error) override;

  /// Ends the texts that are generated, with an error.
  void end_texts() { ends_texts_ = true; }

 private:
  using Handler = void (Service::*)(HttpExchange& exchange, Usage& usage);
  struct Route {
    std::string_view method, path;
    Handler handler;
    bool needs_key = true;
  };
  static const std::vector<Route>& routes();
  static const Route* find_route(std::string_view method, std::string_view path);

  void get_page(HttpExchange& exchange, Usage& usage);
  void get_health(HttpExchange& exchange, Usage& usage);
  void get_metrics(HttpExchange& exchange, Usage& usage);
  void get_models(HttpExchange& exchange, Usage& usage);
  void get_model(HttpExchange& exchange, Usage& usage);
  void post_chat(HttpExchange& exchange, Usage& usage);
  void post_completions(HttpExchange& exchange, Usage& usage);
  void post_embeddings(HttpExchange& exchange, Usage& usage);
  void post_tokenize(HttpExchange& exchange, Usage& usage);
  void post_detokenize(HttpExchange& exchange, Usage& usage);

  struct TextPrompt {
    Prompt prompt;
    std::string param;  // the field that it comes from
  };
  const std::string& name() const { return options_.names.front(); }
  Settings model_object(const std::string& name) const;
  void check_model(const Fields& body) const;
  void check_name(const std::string& model) const;
  void check_length(size_t bytes, const std::string& field) const;
  const Tokenizer& tokenizer() const;
  Engine& engine();
  TextPrompt chat_prompt(const ChatRequest& request) const;
  std::vector<TextPrompt> completion_prompts(const CompletionRequest& request) const;
  void answer(HttpExchange& exchange, const TextOptions& options,
              const std::vector<TextPrompt>& prompts, const AnswerHead& head, ChoiceForm& form,
              Usage& usage);
  void submit(TextFeed& feed, const TextOptions& options, const std::vector<TextPrompt>& prompts);
  void log(const HttpExchange& exchange, int status, const Usage& usage, double seconds) const;

  const LanguageModel model_;
  const ServerOptions options_;
  const Access access_;
  RequestLimits limits_;
  int64_t longest_token_ = 1;  // bytes
  std::optional<Engine> engine_;
  std::optional<TokenTexts> token_texts_;
  const int64_t created_ = int64_t(std::time(nullptr));  // seconds since 1970
  std::mutex embedding_;                                 // one embedding at a time
  Metrics metrics_;
  std::atomic<bool> ends_texts_ = false;
};

}  // namespace wick::serve
