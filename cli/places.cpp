#include "places.h"

#include "failure.h"
#include "ranges.h"
#include "wick/io/file.h"

namespace wick::cli {

void Places::add(CLI::App& command, const std::string& model_description,
                 const FilePlaces& files_taken) {
  command_ = command.get_name();
  takes_ = files_taken;
  command.add_option("-m,--model", path, model_description);
  std::string then;
  if (!takes_.text.empty()) then += ", then " + takes_.text;
  if (takes_.most > 0) then += ", then " + takes_.description;
  command.add_option("path", arguments_, "the model, unless -m names it" + then)
      ->expected(0, int(kMaxCounted));
}

void Places::settle() {
  auto next = arguments_.begin();
  if (path.empty() && next != arguments_.end()) path = *next++;
  if (path.empty())
    fail_input(command_, "--model is required: wick ", command_, " MODEL, or -m MODEL");
  if (!takes_.text.empty()) {
    if (arguments_.end() - next < 2)
      fail_input(command_, "expected ", takes_.text, ", then ", takes_.description);
    text = *next++;
    // Else a forgotten text would be replaced by the first file's name.
    if (reading_input([&] { return is_there(text) && !is_folder(text); }))
      fail_input(command_, "expected ", takes_.text, " before the files, got the file ", text);
  }
  files.assign(next, arguments_.end());
  const std::string hint =
      takes_.text_flag.empty() ? "" : "; " + takes_.text_flag + " takes a text";
  if (files.size() > takes_.most)
    fail_input(command_, "unexpected argument \"", files[takes_.most], "\"", hint);
  for (std::string& file : files) {
    if (file == "-") file.clear();
    if (!file.empty() && !reading_input([&] { return is_there(file); }))
      fail_input(file, "No such file or directory", hint);
  }
  if (files.empty()) files.push_back("");
}

}  // namespace wick::cli
