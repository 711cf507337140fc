#include "wick/dist/launch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "base/environment.h"
#include "base/subprocess.h"
#include "dist/connection.h"
#include "wick/base/error.h"
#include "wick/base/threads.h"

namespace wick {
namespace {

using dist::Clock;
using dist::Descriptor;

constexpr auto kGraceTime = std::chrono::seconds(10);  // from SIGTERM to SIGKILL
constexpr auto kOutputTime = std::chrono::seconds(2);  // for output after the end
constexpr auto kLookTime = std::chrono::milliseconds(50);
constexpr size_t kMaxLine = 64 << 10;

using Variables = std::map<std::string, std::string>;

/// The environment of this process with other values, as execve takes it.
std::vector<std::string> environment_with(const Variables& values) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry; entry++) {
    const std::string text = *entry;
    if (!values.count(text.substr(0, text.find('=')))) result.push_back(text);
  }
  for (const auto& [name, value] : values) result.push_back(name + "=" + value);
  return result;
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// The lines of one stream of a rank.
class Lines {
 public:
  explicit Lines(Descriptor descriptor) : descriptor_(std::move(descriptor)) {
    fcntl(descriptor_.number(), F_SETFL, O_NONBLOCK);
  }
  bool is_open() const { return bool(descriptor_); }
  int number() const { return descriptor_.number(); }

  /// Reads the bytes that are there and calls on_line for each whole line.
  template <class F>
  void read(const F& on_line) {
    char buffer[4096];
    while (is_open()) {
      const ssize_t count = ::read(number(), buffer, sizeof buffer);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && errno == EAGAIN) return;
      if (count <= 0) {
        descriptor_ = Descriptor();
        if (!rest_.empty()) on_line(rest_);
        rest_.clear();
        return;
      }
      rest_.append(buffer, size_t(count));
      size_t begin = 0;
      for (size_t end; (end = rest_.find('\n', begin)) != rest_.npos; begin = end + 1)
        on_line(std::string_view(rest_).substr(begin, end - begin));
      rest_.erase(0, begin);
      if (rest_.size() < kMaxLine) continue;
      on_line(rest_);
      rest_.clear();
    }
  }

 private:
  Descriptor descriptor_;
  std::string rest_;  // a line without its end
};

/// A rank's process, which leads a group of processes that it starts.
class Process {
 public:
  Process(int rank, const std::string& path, const std::vector<std::string>& command,
          const Variables& variables)
      : rank_(rank) {
    int out[2], err[2];
    check(pipe2(out, O_CLOEXEC) == 0 && pipe2(err, O_CLOEXEC) == 0, ErrorCode::kIo, "launch",
          "cannot create a pipe: ", std::strerror(errno));
    streams_.emplace_back(Descriptor(out[0]));
    streams_.emplace_back(Descriptor(err[0]));
    const Descriptor out_end(out[1]), err_end(err[1]);
    // Before fork: a child of a process with threads may not allocate.
    const std::vector<std::string> texts = environment_with(variables);
    std::vector<char*> arguments = pointers_to(command), entries = pointers_to(texts);
    const pid_t parent = getpid();
    // A signal that comes before the program runs must not find this process's handlers.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    id_ = fork();
    if (id_ != 0) pthread_sigmask(SIG_SETMASK, &before, nullptr);
    check(id_ >= 0, ErrorCode::kIo, "launch", "cannot start rank ", rank, ": ",
          std::strerror(errno));
    if (id_ > 0) {
      setpgid(id_, id_);  // also here, so that a signal that comes soon finds the group
      return;
    }
    setpgid(0, 0);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
      struct sigaction action {};
      sigaction(number, nullptr, &action);
      const bool is_nohup = number == SIGHUP && action.sa_handler == SIG_IGN;
      if (!is_nohup) signal(number, SIG_DFL);
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(128 + SIGTERM);
    const int input = open("/dev/null", O_RDONLY);
    dup2(input, STDIN_FILENO);
    dup2(out_end.number(), STDOUT_FILENO);
    dup2(err_end.number(), STDERR_FILENO);
    execve(path.c_str(), arguments.data(), entries.data());
    constexpr int kNotRun = 126;
    _exit(kNotRun);
  }
  ~Process() {
    if (!runs_) return;
    send(SIGKILL);
    waitpid(id_, nullptr, 0);
  }
  Process(Process&&) = delete;

  int rank() const { return rank_; }
  bool runs() const { return runs_; }
  std::vector<Lines>& streams() { return streams_; }
  /// The status of the process, or 128 + the signal that ended it.
  int status() const { return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_); }
  void send(int signal) {
    if (runs_) kill(-id_, signal);
  }
  /// Notices its end. Returns whether it has ended now.
  bool ended() {
    if (!runs_ || waitpid(id_, &status_, WNOHANG) != id_) return false;
    runs_ = false;
    return true;
  }

 private:
  int rank_;
  pid_t id_ = 0;
  int status_ = 0;
  bool runs_ = true;
  std::vector<Lines> streams_;  // stdout, stderr
};

