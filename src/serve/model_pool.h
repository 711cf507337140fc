// The models of a server: loaded for requests, unloaded to make room.
#pragma once
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "serve/request_watch.h"
#include "serve/served_model.h"
#include "wick/serve/server.h"

namespace wick::serve {

/// Any thread may call the functions, once all models are added. One thread loads and unloads, so
/// that a model's memory is free before the next one is loaded.
class ModelPool {
 public:
  explicit ModelPool(const ServerOptions& options) : options_(options) {}
  /// Ends a load that goes on. No request may use a model any longer.
  ~ModelPool();
  ModelPool(const ModelPool&) = delete;
  ModelPool& operator=(const ModelPool&) = delete;

  /// Errors: kInvalidArgument without a name or a loader, and for a name of an earlier model.
  void add(ServerModel model);
  /// A model that is never unloaded. Errors: as the other add; as of ServedModel.
  void add(const std::vector<std::string>& names, const LanguageModel& model);
  /// Loads models from now on: first the models of at_start.
  void start();
  /// Waits for the models of at_start, no longer than until then. Returns whether they are loaded.
  /// Errors: of a loader; as of ServedModel.
  bool wait_until_ready(Clock::time_point time);
  /// "ok" if the models of at_start were loaded, else "loading" or "failed".
  const char* readiness() const;

  /// The model of a name, loaded; it stays so while the result lives. Waits for it.
  /// Errors: RequestError 404 for a name that no model has; 500, or 503 for lack of memory, if it
  /// does not load; 503 if it takes longer than options.model_wait; as of watch.
  std::shared_ptr<ServedModel> use(const std::string& name, const RequestWatch& watch);
  /// Of the first model.
  const std::string& first_name() const { return entries_.front().source.names.front(); }

  struct Listed {
    std::string name;
    const char* state;                // "loaded", "loading" or "unloaded"
    std::optional<int64_t> capacity;  // of a loaded model that continues texts
  };
  /// A row for each name.
  std::vector<Listed> list() const;
  /// Of a name. Errors: RequestError 404.
  Listed look_up(const std::string& name);
  /// The counts of all engines, also of unloaded models; missing if there was no engine.
  std::optional<EngineStats> stats() const;
  int64_t loaded() const;

 private:
  struct Entry {
    ServerModel source;
    bool stays = false;
    std::unique_ptr<ServedModel> model;  // of a loaded model
    bool is_loading = false;
    int64_t users = 0;              // requests that use the model or wait for it
    int64_t waiting = 0;            // requests that wait for the next load to end, or for a turn
    int64_t loads = 0;              // that have ended
    std::exception_ptr failure;     // of the last one
    Clock::time_point waits_since;  // the first request that waits
    Clock::time_point loaded_at;    // the end of the last load
    Clock::time_point used_until;   // the end of the last request
    bool is_starting() const { return source.at_start && loads == 0; }
    bool is_wanted() const { return !model && !is_loading && (waiting > 0 || is_starting()); }
    bool is_idle() const { return model && users == waiting && !stays; }
  };
  using Lock = std::unique_lock<std::mutex>;

  Entry& add_entry(ServerModel model);
  Entry* find(std::string_view name);
  Entry& entry(const std::string& name);
  Listed listed(const Entry& entry, const std::string& name) const;
  std::shared_ptr<void> add_user(Entry& entry);
  bool gives_way(const Entry& entry) const;
  void wait_for(Entry& entry, const RequestWatch& watch, Lock& lock);
  RequestError client_error(const Entry& entry) const;

  void run();
  Entry* longest_waiting();
  const Entry* longest_loaded() const;
  Entry* longest_idle();
  bool make_room(Lock& lock);
  void load(Entry& entry, Lock& lock);
  std::exception_ptr try_to_load(const Entry& entry, std::unique_ptr<ServedModel>& model);
  void unload(Entry& entry, const std::string& why, Lock& lock);
  int64_t count_loaded() const;
  void log(const std::string& line) const;

  const ServerOptions options_;
  std::deque<Entry> entries_;  // guarded by mutex_, but for source
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;
  std::optional<EngineStats> past_;  // of unloaded models
  std::thread thread_;
};

}  // namespace wick::serve
