// Texts that the user names: a file, or stdin.
#pragma once
#include <functional>
#include <string>

namespace wick::cli {

/// The input's name in errors: the file, or "stdin" if `file` is empty.
std::string input_name(const std::string& file);
/// The whole input, also bytes that are no text. Errors: kInvalidArgument if it cannot be read.
std::string read_input(const std::string& file);
/// Calls f with each line of the input, as soon as it is there, and its place "NAME:NUMBER".
/// Errors: as read_input.
void for_each_line(const std::string& file,
                   const std::function<void(const std::string& line, const std::string& place)>& f);

}  // namespace wick::cli