void require_valid(const LaunchOptions& options) {
  const auto require = [](bool good, const auto&... parts) {
    check(good, ErrorCode::kInvalidArgument, "launch", parts...);
  };
  constexpr int kMaxProcesses = 1024, kMaxNodes = 1024;
  require(options.processes >= 1 && options.processes <= kMaxProcesses, "expected 1 to ",
          kMaxProcesses, " processes, got ", options.processes);
  require(options.nodes >= 1 && options.nodes <= kMaxNodes, "expected 1 to ", kMaxNodes,
          " machines, got ", options.nodes);
  require(options.node >= 0 && options.node < options.nodes, "expected a machine in [0, ",
          options.nodes, "), got ", options.node);
  require(options.port >= 0 && options.port <= 65535, "expected a port from 0 to 65535, got ",
          options.port);
  require(options.nodes == 1 || options.port > 0,
          "expected a port, the same on all machines, for more than one machine");
}

/// Several ranks until all have ended.
class Launch {
 public:
  explicit Launch(const LaunchOptions& options) : options_(options) {}

  /// first: the local rank of the first process to start.
  void start(const std::string& path, const std::vector<std::string>& command,
             const Variables& common, int first = 0) {
    const int size = options_.processes;
    for (int local = first; local < size; local++) {
      const int rank = options_.node * size + local;
      Variables variables = common;
      variables["RANK"] = std::to_string(rank);
      variables["LOCAL_RANK"] = std::to_string(local);
      processes_.emplace_back(std::make_unique<Process>(rank, path, command, variables));
    }
  }

  /// Waits for all.
  void run() {
    while (any_runs()) look();
    finish();
    if (failed_) report();
  }

  bool any_runs() const {
    return std::any_of(processes_.begin(), processes_.end(),
                       [](const auto& process) { return process->runs(); });
  }
  /// Waits a moment for output, passes signals on, and notices processes that have ended.
  void look() {
    wait_for_output(Clock::now() + kLookTime);
    if (const int signal = options_.signal ? options_.signal() : 0)
      for (const auto& process : processes_) process->send(signal);
    for (const auto& process : processes_)
      if (process->ended() && process->status() != 0) note_failure(*process);
    if (ends_ && Clock::now() >= kill_at_)
      for (const auto& process : processes_) process->send(SIGKILL);
  }
  /// Ends all that still run.
  void end() {
    if (std::exchange(ends_, true)) return;
    kill_at_ = Clock::now() + kGraceTime;
    for (const auto& process : processes_) process->send(SIGTERM);
  }
  /// Reads the rest of the output.
  void finish() {
    // Programs that the ranks have started may keep the streams open.
    for (const auto until = Clock::now() + kOutputTime; any_open() && Clock::now() < until;)
      wait_for_output(until);
  }
  bool has_failed() const { return failed_; }
  /// Throws the failure.
  [[noreturn]] void report() const {
    const int status = failed_->status();
    constexpr int kBadInput = 2;
    fail(status == kBadInput ? ErrorCode::kInvalidArgument : ErrorCode::kIo, "launch", "rank ",
         failed_->rank(), " ", ending_of(Finished{status, ""}),
         ended_others_ ? "; the other ranks were ended" : "");
  }

 private:
  bool any_open() const {
    for (const auto& process : processes_)
      for (const Lines& stream : process->streams())
        if (stream.is_open()) return true;
    return false;
  }

  void wait_for_output(Clock::time_point until) {
    std::vector<pollfd> polled;
    for (const auto& process : processes_)
      for (const Lines& stream : process->streams())
        if (stream.is_open()) polled.push_back({stream.number(), POLLIN, 0});
    poll(polled.data(), polled.size(), dist::poll_ms(until));
    for (const auto& process : processes_)
      for (size_t i = 0; i < process->streams().size(); i++)
        process->streams()[i].read([&](std::string_view line) {
          if (options_.on_line) options_.on_line(process->rank(), i == 1, line);
        });
  }

  void note_failure(Process& process) {
    if (failed_) return;
    failed_ = &process;
    for (const auto& other : processes_) ended_others_ = ended_others_ || other->runs();
    end();
  }

  const LaunchOptions& options_;
  std::vector<std::unique_ptr<Process>> processes_;
  Process* failed_ = nullptr;  // the first that failed
  bool ended_others_ = false;
  bool ends_ = false;  // all that run were asked to end
  Clock::time_point kill_at_;
};

