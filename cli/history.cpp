#include "history.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <utility>

#include "wick/base/error.h"
#include "wick/io/file.h"
#include "wick/io/json.h"

namespace wick::cli {
namespace {

namespace fs = std::filesystem;

std::string line_of(const std::string& text) { return to_json(text, -1) + "\n"; }

}  // namespace

std::string history_place() {
  const auto folder = [](const char* variable) {
    const char* value = std::getenv(variable);
    return std::string(value && *value == '/' ? value : "");
  };
  if (const std::string state = folder("XDG_STATE_HOME"); !state.empty())
    return state + "/wick/chat_history";
  const std::string home = folder("HOME");
  return home.empty() ? "" : home + "/.local/state/wick/chat_history";
}

TypedLines::TypedLines(const std::string& path) : path_(path) {
  if (path_.empty()) return;
  try {
    if (!is_there(path_)) return;
    std::istringstream in(read_file(path_));
    std::string line;
    while (std::getline(in, line)) {
      try {
        Setting value = parse_json_value(line, path_);
        if (auto* text = std::get_if<std::string>(&value.value)) lines_.push_back(std::move(*text));
      } catch (const Error&) {
      }
    }
    if (lines_.size() <= kMaxLines) return;
    const bool shorten = lines_.size() > 2 * kMaxLines;
    lines_.erase(lines_.begin(), lines_.end() - kMaxLines);
    if (!shorten) return;
    std::string all;
    for (const std::string& kept : lines_) all += line_of(kept);
    const mode_t mask = ::umask(S_IRWXG | S_IRWXO);
    write_file(path_, all);
    ::umask(mask);
  } catch (const Error&) {
    // An unreadable file counts as empty; add reports one that cannot be written.
  }
}

void TypedLines::add(const std::string& line) {
  lines_.push_back(line);
  if (path_.empty()) return;
  const std::string path = std::exchange(path_, "");
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK,
                          S_IRUSR | S_IWUSR);
  const std::string text = line_of(line);
  const bool good = file >= 0 && ::fchmod(file, S_IRUSR | S_IWUSR) == 0 &&
                    ::write(file, text.data(), text.size()) == ssize_t(text.size());
  const int reason = errno;
  if (file >= 0) ::close(file);
  check(good, ErrorCode::kIo, path, std::strerror(reason), "; the history is not kept");
  path_ = path;
}

}  // namespace wick::cli
