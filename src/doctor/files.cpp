#include "doctor/files.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace wick::doctor {
namespace {

constexpr const char* kSpaces = " \t\r\n";
constexpr size_t kMaxText = 64 << 10;

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(kSpaces);
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(kSpaces) - first + 1);
}

}  // namespace

bool Files::has(const std::string& path) const {
  struct stat facts;
  return stat((root_ + path).c_str(), &facts) == 0;
}

std::string Files::text(const std::string& path) const {
  struct stat facts;
  // A pipe or a device would block.
  if (stat((root_ + path).c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return "";
  std::ifstream file(root_ + path, std::ios::binary);
  std::string text(kMaxText, '\0');  // files of /proc and /sys have no size
  file.read(text.data(), std::streamsize(text.size()));
  text.resize(size_t(std::max<std::streamsize>(file.gcount(), 0)));
  return trimmed(text);
}

std::vector<std::string> Files::lines(const std::string& path) const {
  std::istringstream in(text(path));
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(trimmed(line));
  return lines;
}

std::optional<int64_t> Files::number(const std::string& path) const {
  const std::vector<std::string> words = words_of(text(path));
  return words.empty() ? std::nullopt : parse_number(words[0]);
}

std::vector<std::string> Files::names(const std::string& folder) const {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(root_ + folder, error), end;
       !error && entry != end; entry.increment(error))
    names.push_back(entry->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string Files::value(const std::string& path, const std::string& key) const {
  for (const std::string& line : lines(path)) {
    if (line.compare(0, key.size() + 1, key + "=") != 0) continue;
    std::string value = trimmed(line.substr(key.size() + 1));
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
      value = value.substr(1, value.size() - 2);
    return value;
  }
  return "";
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

std::optional<int64_t> parse_number(const std::string& text, int base) {
  const size_t start = base == 16 && (text.starts_with("0x") || text.starts_with("0X")) ? 2 : 0;
  int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data() + start, end, number, base);
  if (error != std::errc() || at != end || start == text.size()) return std::nullopt;
  return number;
}

}  // namespace wick::doctor
