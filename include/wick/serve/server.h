// A server of a language model, with OpenAI's HTTP interface.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wick/generate/engine.h"
#include "wick/load/load_model.h"

namespace wick {

/// A model that a Server loads when a request names it.
struct ServerModel {
  /// Requests may use any, answers have the first. At least one.
  std::vector<std::string> names;
  /// Loads the model. A thread of the server calls it, for one model at a time. It passes progress
  /// on to LoadOptions, or calls it now and then; progress throws if the server ends meanwhile.
  /// Errors: as load_model; the requests that wait get them, and a later one tries again.
  std::function<LanguageModel(const std::function<void(int64_t done, int64_t total)>& progress)>
      load;
  /// Of its files: errors of requests have the first name in its place.
  std::string path = {};
  /// Whether it is loaded without a request, by start: /health is 503 until then.
  bool at_start = false;
};

/// The model at a path, by load_model. It has the name of the file, without .gguf, or folder.
WICK_API ServerModel server_model(const std::string& path, const LoadOptions& options = {});
/// The models in a folder, sorted by name: each GGUF file, of a split set the first part, and each
/// folder with config.json. Errors: FileError; kInvalidArgument if two have the same name.
WICK_API std::vector<ServerModel> server_models(const std::string& folder,
                                                const LoadOptions& options = {});

struct ServerOptions {
  /// The address or name to take connections at; port 0: any free one.
  std::string host = "127.0.0.1";
  int port = 8080;
  /// Of a Server of one model: requests may use any, answers have the first. At least one.
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
  /// Of a Server of several models: how many are loaded at once. The one that requests have not
  /// used for longest makes room for another; a request waits while all are in use. After a tenth
  /// of model_wait the one that has been loaded for longest takes no further requests until it has
  /// made room.
  int64_t max_models = 1;
  /// A model without requests for so long is unloaded; missing: never for that reason.
  std::optional<std::chrono::milliseconds> idle = {};
  /// How long a request waits until its model is loaded, before it gets 503 and Retry-After.
  std::chrono::milliseconds model_wait{300'000};
  /// Receives a line for each request, without the newline, from any thread: method, path, status,
  /// tokens and seconds; and one for each model that was loaded, unloaded or failed to load.
  std::function<void(const std::string& line)> log = {};
  /// Whether the log has prompts too.
  bool log_prompts = false;
};

/// Answers GET / with a page to chat in; GET /health, /metrics and /v1/models; POST
/// /v1/chat/completions, /v1/responses, /v1/completions, /v1/embeddings, /tokenize and /detokenize.
///
///   Server server(load_model("model.gguf"), {.names = {"my-model"}});
///   server.start();
///   ...
///   server.stop(std::chrono::seconds(30));
///
/// Of several models, requests name theirs in the field "model"; without it they mean the first:
///
///   Server server(server_models("folder"), {.max_models = 2});
class WICK_API Server {
 public:
  /// Errors: kInvalidArgument for an option outside its range; as of Engine.
  explicit Server(const LanguageModel& model, const ServerOptions& options = {});
  /// Of models that are loaded when requests name them.
  /// Errors: kInvalidArgument for an option outside its range, no model, or a name of two models.
  explicit Server(std::vector<ServerModel> models, const ServerOptions& options = {});
  /// stop without time.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Takes connections from now on, and begins to load models of at_start. Errors: FileError,
  /// naming host and port, for example if another program has the port; kInvalidArgument if it was
  /// called before.
  void start();
  /// After start: waits until the models of at_start are loaded, no longer than this. Returns
  /// whether they are. Errors: of a loader, and as of Engine.
  bool wait_until_ready(std::chrono::milliseconds time);
  /// The port; 0 before start.
  int port() const;
  /// "http://HOST:PORT".
  std::string url() const;
  /// Takes no further requests. Those that run may go on for so long, then they end with an error.
  /// Returns whether all ended by themselves.
  bool stop(std::chrono::milliseconds time = {});

 private:
  struct Parts;
  static void check_options(const ServerOptions& options);
  std::unique_ptr<Parts> parts_;
};

}  // namespace wick
