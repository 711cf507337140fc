#include "input.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <iterator>
#include <sstream>

#include "failure.h"
#include "wick/io/file.h"

namespace wick::cli {
namespace {

/// std::cin reads through stdio, which alone knows whether it ended by an error.
void require_stdin_was_read() {
  if (std::ferror(stdin)) fail_input(input_name(""), std::strerror(errno));
}

}  // namespace

std::string input_name(const std::string& file) { return file.empty() ? "stdin" : file; }

std::string read_input(const std::string& file) {
  if (!file.empty()) return reading_input([&] { return read_file(file); });
  std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  require_stdin_was_read();
  return text;
}

void for_each_line(
    const std::string& file,
    const std::function<void(const std::string& line, const std::string& place)>& f) {
  std::istringstream content(file.empty() ? "" : read_input(file));
  std::istream& in = file.empty() ? std::cin : content;
  std::string line;
  for (int64_t number = 1; std::getline(in, line); number++)
    f(line, input_name(file) + ":" + std::to_string(number));
  if (file.empty()) require_stdin_was_read();
}

}  // namespace wick::cli
