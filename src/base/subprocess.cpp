#include "base/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>

#include "base/environment.h"
#include "wick/base/file_error.h"

namespace wick {
namespace {

constexpr size_t kMaxOutput = 1 << 20;

bool is_program(const std::string& path) {
  struct stat facts;
  return stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) &&
         access(path.c_str(), X_OK) == 0;
}

/// Notes SIGINT while one instance or more lives, and passes it on to the handler that was there.
class InterruptNote {
 public:
  InterruptNote() {
    const std::lock_guard lock(mutex_);
    if (living_++ == 0) {
      struct sigaction action {};
      sigaction(SIGINT, nullptr, &before_);
      ignored_ = !(before_.sa_flags & SA_SIGINFO) && before_.sa_handler == SIG_IGN;
      action.sa_sigaction = note;
      // Python's reads are to fail with EINTR, as they would without this handler.
      action.sa_flags = SA_SIGINFO | (before_.sa_flags & (SA_ONSTACK | SA_RESTART));
      action.sa_mask = before_.sa_mask;
      if (!ignored_) sigaction(SIGINT, &action, nullptr);
    }
    seen_ = count_;
  }
  ~InterruptNote() {
    const std::lock_guard lock(mutex_);
    if (--living_ > 0 || ignored_) return;
    struct sigaction now {};
    sigaction(SIGINT, nullptr, &now);
    // Another handler that was set meanwhile stays.
    if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == note)
      sigaction(SIGINT, &before_, nullptr);
    if (owed_.exchange(false)) raise(SIGINT);
  }
  InterruptNote(const InterruptNote&) = delete;
  InterruptNote& operator=(const InterruptNote&) = delete;

  bool interrupted() const { return count_ != seen_; }

 private:
  static void note(int number, siginfo_t* info, void* context) {
    count_++;
    if (before_.sa_flags & SA_SIGINFO)
      before_.sa_sigaction(number, info, context);
    else if (before_.sa_handler == SIG_DFL)
      owed_ = true;  // the process ends when the program is gone
    else
      before_.sa_handler(number);
  }

  static inline std::mutex mutex_;
  static inline int living_ = 0;
  static inline bool ignored_ = false;
  static inline struct sigaction before_ {};
  static inline std::atomic<int> count_{0};
  static inline std::atomic<bool> owed_{false};
  int seen_ = 0;
};

/// A program that runs in a process group of its own, so that all that it has started can be killed.
class Child {
 public:
  Child(const std::vector<std::string>& arguments, int output) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    std::vector<char*> argv;
    for (const std::string& argument : arguments)
      argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    error_ = posix_spawn(&id_, argv[0], &actions, &attributes, argv.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
  }
  ~Child() {
    if (error_ != 0 || ended_) return;
    kill(-id_, SIGKILL);
    // A driver that is hung keeps a killed program for as long as it is.
    for (int wait_ms = 0; wait_ms < kKillMs && waitpid(id_, nullptr, WNOHANG) == 0; wait_ms += 10)
      poll(nullptr, 0, 10);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  int error() const { return error_; }  // of the start
  /// Returns false while it runs.
  bool ended(const std::string& path) {
    const pid_t found = waitpid(id_, &status_, WNOHANG);
    ended_ = found == id_;
    check(found >= 0 || errno == EINTR, ErrorCode::kIo, path,
          "cannot wait for it: ", std::strerror(errno));
    return ended_;
  }
  int status() const {
    return WIFEXITED(status_) ? WEXITSTATUS(status_) : kSignalled + WTERMSIG(status_);
  }

  static constexpr int kSignalled = 128;
  static constexpr int kKillMs = 5000;

 private:
  pid_t id_ = 0;
  int error_ = 0, status_ = 0;
  bool ended_ = false;
};

struct Descriptor {
  int number;
  ~Descriptor() { close(number); }
};

}  // namespace

std::optional<std::string> find_program(const std::string& name) {
  if (name.find('/') != std::string::npos)
    return is_program(name) ? std::optional(name) : std::nullopt;
  const std::string folders = environment("PATH").value_or("/usr/local/bin:/usr/bin:/bin");
  for (size_t begin = 0; begin <= folders.size();) {
    const size_t end = std::min(folders.find(':', begin), folders.size());
    // An empty entry means the current folder; programs are never run from there.
    if (end > begin && folders[begin] == '/')
      if (const std::string path = folders.substr(begin, end - begin) + "/" + name;
          is_program(path))
        return path;
    begin = end + 1;
  }
  return std::nullopt;
}

std::string ending_of(const Finished& finished) {
  const int signal = finished.status - Child::kSignalled;
  if (signal <= 0) return "exits with status " + std::to_string(finished.status);
  const char* const name = sigdescr_np(signal);
  return "is ended by signal " + std::to_string(signal) + " (" + (name ? name : "unknown") + ")";
}

Finished run_program(const std::vector<std::string>& arguments, const ProgramLimits& limits,
                     const std::function<void(std::string_view)>& on_output) {
  using Clock = std::chrono::steady_clock;
  constexpr int kLookMs = 50;  // how often SIGINT is noticed that another thread took
  const std::string& path = arguments[0];
  int ends[2];
  check(pipe2(ends, O_CLOEXEC) == 0, ErrorCode::kIo, path,
        "cannot create a pipe: ", std::strerror(errno));
  const Descriptor output{ends[0]};
  const InterruptNote note;
  Child child(arguments, ends[1]);
  close(ends[1]);
  if (child.error() != 0)
    fail_file(child.error(), path, "cannot be run: ", std::strerror(child.error()));
  const auto end = Clock::now() + limits.time;
  auto last_output = Clock::now();
  const auto seconds = [](std::chrono::milliseconds time) {
    return std::chrono::duration_cast<std::chrono::seconds>(time).count();
  };
  const auto go_on = [&] {
    check(!note.interrupted(), ErrorCode::kIo, path, "interrupted");
    check(Clock::now() < end, ErrorCode::kIo, path, "still runs after ", seconds(limits.time),
          " s; it was ended");
    check(Clock::now() < last_output + limits.silence, ErrorCode::kIo, path, "no output for ",
          seconds(limits.silence), " s; it was ended");
  };
  Finished result{};
  char buffer[4096];
  for (pollfd wait{output.number, POLLIN, 0};;) {
    go_on();
    if (poll(&wait, 1, kLookMs) <= 0) continue;
    const ssize_t n = read(output.number, buffer, sizeof buffer);
    if (n == 0 || (n < 0 && errno != EINTR)) break;
    // Keep reading beyond the limit, or the program would block on the full pipe forever.
    if (n > 0) last_output = Clock::now();
    if (n > 0 && on_output)
      on_output({buffer, size_t(n)});
    else if (n > 0 && result.output.size() < kMaxOutput)
      result.output.append(buffer, size_t(n));
  }
  // It has closed its output: most end at once.
  for (int wait_ms = 0; !child.ended(path); wait_ms = std::min(wait_ms + 1, kLookMs)) {
    go_on();
    poll(nullptr, 0, wait_ms);
  }
  result.status = child.status();
  return result;
}

}  // namespace wick
