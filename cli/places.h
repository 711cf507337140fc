// The rule for arguments without a flag, the same for every command: each is a path. The first is
// the model unless -m names it; the others are files of input. "-" is stdin, and so is no file.
// Texts have flags; the query of `wick rank`, which stands between the model and the files, is the
// exception.
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace wick::cli {

/// The files of input that a command takes.
struct FilePlaces {
  size_t most = 0;
  std::string description = "";
  std::string text_flag = "";  // takes a text instead; errors name it where a text may be meant
  std::string text = "";       // the name of a text before the files; "": there is no such text.
                               // A command that has one needs files too
};

/// The arguments of a command that are paths.
class Places {
 public:
  std::string path;                // the model's
  std::string text;                // before the files, of a command that takes one
  std::vector<std::string> files;  // of input; "" is stdin

  void add(CLI::App& command, const std::string& model_description, const FilePlaces& files);
  /// Whether the command line names a model.
  bool has_model() const { return !path.empty() || !arguments_.empty(); }
  /// Fills path, text and files from the parsed command line. Errors: kInvalidArgument for a
  /// missing model or text, too many arguments, or a file that does not exist.
  void settle();

 private:
  std::string command_;
  FilePlaces takes_;
  std::vector<std::string> arguments_;
};

}  // namespace wick::cli
