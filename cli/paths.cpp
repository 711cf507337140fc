#include "paths.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "failure.h"
#include "wick/io/file.h"

namespace wick::cli {

namespace fs = std::filesystem;

void require_place(const std::string& out, const std::string& in, bool replace) {
  std::error_code error;
  const fs::path whole = fs::absolute(out, error);
  check(!error, ErrorCode::kIo, out, error.message());
  const fs::path folder = whole.lexically_normal().parent_path();
  if (!is_folder(folder)) fail_input(out, "no folder ", folder.string());
  if (!is_there(out)) return;
  if (fs::equivalent(out, in, error)) fail_input(out, "expected another place than the input's");
  if (!replace) fail_input(out, "exists; --force replaces it");
}

std::string this_program() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return {path, size_t(std::max<ssize_t>(length, 0))};
}

}  // namespace wick::cli
