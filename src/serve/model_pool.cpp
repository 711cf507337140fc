#include "serve/model_pool.h"

#include <algorithm>
#include <cstdio>

#include "wick/base/error.h"

namespace wick::serve {
namespace {

/// A model gives way to another one whose requests have waited for this part of
/// ServerOptions::model_wait.
constexpr int64_t kTurns = 10;

/// Ends a load whose server ends.
struct LoadEnded {};

/// Sums the counts of engines.
void add_stats(std::optional<EngineStats>& to, const std::optional<EngineStats>& from) {
  if (!from) return;
  if (!to) to.emplace();
  for (const EngineCount& each : engine_counts()) (*to).*each.count += (*from).*each.count;
}

/// The counts of an engine after its end, when no text is left.
std::optional<EngineStats> ended(std::optional<EngineStats> stats) {
  if (!stats) return stats;
  stats->cancelled += stats->running + stats->waiting;
  stats->running = stats->waiting = stats->used_positions = stats->positions = 0;
  return stats;
}

/// The text with `to` in place of each `from`.
std::string replaced(std::string text, const std::string& from, const std::string& to) {
  if (from.empty()) return text;
  for (size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

std::string seconds_text(Clock::duration time) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", std::chrono::duration<double>(time).count());
  return text;
}

bool lacks_memory(const std::exception_ptr& failure) {
  if (!failure) return false;
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    return error.code() == ErrorCode::kOutOfMemory;
  } catch (...) {
    return false;
  }
}

/// Unlocks while it lives.
class Unlocked {
 public:
  explicit Unlocked(std::unique_lock<std::mutex>& lock) : lock_(lock) { lock_.unlock(); }
  ~Unlocked() { lock_.lock(); }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  std::unique_lock<std::mutex>& lock_;
};

}  // namespace

ModelPool::~ModelPool() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

ModelPool::Entry& ModelPool::add_entry(ServerModel model) {
  check(!model.names.empty(), ErrorCode::kInvalidArgument, "serve",
        "names: expected a name of the model");
  for (const std::string& name : model.names)
    check(!find(name), ErrorCode::kInvalidArgument, "serve", "two models have the name \"", name,
          "\"");
  entries_.emplace_back().source = std::move(model);
  return entries_.back();
}

void ModelPool::add(ServerModel model) {
  check(model.load != nullptr, ErrorCode::kInvalidArgument, "serve",
        "load: expected a function that loads the model");
  add_entry(std::move(model));
}

void ModelPool::add(const std::vector<std::string>& names, const LanguageModel& model) {
  Entry& added = add_entry({.names = names, .load = {}});
  added.model = std::make_unique<ServedModel>(names.front(), model, options_.engine);
  added.stays = true;
}

void ModelPool::start() {
  thread_ = std::thread([this] { run(); });
}

bool ModelPool::wait_until_ready(Clock::time_point time) {
  Lock lock(mutex_);
  const bool is_ready = changed_.wait_until(lock, time, [&] {
    return std::none_of(entries_.begin(), entries_.end(),
                        [](const Entry& entry) { return entry.is_starting(); });
  });
  for (const Entry& entry : entries_)
    if (entry.source.at_start && entry.failure) std::rethrow_exception(entry.failure);
  return is_ready;
}

const char* ModelPool::readiness() const {
  const std::lock_guard lock(mutex_);
  const char* state = "ok";
  for (const Entry& entry : entries_) {
    if (entry.is_starting()) return "loading";
    if (entry.source.at_start && entry.failure) state = "failed";
  }
  return state;
}

ModelPool::Entry* ModelPool::find(std::string_view name) {
  for (Entry& entry : entries_)
    for (const std::string& own : entry.source.names)
      if (own == name) return &entry;
  return nullptr;
}

ModelPool::Entry& ModelPool::entry(const std::string& name) {
  if (Entry* const found = find(name)) return *found;
  throw RequestError(404,
                     "the model '" + name + "' does not exist here; expected '" + first_name() +
                         "'" + (entries_.size() > 1 ? " or another one of /v1/models" : ""),
                     "model", "model_not_found");
}

ModelPool::Listed ModelPool::listed(const Entry& entry, const std::string& name) const {
  const char* const state = entry.model ? "loaded" : entry.is_loading ? "loading" : "unloaded";
  return {name, state, entry.model ? entry.model->capacity() : std::nullopt};
}

std::vector<ModelPool::Listed> ModelPool::list() const {
  const std::lock_guard lock(mutex_);
  std::vector<Listed> rows;
  for (const Entry& entry : entries_)
    for (const std::string& name : entry.source.names) rows.push_back(listed(entry, name));
  return rows;
}

ModelPool::Listed ModelPool::look_up(const std::string& name) {
  const Entry& found = entry(name);
  const std::lock_guard lock(mutex_);
  return listed(found, name);
}

std::optional<EngineStats> ModelPool::stats() const {
  const std::lock_guard lock(mutex_);
  std::optional<EngineStats> sum = past_;
  for (const Entry& entry : entries_)
    if (entry.model) add_stats(sum, entry.model->stats());
  return sum;
}

int64_t ModelPool::loaded() const {
  const std::lock_guard lock(mutex_);
  return count_loaded();
}

int64_t ModelPool::count_loaded() const {
  return std::count_if(entries_.begin(), entries_.end(),
                       [](const Entry& entry) { return entry.model != nullptr; });
}

/// Counts a request of the entry while the result lives.
std::shared_ptr<void> ModelPool::add_user(Entry& entry) {
  {
    // Released before the result is made, which locks again if there is no memory for it.
    const std::lock_guard lock(mutex_);
    entry.users++;
  }
  return {&entry, [this](void* used) {
            Entry& left = *static_cast<Entry*>(used);
            const std::lock_guard lock(mutex_);
            left.users--;
            left.used_until = Clock::now();
            changed_.notify_all();
          }};
}

std::shared_ptr<ServedModel> ModelPool::use(const std::string& name, const RequestWatch& watch) {
  Entry& wanted = entry(name);
  const std::shared_ptr<void> user = add_user(wanted);
  Lock lock(mutex_);  // released before the user is
  if (!wanted.model || gives_way(wanted)) wait_for(wanted, watch, lock);
  return {user, wanted.model.get()};
}

/// Whether further requests of a loaded model wait, so that it ends the ones that it has and makes
/// room for a model whose requests have waited for long: else one that always has requests would
/// keep its room for ever.
bool ModelPool::gives_way(const Entry& entry) const {
  if (&entry != longest_loaded() || count_loaded() < options_.max_models) return false;
  const Clock::time_point long_ago = Clock::now() - options_.model_wait / kTurns;
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& other) {
    return other.is_wanted() && other.waiting > 0 && other.waits_since < long_ago;
  });
}

