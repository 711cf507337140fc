// Files of the examined machine: /proc, /sys, /etc. Missing and unreadable ones count as unknown.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace wick::doctor {

/// Paths are absolute; the root stands before them.
class Files {
 public:
  explicit Files(std::string root) : root_(std::move(root)) {}

  bool has(const std::string& path) const;
  /// The file's text, at most 64 KiB, without spaces at its ends; "" if it cannot be read.
  std::string text(const std::string& path) const;
  std::vector<std::string> lines(const std::string& path) const;
  /// The integer that the file begins with.
  std::optional<int64_t> number(const std::string& path) const;
  /// The names in a folder, sorted.
  std::vector<std::string> names(const std::string& folder) const;
  /// The value of a line "KEY=value", without quotes; "" if there is no such line.
  std::string value(const std::string& path, const std::string& key) const;

 private:
  std::string root_;
};

/// The words of a text, which spaces and tabs separate.
std::vector<std::string> words_of(const std::string& text);
/// A text as a number in a base, whole; nullopt if it is not one.
std::optional<int64_t> parse_number(const std::string& text, int base = 10);

}  // namespace wick::doctor
