#include "hub/hub_paths.h"

#include <algorithm>

#include "base/utf8.h"

namespace wick::hub {
namespace {

constexpr size_t kMaxRepositoryPart = 96;  // bytes, as the hub has it
constexpr size_t kMaxPart = 255, kMaxPath = 1024;

bool is_letter_or_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_hexadecimal(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == text.npos;
}

/// Whether f holds for each part of a text between slashes; false for an empty part.
template <class F>
bool all_parts(std::string_view text, const F& f) {
  if (text.empty() || text.size() > kMaxPath) return false;
  for (size_t from = 0; from <= text.size();) {
    const size_t to = std::min(text.find('/', from), text.size());
    const std::string_view part = text.substr(from, to - from);
    if (part.empty() || part.size() > kMaxPart || !f(part)) return false;
    from = to + 1;
  }
  return true;
}

bool is_control(char c) { return uint8_t(c) < 0x20 || c == 0x7f; }

}  // namespace

bool is_repository_part(std::string_view text) {
  if (text.empty() || text.size() > kMaxRepositoryPart) return false;
  const auto is_end = [](char c) { return c == '-' || c == '.'; };
  if (is_end(text.front()) || is_end(text.back())) return false;
  if (text.find("--") != text.npos || text.find("..") != text.npos) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.';
  });
}

bool is_repository(std::string_view text) {
  const size_t slash = text.find('/');
  return slash != text.npos && is_repository_part(text.substr(0, slash)) &&
         is_repository_part(text.substr(slash + 1));
}

// Source: git's check-ref-format.
bool is_revision(std::string_view text) {
  if (text.find("@{") != text.npos || text == "@" || !is_utf8(text)) return false;
  return all_parts(text, [](std::string_view part) {
    return part.front() != '.' && part.back() != '.' && !part.ends_with(".lock") &&
           part.find("..") == part.npos && part.find_first_of(" ~^:?*[\\") == part.npos &&
           std::none_of(part.begin(), part.end(), is_control);
  });
}

bool is_commit(std::string_view text) { return text.size() == 40 && is_hexadecimal(text); }

bool is_digest(std::string_view text) {
  return (text.size() == 40 || text.size() == 64) && is_hexadecimal(text);
}

bool is_file_path(std::string_view text) {
  return is_utf8(text) && all_parts(text, [](std::string_view part) {
           return part != "." && part != ".." && std::none_of(part.begin(), part.end(), is_control);
         });
}

}  // namespace wick::hub
