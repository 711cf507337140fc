#include "wick/io/file.h"

#include <deque>
#include <filesystem>

#include "base/file.h"
#include "wick/base/file_error.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

fs::file_status status_of(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  // A missing file is no error: its type is not_found.
  if (status.type() == fs::file_type::none) fail_file(error.value(), path, error.message());
  return status;
}

}  // namespace

std::string read_file(const std::string& path) { return read_text_file(path); }
void write_file(const std::string& path, std::string_view bytes) { write_text_file(path, bytes); }

void require_writable(const std::vector<FileSize>& files) {
  std::deque<AtomicFile> parts;  // never committed
  for (const FileSize& file : files) parts.emplace_back(file.path).reserve(file.bytes);
}

bool is_there(const std::string& path) { return fs::exists(status_of(path)); }
bool is_folder(const std::string& path) { return fs::is_directory(status_of(path)); }

}  // namespace wick
