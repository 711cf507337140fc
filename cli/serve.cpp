// wick serve: a model for OpenAI's clients, over HTTP.
#include "wick/serve/server.h"

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>

#include "commands.h"
#include "failure.h"
#include "model.h"
#include "printable.h"
#include "ranges.h"
#include "ranks.h"

namespace wick::cli {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks(50);  // at signals
constexpr int64_t kIdleSeconds = 300;                   // as ollama has it

struct Options {
  ModelFlags model;
  std::string folder;  // of models
  ServerOptions server;
  std::vector<std::string> aliases;
  int64_t port = ServerOptions().port, body_mib = ServerOptions().max_body_bytes >> 20;
  int64_t max_seconds = ServerOptions().max_time.count(), drain_seconds = 30;
  int64_t wait_seconds =
      std::chrono::ceil<std::chrono::seconds>(ServerOptions().model_wait).count();
  std::optional<int64_t> idle_seconds;
  bool quiet = false;
};

ServerOptions server_options(const Options& options) {
  ServerOptions server = options.server;
  server.port = int(options.port);
  server.engine.capacity = options.model.context;
  server.engine.kv = options.model.cache();
  server.max_body_bytes = options.body_mib << 20;
  server.max_time = std::chrono::seconds(options.max_seconds);
  server.model_wait = std::chrono::seconds(options.wait_seconds);
  const int64_t idle = options.idle_seconds.value_or(options.folder.empty() ? 0 : kIdleSeconds);
  if (idle > 0) server.idle = std::chrono::seconds(idle);
  if (const char* key = std::getenv("WICK_API_KEY"); key && *key) server.api_keys.push_back(key);
  if (!options.quiet)
    server.log = [](const std::string& line) {
      std::fprintf(stderr, "wick: %s\n", printable(line).c_str());
    };
  return server;
}

/// The flags of every model, whose cache holds the texts of --parallel requests.
ModelFlags model_flags(const Options& options) {
  ModelFlags flags = options.model;
  flags.sequences = options.server.engine.sequences;
  return flags;
}

/// Lets `model` be loaded as the flags say, from its own path.
void set_loader(ServerModel& model, ModelFlags flags) {
  flags.path = model.path;
  const bool has_bar = model.at_start;  // later, lines of the log would break it
  model.load = [flags, has_bar](const std::function<void(int64_t, int64_t)>& progress) {
    LanguageModel loaded = open_model(flags, {.has_bar = has_bar, .progress = progress});
    require_tokenizer(loaded, flags.path);
    return loaded;
  };
}

/// The model that the command line names, then the models of --models.
std::vector<ServerModel> models_of(const Options& options) {
  std::vector<ServerModel> models;
  const std::string& path = options.model.path;
  if (!path.empty()) {
    ServerModel& named = models.emplace_back(server_model(path));
    named.names.insert(named.names.end(), options.aliases.begin(), options.aliases.end());
    named.at_start = true;
    set_loader(named, model_flags(options));
  } else if (!options.aliases.empty()) {
    fail_input("--alias", "expected a model beside --models");
  }
  if (options.folder.empty()) return models;
  ModelFlags flags = model_flags(options);
  flags.tokenizer_pre.clear();  // the named model's alone
  std::error_code error;        // such as of a path that is not there, whose load reports it
  for (ServerModel& model : reading_input([&] { return server_models(options.folder); })) {
    if (!path.empty() && std::filesystem::equivalent(path, model.path, error)) continue;
    set_loader(model, flags);
    models.push_back(std::move(model));
  }
  if (models.empty())
    fail_input(options.folder, "expected GGUF files, or folders with config.json");
  return models;
}

/// Waits until the named model is loaded. Returns false if the user ends the command before.
bool wait_until_ready(Server& server) {
  while (!server.wait_until_ready(kBetweenLooks))
    if (InterruptWatch::asked()) return false;
  return true;
}

void serve(const Options& options) {
  survive_readers();
  if (options.model.ranks > 1) {
    if (!options.folder.empty() || options.idle_seconds.value_or(0) > 0)
      fail_input("--tp", "expected one model that stays loaded, got --models or --idle");
    if (is_later_rank()) (void)open_model(model_flags(options));
  }
  const ServerOptions settings = server_options(options);
  for (const std::string& key : settings.api_keys)
    if (key.empty()) fail_input("--api-key", "expected a key, got nothing");
  const std::vector<ServerModel> models = models_of(options);
  std::string ids;
  for (const ServerModel& model : models) ids += (ids.empty() ? "" : ", ") + model.names.front();
  const InterruptWatch watch;
  Server server(models, settings);
  reading_input([&] { server.start(); });
  if (!wait_until_ready(server)) return;
  std::printf("%s serves %s\n", printable(server.url()).c_str(), printable(ids).c_str());
  std::fflush(stdout);
  while (!InterruptWatch::asked()) {
    require_ranks_alive();
    std::this_thread::sleep_for(kBetweenLooks);
  }
  std::fputs("wick: ending: no further requests; another Ctrl-C ends those that run\n", stderr);
  if (!server.stop(std::chrono::seconds(options.drain_seconds)))
    std::fputs("wick: the time is over: the requests that ran were ended\n", stderr);
}

}  // namespace

