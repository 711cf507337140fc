// A server of a language model, with OpenAI's HTTP interface.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "wick/generate/engine.h"
#include "wick/load/load_model.h"

namespace wick {

struct ServerOptions {
  /// The address or name to take connections at; port 0: any free one.
  std::string host = "127.0.0.1";
  int port = 8080;
  /// The model's names: requests may use any, answers have the first. At least one.
  std::vector<std::string> names = {"wick"};
  EngineOptions engine = {};
  /// Every request but GET /health and GET / must have one of these; if empty, no key is needed.
  std::vector<std::string> api_keys = {};
  /// Origins whose pages may use the server from a browser; "*": all.
  std::vector<std::string> cors_origins = {};
  /// Names that a request's Host may have beside localhost, `host` and addresses: a page that makes
  /// its own name point to this machine has another one. "*": any name.
  std::vector<std::string> allowed_hosts = {};
  int64_t max_body_bytes = 32 << 20;
  /// Connections at once; each has a thread.
  int64_t max_connections = 512;
  /// The longest that a request may take.
  std::chrono::seconds max_time{3600};
  /// Receives a line for each request, without the newline, from any thread: method, path, status,
  /// tokens and seconds.
  std::function<void(const std::string& line)> log = {};
  /// Whether the log has prompts too.
  bool log_prompts = false;
};

/// Answers GET / with a page to chat in; GET /health, /metrics and /v1/models; POST
/// /v1/chat/completions, /v1/completions, /v1/embeddings, /tokenize and /detokenize.
///
///   Server server(load_model("model.gguf"), {.names = {"my-model"}});
///   server.start();
///   ...
///   server.stop(std::chrono::seconds(30));
class WICK_API Server {
 public:
  /// Errors: kInvalidArgument for an option outside its range; as of Engine.
  explicit Server(const LanguageModel& model, const ServerOptions& options = {});
  /// stop without time.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Takes connections from now on. Errors: FileError, naming host and port, for example if another
  /// program has the port; kInvalidArgument if it was called before.
  void start();
  /// The port; 0 before start.
  int port() const;
  /// "http://HOST:PORT".
  std::string url() const;
  /// Takes no further requests. Those that run may go on for so long, then they end with an error.
  /// Returns whether all ended by themselves.
  bool stop(std::chrono::milliseconds time = {});

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace wick
