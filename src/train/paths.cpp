#include "train/paths.h"

#include <algorithm>
#include <filesystem>

#include "wick/base/error.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

void require(const std::error_code& error, const std::string& path) {
  check(!error, ErrorCode::kIo, path, error.message());
}

}  // namespace

std::string absolute_path(const std::string& path) {
  std::error_code error;
  const fs::path whole = fs::absolute(path, error);
  require(error, path);
  return whole.lexically_normal();
}

void make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  require(error, path);
}

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (entry->symlink_status(error).type() == fs::file_type::regular)
      files.push_back(entry->path());
  require(error, folder);
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace wick
