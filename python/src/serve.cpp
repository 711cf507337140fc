// A server of models in the process of Python.
#include "wick/serve/server.h"

#include <nanobind/stl/filesystem.h>

#include <filesystem>

#include "bind.h"
#include "casters.h"
#include "generation.h"
#include "loading.h"
#include "process.h"
#include "values.h"

namespace wick::python {
namespace {

/// A Server whose end waits for its threads, which may wait for Python meanwhile.
struct OwnedServer {
  std::unique_ptr<Server> server;
  ~OwnedServer() {
    if (process_state == ProcessState::kForkedAfterUse) {
      (void)server.release();  // its threads are the parent's
      return;
    }
    const ReleasedGil others_run;
    server.reset();
  }
};

/// Calls Python's function with each line; an error in it is Python's to print.
std::function<void(const std::string&)> logging(nb::object log) {
  if (log.is_none()) return {};
  if (!PyCallable_Check(log.ptr())) fail_type("serve: log", "a function", log);
  struct Held {
    nb::object callable;
    ~Held() {
      const nb::gil_scoped_acquire python;
      callable.reset();
    }
  };
  return [held = std::make_shared<Held>(std::move(log))](const std::string& line) {
    const nb::gil_scoped_acquire python;
    const nb::object text =
        nb::steal(PyUnicode_DecodeUTF8(line.data(), Py_ssize_t(line.size()), "backslashreplace"));
    const nb::object result = nb::steal(PyObject_CallOneArg(held->callable.ptr(), text.ptr()));
    if (!result.is_valid()) PyErr_WriteUnraisable(held->callable.ptr());
  };
}

std::chrono::milliseconds milliseconds_of(double seconds, const char* name) {
  constexpr double kMaxSeconds = 1e9;  // 31 years
  check(seconds >= 0 && seconds <= kMaxSeconds, ErrorCode::kInvalidArgument, "serve", name,
        ": expected 0 to 1e9 seconds, got ", seconds);
  return std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(seconds));
}

struct SourceOptions {
  std::optional<std::filesystem::path> path, folder;
  LoadOptions load;
};

/// The model at the path, loaded at the start, then the models of the folder.
std::vector<ServerModel> models_of(const SourceOptions& source,
                                   const std::vector<std::string>& names) {
  std::vector<ServerModel> models;
  if (source.path) {
    ServerModel& named = models.emplace_back(server_model(source.path->string(), source.load));
    named.at_start = true;
    if (!names.front().empty()) named.names.front() = names.front();
    named.names.insert(named.names.end(), names.begin() + 1, names.end());
  }
  if (!source.folder) return models;
  LoadOptions load = source.load;
  load.tokenizer_pre.clear();  // the named model's alone
  std::error_code error;       // such as of a path that is not there, whose load reports it
  bool is_empty = true;
  for (ServerModel& model : server_models(source.folder->string(), load)) {
    is_empty = false;
    if (source.path && std::filesystem::equivalent(*source.path, model.path, error)) continue;
    models.push_back(std::move(model));
  }
  check(!is_empty, ErrorCode::kInvalidArgument, source.folder->string(),
        "expected GGUF files, or folders with config.json");
  return models;
}

/// names: the id of the model that `model` or `path` gives, "" for the default, and its aliases.
void make_server(OwnedServer* memory, const LanguageModel* model,
                 std::optional<std::filesystem::path> path,
                 std::optional<std::filesystem::path> folder, std::vector<std::string> names,
                 const std::optional<DeviceArgument>& device, const nb::object& dtype,
                 const std::string& tokenizer_pre, const std::string& host, int64_t port,
                 std::vector<std::string> api_keys, int64_t parallel, int64_t context,
                 int64_t cache_tokens, int64_t queue, int64_t chunk, const std::string& kv,
                 bool batch_invariant, std::vector<std::string> cors,
                 std::vector<std::string> allow_host, int64_t max_connections, int64_t max_body,
                 double max_time, int64_t max_models, double idle, double model_wait,
                 nb::object log, bool log_prompts) {
  SourceOptions source{std::move(path), std::move(folder), load_options(device, dtype, nb::none())};
  source.load.progress = {};  // a thread of the server loads
  source.load.tokenizer_pre = tokenizer_pre;
  check(port >= 0 && port <= 65535, ErrorCode::kInvalidArgument, "serve",
        "port: expected 0 to 65535, got ", port);
  check(max_body > 0 && max_body <= 1024, ErrorCode::kInvalidArgument, "serve",
        "max_body: expected 1 to 1024 MiB, got ", max_body);
  ServerOptions options;
  options.host = host;
  options.port = int(port);
  options.engine = {.sequences = parallel,
                    .capacity = context,
                    .cache_tokens = cache_tokens,
                    .chunk = chunk,
                    .queue = queue,
                    .kv = cache_type(kv),
                    .batch_invariant = batch_invariant};
  options.api_keys = std::move(api_keys);
  options.cors_origins = std::move(cors);
  options.allowed_hosts = std::move(allow_host);
  options.max_body_bytes = max_body << 20;
  options.max_connections = max_connections;
  options.max_time = std::chrono::ceil<std::chrono::seconds>(milliseconds_of(max_time, "max_time"));
  options.max_models = max_models;
  if (idle > 0) options.idle = milliseconds_of(idle, "idle");
  options.model_wait = milliseconds_of(model_wait, "model_wait");
  options.log = logging(std::move(log));
  options.log_prompts = log_prompts;
  const std::optional<LanguageModel> given = model ? std::optional(*model) : std::nullopt;
  std::unique_ptr<Server> server;
  {
    const ReleasedGil others_run;
    std::vector<ServerModel> models = models_of(source, names);
    if (given) {
      if (names.front().empty()) names.front() = options.names.front();
      options.names = names;
    }
    if (given && models.empty()) {
      server = std::make_unique<Server>(*given, options);
    } else {
      if (given)
        models.insert(
            models.begin(),
            {.names = names, .load = [given](const auto&) { return *given; }, .at_start = true});
      server = std::make_unique<Server>(std::move(models), options);
    }
    server->start();
  }
  new (memory) OwnedServer{std::move(server)};
}

}  // namespace