/// Waits for the next load of the entry, or until it need not give way. Errors: as of use.
void ModelPool::wait_for(Entry& entry, const RequestWatch& watch, Lock& lock) {
  struct Waiting {
    Entry& entry;
    const int64_t load = entry.loads;
    ~Waiting() { entry.waiting -= entry.loads == load; }  // the end of a load sets 0
  } here{entry};
  if (entry.waiting++ == 0) entry.waits_since = Clock::now();
  changed_.notify_all();
  constexpr std::chrono::milliseconds kBetweenLooks(100);
  while (entry.loads == here.load && (!entry.model || gives_way(entry))) {
    if (Clock::now() > watch.start() + options_.model_wait) {
      RequestError late(
          503,
          "the model '" + entry.source.names.front() +
              (entry.is_loading ? "' is being loaded" : "' has no room while others are in use"),
          "", "model_not_ready");
      late.retry_after_seconds = 5;
      throw late;
    }
    changed_.wait_for(lock, kBetweenLooks);
    const Unlocked open(lock);
    watch.check();
  }
  if (!entry.model) throw client_error(entry);
}

/// The error of the last load as clients get it, without the paths of this machine.
RequestError ModelPool::client_error(const Entry& entry) const {
  const std::string& id = entry.source.names.front();
  const std::string before = "the model '" + id + "' could not be loaded: ";
  constexpr const char* kCode = "model_not_loaded";
  const auto shown = [&](const std::string& text) {
    const std::string& path = entry.source.path;
    const size_t slash = path.rfind('/');
    return before + replaced(replaced(text, path, id),
                             slash == path.npos ? "" : path.substr(0, slash + 1), "");
  };
  try {
    std::rethrow_exception(entry.failure);
  } catch (const Error& error) {
    const bool lacks_memory = error.code() == ErrorCode::kOutOfMemory;
    return RequestError(lacks_memory ? 503 : 500, shown(error.what()), "model", kCode);
  } catch (const std::exception& error) {
    return RequestError(500, shown(error.what()), "model", kCode);
  } catch (...) {
    return RequestError(500, before + "an unknown error", "model", kCode);
  }
}

