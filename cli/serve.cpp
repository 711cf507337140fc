// wick serve: a model for OpenAI's clients, over HTTP.
#include "wick/serve/server.h"

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <thread>

#include "commands.h"
#include "failure.h"
#include "model.h"
#include "printable.h"
#include "ranges.h"

namespace wick::cli {
namespace {

struct Options {
  ModelFlags model;
  ServerOptions server;
  std::vector<std::string> aliases;
  int64_t port = ServerOptions().port, body_mib = ServerOptions().max_body_bytes >> 20;
  int64_t max_seconds = ServerOptions().max_time.count(), drain_seconds = 30;
  bool quiet = false;
};

/// The model's id: the name of its file or folder.
std::string id_of(const std::string& path) {
  std::filesystem::path name = std::filesystem::absolute(path).lexically_normal();
  if (!name.has_filename()) name = name.parent_path();
  return name.extension() == ".gguf" ? name.stem().string() : name.filename().string();
}

ServerOptions server_options(const Options& options) {
  ServerOptions server = options.server;
  server.port = int(options.port);
  server.names = {id_of(options.model.path)};
  server.names.insert(server.names.end(), options.aliases.begin(), options.aliases.end());
  server.engine.capacity = options.model.context;
  server.engine.kv = options.model.cache();
  server.max_body_bytes = options.body_mib << 20;
  server.max_time = std::chrono::seconds(options.max_seconds);
  if (const char* key = std::getenv("WICK_API_KEY"); key && *key) server.api_keys.push_back(key);
  if (!options.quiet)
    server.log = [](const std::string& line) {
      std::fprintf(stderr, "wick: %s\n", printable(line).c_str());
    };
  return server;
}

void serve(const Options& options) {
  survive_readers();
  const ServerOptions settings = server_options(options);
  for (const std::string& key : settings.api_keys)
    if (key.empty()) fail_input("--api-key", "expected a key, got nothing");
  const LanguageModel model = open_model(options.model);
  require_tokenizer(model, options.model.path);
  const InterruptWatch watch;
  Server server(model, settings);
  reading_input([&] { server.start(); });
  std::printf("%s serves %s\n", printable(server.url()).c_str(),
              printable(settings.names.front()).c_str());
  std::fflush(stdout);
  while (!InterruptWatch::asked()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
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
      ->add_option("--host", o->server.host,
                   "the address or name to take connections at; 0.0.0.0: all")
      ->capture_default_str();
  command->add_option("--port", o->port, "0: any free one, which is printed")
      ->check(integer_from(0, 65535))
      ->capture_default_str();
  command
      ->add_option("--alias", o->aliases,
                   "a further name of the model in requests; may be repeated. Its id is the name "
                   "of its file or folder")
      ->allow_extra_args(false);
  command->add_option("--parallel", o->server.engine.sequences, "texts that grow at once")
      ->check(integer_from(1, 4096))
      ->capture_default_str();
  command
      ->add_option("--context", o->model.context,
                   "tokens of a text and its prompt (default: 4096, or the model's maximum)")
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
      "The server answers POST /v1/chat/completions, /v1/completions, /v1/embeddings, /tokenize "
      "and\n"
      "/detokenize, and GET /v1/models, /health and /metrics.\n"
      "Examples:\n"
      "  wick serve model.gguf\n"
      "  WICK_API_KEY=secret wick serve folder --host 0.0.0.0 --parallel 32 --context 8192 --kv "
      "q8_0");
  command->callback([o] {
    o->model.settle();
    serve(*o);
  });
}

}  // namespace wick::cli
