#include "load/own_inputs.h"

#include <filesystem>

#include "wick/base/error.h"
#include "wick/io/file.h"
#include "wick/load/load_model.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

/// The files of a folder, and of the folders in it, but for GGUF files: these are other models.
std::vector<fs::path> files_of_folder(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  constexpr auto kSkip = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator entry(folder, kSkip, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry.depth() > 1) entry.disable_recursion_pending();
    if (entry->path().extension() != ".gguf") files.push_back(entry->path());
  }
  return files;
}

/// A GGUF file, with the other parts of its set: model-00001-of-00003.gguf and so on.
std::vector<fs::path> files_of_set(const fs::path& file) {
  std::vector<fs::path> files = {file};
  constexpr size_t kEnding = std::string_view("-00001-of-00003.gguf").size(), kNumber = 6;
  const std::string name = file.filename();
  if (name.size() <= kEnding || name.compare(name.size() - 14, 4, "-of-") != 0) return files;
  const std::string begin = name.substr(0, name.size() - kEnding + 1),
                    ending = name.substr(name.size() - kEnding + kNumber);
  std::error_code error;
  const fs::path folder = file.parent_path().empty() ? "." : file.parent_path();
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string other = entry->path().filename();
    if (other.size() == name.size() && other.starts_with(begin) && other.ends_with(ending))
      files.push_back(entry->path());
  }
  return files;
}

}  // namespace

void require_other_files(const std::string& in, const std::vector<std::string>& outs) {
  const std::string place = model_path(in);
  const std::vector<fs::path> inputs =
      is_folder(place) ? files_of_folder(place) : files_of_set(place);
  for (const std::string& out : outs)
    for (const fs::path& input : inputs) {
      std::error_code error;
      check(!fs::equivalent(out, input, error), ErrorCode::kInvalidArgument, out,
            "expected a place other than the files of the input ", in, ", got its ",
            input.filename().string());
    }
}

}  // namespace wick
