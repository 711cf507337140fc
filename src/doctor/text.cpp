#include "doctor/text.h"

#include "doctor/files.h"

namespace wick::doctor {

constexpr size_t kColumns = 96;

void append_paragraph(std::string* out, const std::string& first, const std::string& text) {
  const std::string indent(first.size(), ' ');
  std::string line = first;
  bool is_empty = true;
  for (const std::string& word : words_of(text)) {
    if (!is_empty && line.size() + 1 + word.size() > kColumns) {
      *out += line + "\n";
      line = indent;
      is_empty = true;
    }
    line += (is_empty ? "" : " ") + word;
    is_empty = false;
  }
  *out += line + "\n";
}

std::string padded(const std::string& text, size_t width) {
  return text + std::string(text.size() < width ? width - text.size() : 1, ' ');
}

std::string counted(int64_t n, const std::string& word) {
  return std::to_string(n) + " " + word + (n == 1 ? "" : "s");
}

}  // namespace wick::doctor
