#include "wick/dist/launch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>

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

  void start(const std::string& path, const std::vector<std::string>& command,
             const Variables& common) {
    const int size = options_.processes;
    for (int local = 0; local < size; local++) {
      const int rank = options_.node * size + local;
      Variables variables = common;
      variables["RANK"] = std::to_string(rank);
      variables["LOCAL_RANK"] = std::to_string(local);
      processes_.emplace_back(std::make_unique<Process>(rank, path, command, variables));
    }
  }

  /// Waits for all.
  void run() {
    while (any_runs()) {
      wait_for_output(Clock::now() + kLookTime);
      if (const int signal = options_.signal ? options_.signal() : 0)
        for (const auto& process : processes_) process->send(signal);
      for (const auto& process : processes_)
        if (process->ended() && process->status() != 0) note_failure(*process);
      if (failed_ && Clock::now() >= kill_at_)
        for (const auto& process : processes_) process->send(SIGKILL);
    }
    // Programs that the ranks have started may keep the streams open.
    for (const auto until = Clock::now() + kOutputTime; any_open() && Clock::now() < until;)
      wait_for_output(until);
    if (failed_) report();
  }

 private:
  bool any_runs() const {
    return std::any_of(processes_.begin(), processes_.end(),
                       [](const auto& process) { return process->runs(); });
  }
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
    kill_at_ = Clock::now() + kGraceTime;
    for (const auto& other : processes_) {
      ended_others_ = ended_others_ || other->runs();
      other->send(SIGTERM);
    }
  }

  [[noreturn]] void report() const {
    const int status = failed_->status();
    constexpr int kBadInput = 2;
    fail(status == kBadInput ? ErrorCode::kInvalidArgument : ErrorCode::kIo, "launch", "rank ",
         failed_->rank(), " ", ending_of(Finished{status, ""}),
         ended_others_ ? "; the other ranks were ended" : "");
  }

  const LaunchOptions& options_;
  std::vector<std::unique_ptr<Process>> processes_;
  Process* failed_ = nullptr;  // the first that failed
  bool ended_others_ = false;
  Clock::time_point kill_at_;
};

}  // namespace

void launch(const std::vector<std::string>& command, const LaunchOptions& options) {
  require_valid(options);
  check(!command.empty(), ErrorCode::kInvalidArgument, "launch", "expected a command");
  const std::optional<std::string> path = find_program(command[0]);
  check(path.has_value(), ErrorCode::kInvalidArgument, "launch", "no program \"", command[0],
        "\" was found");
  const int port = options.port > 0 ? options.port : dist::Listener(options.address, 0).port();
  Variables common;
  common["WORLD_SIZE"] = std::to_string(options.processes * options.nodes);
  common["LOCAL_WORLD_SIZE"] = std::to_string(options.processes);
  common["MASTER_ADDR"] = options.address;
  common["MASTER_PORT"] = std::to_string(port);
  if (!environment("WICK_THREADS"))
    common["WICK_THREADS"] = std::to_string(std::max(1, num_threads() / options.processes));
  Launch running(options);
  running.start(*path, command, common);
  running.run();
}

}  // namespace wick
