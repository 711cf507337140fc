// Texts of models, files and arguments on a terminal.
#include "pty.h"

namespace wick::test {
namespace {

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

TEST(OnATerminal, ControlCharactersOfArgumentsAndFilesDoNotReachIt) {
  const Folder folder;
  write_chat_model(folder);
  const std::string bad = "\x1b]0;t\x07\u009b2J\u202e";
  const std::string text = folder.write("text", bad);
  const std::vector<std::vector<std::string>> commands = {
      {bad},
      {"chat", "--" + bad},
      {"devices", bad},
      {"devices", "--device", bad},
      {"inspect", folder / bad},
      {"chat", folder / bad},
      {"chat", folder.path(), "--temperature", bad},
      {"train", "--data", folder / bad, "--out", folder / "x"},
      {"convert", folder.path(), folder / (bad + "/x")},
      {"embed", "--device", "cpu", folder.path(), "--text", bad},
      {"generate", "--device", "cpu", folder.path(), text, "--max-tokens", "2"},
      {"generate", "--device", "cpu", folder.path(), "-p", bad, "--json", "--max-tokens", "2"},
      {"detokenize", folder.path(), "--text", "[" + bad},
  };
  for (const auto& command : commands) {
    Terminal terminal(command);
    terminal.code();
    const std::string& shown = terminal.output();
    EXPECT_FALSE(shown.empty()) << command.front();
    for (const char* control : {"\x1b", "\x07", "\u009b", "\u202e"})
      EXPECT_FALSE(contains(shown, control)) << command.front() << ": " << shown;
  }
}

}  // namespace
}  // namespace wick::test