void bind_server(nb::module_& m) {
  nb::class_<OwnedServer>(m, "_Server", "A server of C++ that takes connections.")
      .def("__init__", &make_server, nb::arg("model").none(), nb::arg("path").none(),
           nb::arg("folder").none(), nb::arg("names"), nb::arg("device").none(),
           nb::arg("dtype").none(), nb::arg("tokenizer_pre"), nb::arg("host"), nb::arg("port"),
           nb::arg("api_keys"), nb::arg("parallel"), nb::arg("context"), nb::arg("cache_tokens"),
           nb::arg("queue"), nb::arg("chunk"), nb::arg("kv"), nb::arg("batch_invariant"),
           nb::arg("cors"), nb::arg("allow_host"), nb::arg("max_connections"), nb::arg("max_body"),
           nb::arg("max_time"), nb::arg("max_models"), nb::arg("idle"), nb::arg("model_wait"),
           nb::arg("log").none(), nb::arg("log_prompts"))
      .def(
          "wait_until_ready",
          [](OwnedServer& owned, double seconds) {
            return owned.server->wait_until_ready(milliseconds_of(seconds, "time"));
          },
          nb::arg("seconds"), WithoutGil(),
          "Whether the models that are loaded at the start are loaded, waiting so many seconds.")
      .def(
          "stop",
          [](OwnedServer& owned, double seconds) {
            const bool ended = owned.server->stop(milliseconds_of(seconds, "drain"));
            owned.server.reset();
            return ended;
          },
          nb::arg("seconds"), WithoutGil(),
          "Takes no further requests; those that run may go on for so many seconds. Whether all "
          "ended by themselves. Nothing else may be called then.")
      .def_prop_ro("port", [](const OwnedServer& owned) { return owned.server->port(); })
      .def_prop_ro("url", [](const OwnedServer& owned) { return owned.server->url(); });
}

}  // namespace wick::python
