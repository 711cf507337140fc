// Lines of a report.
#pragma once
#include <cstdint>
#include <string>

namespace wick::doctor {

/// Appends a text, broken into lines of at most 96 columns. The first one begins with `first`, the
/// others with as many spaces.
void append_paragraph(std::string* out, const std::string& first, const std::string& text);
/// The text with spaces up to the width, one at least.
std::string padded(const std::string& text, size_t width);

/// "1 case", "2 cases".
std::string counted(int64_t n, const std::string& word);

}  // namespace wick::doctor
