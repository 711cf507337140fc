// wick chat on a terminal: keys, commands, history.
#include <sys/stat.h>

#include "pty.h"

namespace wick::test {
namespace {

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

TEST(ChatOnATerminal, SaysThatTheContextIsFullAndForgets) {
  const Folder folder;
  write_chat_model(folder);
  Terminal terminal(endless(folder, {"--context", "40"}));
  terminal.until_prompt();
  terminal.type("hi\r");
  terminal.until("it fills the context of 40 tokens (--context)\r\n");
  terminal.until_prompt();
  terminal.type("more\r");
  terminal.until("the oldest turns are left out from now on (--context)\r\n");
  terminal.until("prefill: 16 tokens");  // known: <s> <turn>user_
  terminal.until_prompt();
  terminal.type("more\r");
  EXPECT_FALSE(contains(terminal.until(kEndOfAnswer), "left out"));  // said once
  terminal.until_prompt();
  terminal.type(std::string(50, 'x') + "\r");
  terminal.until("chat: the message takes 69 tokens, the context has 40\r\n");
  terminal.until_prompt();
  terminal.type("hi\r");
  terminal.until(kEndOfAnswer);
}

TEST(ChatOnATerminal, CommandsAnswer) {
  const Folder folder;
  write_chat_model(folder);
  Terminal terminal(endless(folder, {"--max-tokens", "3"}));
  const struct {
    const char *typed, *answer;
  } rows[] = {
      {"/clear\r", "a new conversation\r\n"},
      {"/system be brief\r", "a new conversation, with this system message\r\n"},
      {"/system\r", "a new conversation, without a system message\r\n"},
      {"/cler now\r", "unknown command /cler; /help lists them"},
  };
  for (const auto& row : rows) {
    terminal.until_prompt();
    terminal.type(row.typed);
    terminal.until(row.answer);
  }
  terminal.until_prompt();
  terminal.type(" /clear\r");
  terminal.until(kEndOfAnswer);
}

// The prompt: <s> <turn>user TEXT<end> <turn>assistant_
constexpr int kTokensAround = 1 + 6 + 1 + 11;

TEST(ChatOnATerminal, APastedTextOfSeveralLinesIsOneTurn) {
  const Folder folder;
  write_chat_model(folder);
  Terminal terminal(endless(folder, {"--max-tokens", "3"}), {"TERM=xterm"});
  terminal.until("\033[?2004h");
  terminal.until_prompt();
  terminal.type("a\033[200~b\rc\nd\033e\n\033[201~f\r");
  terminal.until("\033[?2004l");
  // "ab", "c" and "def", a line each; the ESC is gone.
  terminal.until("prefill: " + std::to_string(kTokensAround + 8) + " tokens");
  terminal.until_prompt();
  terminal.type("\x04");
  EXPECT_EQ(terminal.code(), 0);
}

TEST(ChatOnATerminal, KeepsItsLinesForLaterRunsUnreadableForOthers) {
  const Folder folder;
  write_chat_model(folder);
  const std::vector<std::string> arguments = {"chat",        "--device",     "cpu",
                                              folder.path(), "--max-tokens", "3"};
  // Without a UTF-8 locale, typed letters would be lost.
  const std::vector<std::string> environment = {"XDG_STATE_HOME=" + folder.path(), "LC_ALL=C"};
  const std::string file = folder / "wick/chat_history";
  {
    Terminal terminal(arguments, environment);
    terminal.until_prompt();
    terminal.type("Gr\u00f6\u00dfe \u65e5\u672c\r");
    terminal.until(kEndOfAnswer);
    terminal.until_prompt();
    terminal.type("\x04");
    EXPECT_EQ(terminal.code(), 0);
  }
  EXPECT_EQ(bytes_of(file), "\"Gr\u00f6\u00dfe \u65e5\u672c\"\n");
  struct stat info {};
  ASSERT_EQ(stat(file.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  {
    Terminal terminal(arguments, environment);
    terminal.until_prompt();
    terminal.type("\x10");
    terminal.until("Gr\u00f6\u00dfe \u65e5\u672c");
  }
  {
    std::vector<std::string> without = arguments;
    without.push_back("--no-history");
    Terminal terminal(without, environment);
    terminal.until_prompt();
    terminal.type("secret\r");
    terminal.until(kEndOfAnswer);
    terminal.until_prompt();
    terminal.type("\x04");
    EXPECT_EQ(terminal.code(), 0);
  }
  EXPECT_FALSE(contains(bytes_of(file), "secret"));
}

TEST(ChatOnATerminal, CtrlZStopsAndFgGoesOnWithTheLine) {
  const Folder folder;
  write_chat_model(folder);
  std::string command = WICK_PROGRAM;
  for (const std::string& argument : endless(folder, {"--max-tokens", "3"}))
    command += " " + argument;
  Terminal shell("/bin/bash", {"--norc", "--noprofile", "-i"}, {"PS1=shell$ ", "HISTFILE="});
  shell.until("shell$ ");
  shell.type(command + "\r");
  shell.until("/clear starts");
  shell.until_prompt();
  shell.type("ab");
  shell.until("ab");
  shell.type("\x1a");
  shell.until("Stopped");
  shell.until("shell$ ");
  shell.type("fg\r");
  shell.until("> ab");
  shell.type("c\r");
  shell.until("prefill: " + std::to_string(kTokensAround + 3) + " tokens");
  shell.until_prompt();
  shell.type("x\x03");  // still a key
  shell.until_prompt();
  shell.type("/exit\r");
  shell.until("shell$ ");
  shell.type("echo code $?\r");
  shell.until("code 0\r\n");
}

TEST(ChatOnATerminal, KnowsTheWindowsNewSize) {
  const Folder folder;
  write_chat_model(folder, 400);
  Terminal terminal(endless(folder, {"--max-tokens", "3"}), {"TERM=xterm"});
  terminal.resize(20);
  terminal.until_prompt();
  terminal.resize(100);
  // A line of 60 letters wraps in 20 columns, not in 100.
  terminal.type(std::string(60, 'x'));
  terminal.until(std::string(60, 'x'));
}

}  // namespace
}  // namespace wick::test
