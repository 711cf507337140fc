// wick chat on a terminal, and texts that reach one.
#include "../../../cli/terminal.h"

#include <poll.h>
#include <pty.h>
#include <termios.h>

#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "chat_model.h"

namespace wick::test {
namespace {

TEST(WithoutControls, KeepsTextNewlinesAndTabs) {
  const struct {
    std::string text, shown;
  } rows[] = {
      {"a\tb\n", "a\tb\n"},
      {"\x1b[2Ja", "[2Ja"},
      {std::string("a\0b\r\b\x7f", 6), "ab"},
      {"\xc2\x9b"
       "2J\xc2\x80",
       "2J"},
      {"\xc2\xa0\xc3\x9b \xe2\x82\xac \xf0\x9f\xa6\x8a",
       "\xc2\xa0\xc3\x9b \xe2\x82\xac \xf0\x9f\xa6\x8a"},
      {"\xc2", "\xc2"},
  };
  for (const auto& row : rows) EXPECT_EQ(cli::without_controls(row.text), row.shown);
}

/// The program on a terminal of its own.
class Terminal {
 public:
  explicit Terminal(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), WICK_PROGRAM);
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    child_ = forkpty(&terminal_, nullptr, nullptr, nullptr);
    if (child_ == 0) {
      setenv("TERM", "dumb", 1);
      execv(WICK_PROGRAM, pointers.data());
      _exit(127);
    }
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
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
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
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
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
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (output_.size() < count)
      if (!read_some(end)) {
        ADD_FAILURE() << "expected " << count << " bytes, got " << output_;
        return;
      }
  }
  /// The exit code once the program has ended.
  int code() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (read_some(end)) {
    }
    int status = 0;
    if (std::chrono::steady_clock::now() >= end || waitpid(child_, &status, 0) != child_) return -1;
    child_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
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

constexpr const char* kEndOfAnswer = " tokens/s\r\n";

/// The arguments of a chat with a model that never ends an answer by itself.
std::vector<std::string> endless(const Folder& folder, std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"chat", "--device", "cpu", "-m", folder.path(), "--temperature", "0",
                             "--logit-bias", "1=-1e9"});
  return more;
}

TEST(ChatOnATerminal, CtrlCEndsTheAnswerAndCtrlDTheProgram) {
  const Folder folder;
  write_chat_model(folder, 100'000);
  Terminal terminal(endless(folder, {"--context", "100000"}));
  EXPECT_TRUE(contains(terminal.until_prompt(), "/clear starts a new conversation"));
  terminal.type("hi\r");
  terminal.until("hi\r\n");
  terminal.at_least(100);  // the answer arrives as it is generated
  terminal.type("\x03");
  const std::string rest = terminal.until(kEndOfAnswer);
  EXPECT_FALSE(contains(rest, "the context is full")) << rest;
  terminal.until_prompt();
  terminal.type("\x04");
  EXPECT_EQ(terminal.code(), 0);
}

TEST(ChatOnATerminal, LinesAreEditedAndRemembered) {
  const Folder folder;
  write_chat_model(folder);
  Terminal terminal(endless(folder, {"--max-tokens", "3"}));
  terminal.until_prompt();
  terminal.type("xyz");
  terminal.until("xyz");
  terminal.type("\x03");  // discards the line
  terminal.until("\r\n");
  terminal.type("/help\r");
  terminal.until("/clear starts a new conversation");
  terminal.until_prompt();
  terminal.type(
      "bc\x01"
      "a\r");  // Ctrl-A: to the beginning of the line
  terminal.until(kEndOfAnswer);
  terminal.until_prompt();
  terminal.type("\x10");  // Ctrl-P: the line before
  terminal.until("abc");
  terminal.type("\r");
  terminal.until(kEndOfAnswer);
  terminal.until_prompt();
  terminal.type("/exit\r");
  EXPECT_EQ(terminal.code(), 0);
}

TEST(ChatOnATerminal, SaysThatTheContextIsFullAndStartsAnew) {
  const Folder folder;
  write_chat_model(folder);
  Terminal terminal(endless(folder, {"--context", "40"}));
  terminal.until_prompt();
  terminal.type("hi\r");
  terminal.until("the context is full; /clear starts a new conversation\r\n");
  terminal.until_prompt();
  terminal.type("more\r");
  terminal.until("the context 40; /clear starts a new conversation\r\n");
  terminal.until_prompt();
  terminal.type("/clear\r");
  terminal.until_prompt();
  terminal.type("hi\r");
  terminal.until(kEndOfAnswer);
}

TEST(ChatOnATerminal, ControlCharactersOfTheModelDoNotReachIt) {
  const Folder folder;
  write_chat_model(folder);
  // The token of "3" becomes ESC's, and the only one that is chosen.
  std::string tokenizer = bytes_of(folder / "tokenizer.json");
  const std::string three = "\"3\": 39";
  ASSERT_NE(tokenizer.find(three), tokenizer.npos);
  folder.write("tokenizer.json",
               tokenizer.replace(tokenizer.find(three), three.size(), "\"\\u011b\": 39"));
  const std::vector<std::string> flags = {"--max-tokens", "5",  "--logit-bias",
                                          "39=1e9",       "-p", "hi"};
  Terminal terminal(endless(folder, flags));
  const std::string shown = terminal.until(kEndOfAnswer);
  EXPECT_EQ(shown.find('\x1b'), shown.npos) << shown;
  EXPECT_EQ(terminal.code(), 0);
  std::string command;
  for (const std::string& argument : endless(folder, flags)) command += " " + argument;
  EXPECT_EQ(run(command).out, std::string(5, '\x1b') + "\n");  // a pipe gets the text as it is
}

}  // namespace
}  // namespace wick::test
