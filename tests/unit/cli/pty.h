// The program on a terminal that the test types on and reads from.
#pragma once
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <termios.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "chat_model.h"

namespace wick::test {

/// The program on a terminal of its own.
class Terminal {
 public:
  /// Runs wick with these arguments and "NAME=VALUE" in the environment, where TERM is dumb unless
  /// it is among them.
  explicit Terminal(const std::vector<std::string>& arguments,
                    const std::vector<std::string>& environment = {}) {
    start(WICK_PROGRAM, arguments, environment);
  }
  /// Runs another program.
  Terminal(const std::string& program, const std::vector<std::string>& arguments,
           const std::vector<std::string>& environment) {
    start(program, arguments, environment);
  }
  ~Terminal() {
    if (child_ > 0) {
      kill(child_, SIGKILL);
      waitpid(child_, nullptr, 0);
    }
    close(terminal_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  void type(const std::string& keys) {
    EXPECT_EQ(write(terminal_, keys.data(), keys.size()), ssize_t(keys.size()));
  }
  /// The output until `text` comes, and without it.
  std::string until(const std::string& text) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    size_t at;
    while ((at = output_.find(text)) == output_.npos) {
      if (!read_some(end)) {
        ADD_FAILURE() << "expected " << text << ", got " << output_;
        return "";
      }
    }
    const std::string before = output_.substr(0, at);
    output_.erase(0, at + text.size());
    return before;
  }
  /// The output until a prompt, once keys reach the editor: it shows the prompt before it takes the
  /// terminal over, whose line mode would swallow Ctrl-D.
  std::string until_prompt() {
    const std::string before = until("> ");
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    termios settings{};
    while (tcgetattr(terminal_, &settings) == 0 && (settings.c_lflag & ICANON) != 0) {
      if (std::chrono::steady_clock::now() >= end) {
        ADD_FAILURE() << "the editor does not read";
        break;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return before;
  }
  /// Waits for so many bytes of output.
  void at_least(size_t count) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (output_.size() < count)
      if (!read_some(end)) {
        ADD_FAILURE() << "expected " << count << " bytes, got " << output_;
        return;
      }
  }
  /// The exit code once the program has ended.
  int code() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (read_some(end)) {
    }
    int status = 0;
    if (std::chrono::steady_clock::now() >= end || waitpid(child_, &status, 0) != child_) return -1;
    child_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  /// The output that is not consumed by until.
  const std::string& output() const { return output_; }
  /// Changes the window's size.
  void resize(unsigned short columns) {
    const winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    EXPECT_EQ(ioctl(terminal_, TIOCSWINSZ, &size), 0);
  }

 private:
  void start(const std::string& program, std::vector<std::string> arguments,
             const std::vector<std::string>& environment) {
    arguments.insert(arguments.begin(), program);
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    child_ = forkpty(&terminal_, nullptr, nullptr, nullptr);
    if (child_ != 0) return;
    setenv("TERM", "dumb", 1);
    for (const std::string& entry : environment) putenv(strdup(entry.c_str()));
    execv(program.c_str(), pointers.data());
    _exit(127);
  }
  /// Returns false at the end of the output or of the time.
  bool read_some(std::chrono::steady_clock::time_point end) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    pollfd waiting{.fd = terminal_, .events = POLLIN, .revents = 0};
    if (left.count() <= 0 || poll(&waiting, 1, int(left.count())) <= 0) return false;
    char bytes[4096];
    const ssize_t count = read(terminal_, bytes, sizeof bytes);
    if (count <= 0) return false;
    output_.append(bytes, size_t(count));
    return true;
  }

  pid_t child_ = -1;
  int terminal_ = -1;
  std::string output_;
};

inline constexpr const char* kEndOfAnswer = " tokens/s\r\n";

/// The arguments of a chat with a model that never ends an answer by itself.
inline std::vector<std::string> endless(const Folder& folder, std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"chat", "--no-history", "--device", "cpu", "-m", folder.path(),
                             "--temperature", "0", "--logit-bias", "1=-1e9"});
  return more;
}

}  // namespace wick::test