/// The variables of all ranks.
Variables common_variables(const LaunchOptions& options, int port) {
  Variables common;
  common["WORLD_SIZE"] = std::to_string(options.processes * options.nodes);
  common["LOCAL_WORLD_SIZE"] = std::to_string(options.processes);
  common["MASTER_ADDR"] = options.address;
  common["MASTER_PORT"] = std::to_string(port);
  if (!environment("WICK_THREADS"))
    common["WICK_THREADS"] = std::to_string(std::max(1, num_threads() / options.processes));
  return common;
}

std::string program_of(const std::vector<std::string>& command) {
  check(!command.empty(), ErrorCode::kInvalidArgument, "launch", "expected a command");
  const std::optional<std::string> path = find_program(command[0]);
  check(path.has_value(), ErrorCode::kInvalidArgument, "launch", "no program \"", command[0],
        "\" was found");
  return *path;
}

int port_of(const LaunchOptions& options) {
  return options.port > 0 ? options.port : dist::Listener(options.address, 0).port();
}

/// The processes of a group whose rank 0 is this process, and a thread that watches them: the
/// system ends them with the thread that has started them.
class OtherRanks {
 public:
  OtherRanks(std::string path, std::vector<std::string> command, LaunchOptions options,
             Variables common, std::function<void(const std::string&)> on_failure)
      : options_(std::move(options)), on_failure_(std::move(on_failure)), running_(options_) {
    options_.signal = {};
    std::promise<void> started;
    std::future<void> is_started = started.get_future();
    watch_ = std::thread([this, path = std::move(path), command = std::move(command),
                          common = std::move(common), &started] {
      try {
        running_.start(path, command, common, 1);
      } catch (...) {
        started.set_exception(std::current_exception());
        return;
      }
      started.set_value();
      watch();
    });
    try {
      is_started.get();
    } catch (...) {
      watch_.join();
      throw;
    }
    if (!environment("WICK_THREADS")) set_num_threads(share_);
  }
  ~OtherRanks() {
    leaves_ = true;
    watch_.join();
    if (!environment("WICK_THREADS") && num_threads() == share_) set_num_threads(threads_);
  }
  OtherRanks(OtherRanks&&) = delete;

  /// Errors: the failure of a rank.
  void require_alive() const {
    const std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void watch() {
    std::optional<Clock::time_point> end_at;
    while (running_.any_runs()) {
      running_.look();
      if (running_.has_failed()) note_failure();
      if (leaves_ && !end_at) end_at = Clock::now() + kGraceTime;
      if (end_at && Clock::now() >= *end_at) running_.end();
    }
    running_.finish();
  }

  void note_failure() {
    const std::lock_guard lock(mutex_);
    if (failure_) return;
    try {
      running_.report();
    } catch (const Error& error) {
      failure_ = std::current_exception();
      if (on_failure_ && !leaves_) on_failure_(error.what());
    }
  }

  LaunchOptions options_;
  const int threads_ = num_threads(), share_ = std::max(1, threads_ / options_.processes);
  const std::function<void(const std::string&)> on_failure_;
  Launch running_;  // of the thread
  std::atomic<bool> leaves_{false};
  mutable std::mutex mutex_;
  std::exception_ptr failure_;  // under the mutex
  std::thread watch_;
};

}  // namespace

void launch(const std::vector<std::string>& command, const LaunchOptions& options) {
  require_valid(options);
  const std::string path = program_of(command);
  const Variables common = common_variables(options, port_of(options));
  Launch running(options);
  running.start(path, command, common);
  running.run();
}

ProcessGroup join_or_start(const std::vector<std::string>& command, const LaunchOptions& options,
                           std::function<void(const std::string&)> on_failure) {
  require_valid(options);
  check(options.nodes == 1, ErrorCode::kInvalidArgument, "launch", "expected one machine, got ",
        options.nodes);
  ProcessGroupOptions own = process_group_options();
  if (own.world_size > 1) {
    check(own.world_size == options.processes, ErrorCode::kInvalidArgument, "launch",
          "expected a group of ", options.processes, " ranks, a launcher has started ",
          own.world_size);
    constexpr double kLong = 1e6;  // the longest that there is
    if (own.rank > 0) own.timeout_seconds = kLong;
    return ProcessGroup::join(own);
  }
  own.rank = own.local_rank = 0;
  own.world_size = options.processes;
  own.address = options.address;
  own.port = port_of(options);
  if (options.processes == 1) return ProcessGroup::join(own);
  const auto others =
      std::make_shared<OtherRanks>(program_of(command), command, options,
                                   common_variables(options, own.port), std::move(on_failure));
  own.on_wait = [others] { others->require_alive(); };
  return ProcessGroup::join(own);
}

}  // namespace wick