/// The thread that loads and unloads.
void ModelPool::run() {
  Lock lock(mutex_);
  while (!ends_) {
    Entry* const oldest = longest_idle();
    if (oldest && options_.idle && Clock::now() >= oldest->used_until + *options_.idle) {
      unload(*oldest, "without requests for " + seconds_text(Clock::now() - oldest->used_until),
             lock);
      continue;
    }
    Entry* const wanted = longest_waiting();
    if (wanted && (count_loaded() < options_.max_models || make_room(lock))) {
      // Its requests may have gone while another model was unloaded.
      if (wanted->is_wanted()) load(*wanted, lock);
      continue;
    }
    if (oldest && options_.idle)
      changed_.wait_until(lock, oldest->used_until + *options_.idle);
    else
      changed_.wait(lock);
  }
}

ModelPool::Entry* ModelPool::longest_waiting() {
  Entry* first = nullptr;
  for (Entry& entry : entries_)
    if (entry.is_wanted() && (!first || entry.waits_since < first->waits_since)) first = &entry;
  return first;
}

/// Of the models that may be unloaded, the one that has been loaded for longest.
const ModelPool::Entry* ModelPool::longest_loaded() const {
  const Entry* first = nullptr;
  for (const Entry& entry : entries_)
    if (entry.model && !entry.stays && (!first || entry.loaded_at < first->loaded_at))
      first = &entry;
  return first;
}

ModelPool::Entry* ModelPool::longest_idle() {
  Entry* first = nullptr;
  for (Entry& entry : entries_)
    if (entry.is_idle() && (!first || entry.used_until < first->used_until)) first = &entry;
  return first;
}

/// Unloads the model that has been idle for longest. Returns whether there was one.
bool ModelPool::make_room(Lock& lock) {
  Entry* const oldest = longest_idle();
  if (oldest) unload(*oldest, "to make room", lock);
  return oldest != nullptr;
}

/// Loads the model. Without the memory for it, unloads idle ones and tries again.
void ModelPool::load(Entry& entry, Lock& lock) {
  entry.is_loading = true;
  std::unique_ptr<ServedModel> model;
  std::exception_ptr failure;
  do {
    const Unlocked open(lock);
    failure = try_to_load(entry, model);
  } while (lacks_memory(failure) && !ends_ && make_room(lock));
  entry.is_loading = false;
  entry.model = std::move(model);
  entry.failure = failure;
  entry.loads++;
  entry.waiting = 0;
  entry.loaded_at = entry.used_until = Clock::now();
  changed_.notify_all();
}

/// Sets model, or returns the error, which the log has unless wait_until_ready throws it.
std::exception_ptr ModelPool::try_to_load(const Entry& entry, std::unique_ptr<ServedModel>& model) {
  const std::string& id = entry.source.names.front();
  const Clock::time_point start = Clock::now();
  try {
    const LanguageModel loaded = entry.source.load([this](int64_t, int64_t) {
      const std::lock_guard lock(mutex_);
      if (ends_) throw LoadEnded();
    });
    model = std::make_unique<ServedModel>(id, loaded, options_.engine);
    log("loaded " + id + " in " + seconds_text(Clock::now() - start));
    return nullptr;
  } catch (const LoadEnded&) {
    return std::current_exception();
  } catch (const std::exception& error) {
    if (!entry.is_starting()) log("could not load " + id + ": " + error.what());
    return std::current_exception();
  } catch (...) {
    if (!entry.is_starting()) log("could not load " + id);
    return std::current_exception();
  }
}

void ModelPool::unload(Entry& entry, const std::string& why, Lock& lock) {
  const std::string& id = entry.source.names.front();
  add_stats(past_, ended(entry.model->stats()));
  std::unique_ptr<ServedModel> model = std::move(entry.model);
  const Unlocked open(lock);
  const std::vector<Device> devices = model->devices();
  model.reset();
  try {
    for (const Device& device : devices) device.empty_cache();
  } catch (const Error& error) {  // the device has failed; the next load reports it
    log("could not give back memory of " + id + ": " + error.what());
  }
  log("unloaded " + id + " " + why);
}

/// An exception of the caller's function would end the thread that loads.
void ModelPool::log(const std::string& line) const {
  try {
    if (options_.log) options_.log(line);
  } catch (const std::exception&) {  // NOLINT: a line is lost
  }
}

}  // namespace wick::serve