void add_serve(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("serve", "answer OpenAI's clients over HTTP: chats, texts, embeddings");
  const auto o = std::make_shared<Options>();
  add_model_flags(*command, o->model);
  command
      ->add_option("--models", o->folder,
                   "serve the models of this folder too, or alone: GGUF files and folders with "
                   "config.json. A request's field \"model\" loads the one that it names")
      ->check(CLI::ExistingDirectory);
  command
      ->add_option("--max-models", o->server.max_models,
                   "models that are loaded at once: the one not used for longest makes room")
      ->check(integer_from(1))
      ->capture_default_str();
  command
      ->add_option("--idle", o->idle_seconds,
                   "unload a model after so many seconds without requests; 0: never (default: 300 "
                   "with --models, else 0)")
      ->check(integer_from(0));
  command
      ->add_option("--model-wait", o->wait_seconds,
                   "seconds that a request waits until its model is loaded")
      ->check(integer_from(1))
      ->capture_default_str();
  command
      ->add_option("--host", o->server.host,
                   "the address or name to take connections at; 0.0.0.0: all")
      ->capture_default_str();
  command->add_option("--port", o->port, "0: any free one, which is printed")
      ->check(integer_from(0, 65535))
      ->capture_default_str();
  command
      ->add_option("--alias", o->aliases,
                   "a further name in requests of the model outside --models; may be repeated. "
                   "A model's id is the name of its file or folder")
      ->allow_extra_args(false);
  command->add_option("--parallel", o->server.engine.sequences, "texts that grow at once")
      ->check(integer_from(1, 4096))
      ->capture_default_str();
  command
      ->add_option("--context", o->model.context,
                   "tokens of a text and its prompt (default: 4096, or the model's maximum)")
      ->check(integer_from(1));
  command
      ->add_option("--cache-tokens", o->server.engine.cache_tokens,
                   "tokens of all texts together that the cache has room for (default: --parallel "
                   "times --context); if they need more, the youngest text waits")
      ->check(integer_from(1));
  command
      ->add_option("--queue", o->server.engine.queue,
                   "texts that wait for one of those to end; further ones are refused")
      ->check(integer_from(1))
      ->capture_default_str();
  command
      ->add_option("--chunk", o->server.engine.chunk,
                   "tokens of prompts that are read between two steps of the texts")
      ->check(integer_from(1))
      ->capture_default_str();
  add_cache_flag(*command, o->model);
  command->add_flag("--batch-invariant", o->server.engine.batch_invariant,
                    "computes each text in the same way whatever runs beside it, so that with its "
                    "seed it is the same alone and in a crowd; few or short texts take longer");
  command
      ->add_option("--api-key", o->server.api_keys,
                   "requests must have this key, or the one of WICK_API_KEY; may be repeated. "
                   "Other users of the machine see a command's arguments, but not its environment")
      ->allow_extra_args(false);
  command
      ->add_option("--cors", o->server.cors_origins,
                   "pages of this origin, such as http://localhost:3000, may send requests; *: "
                   "all; may be repeated")
      ->allow_extra_args(false);
  command
      ->add_option("--allow-host", o->server.allowed_hosts,
                   "a name by which clients reach the server, beside localhost, --host and "
                   "addresses; *: any; may be repeated")
      ->allow_extra_args(false);
  command->add_option("--max-connections", o->server.max_connections, "connections at once")
      ->check(integer_from(1, 65536))
      ->capture_default_str();
  command->add_option("--max-body", o->body_mib, "MiB of a request, images included")
      ->check(integer_from(1, 1024))
      ->capture_default_str();
  command->add_option("--max-time", o->max_seconds, "seconds that a request may take")
      ->check(integer_from(1))
      ->capture_default_str();
  command
      ->add_option("--drain", o->drain_seconds,
                   "seconds that requests may go on after Ctrl-C or SIGTERM")
      ->check(integer_from(0))
      ->capture_default_str();
  command->add_flag("--log-prompts", o->server.log_prompts, "print the prompts too");
  command->add_flag("--quiet", o->quiet, "print no line for each request");
  command->footer(
      "The server answers POST /v1/chat/completions, /v1/responses, /v1/completions, "
      "/v1/embeddings,\n"
      "/tokenize and /detokenize, and GET /v1/models, /health and /metrics. GET / is a page to "
      "chat in.\n"
      "Examples:\n"
      "  wick serve model.gguf\n"
      "  wick serve --models folder --max-models 2\n"
      "  WICK_API_KEY=secret wick serve folder --host 0.0.0.0 --parallel 32 --context 8192 --kv "
      "q8_0");
  command->callback([o] {
    if (o->folder.empty() || o->model.has_model()) o->model.settle();
    serve(*o);
  });
}

}  // namespace wick::cli
