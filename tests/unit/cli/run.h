// Runs the program `wick` and looks at its output and its exit code.
#pragma once
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace wick::test {

struct Outcome {
  int code = -1;
  std::string out, err;
};

/// Runs `ENVIRONMENT wick ARGUMENTS` in a shell.
inline Outcome run(const std::string& arguments, const std::string& environment = "") {
  Outcome outcome;
  char err_file[] = "/tmp/wick-cli-XXXXXX";
  close(mkstemp(err_file));
  const std::string command = environment + " '" WICK_PROGRAM "' " + arguments + " 2> " + err_file;
  const auto read_all = [](FILE* file) {
    std::string text;
    std::array<char, 4096> buffer;
    for (size_t n; (n = fread(buffer.data(), 1, buffer.size(), file)) > 0;)
      text.append(buffer.data(), n);
    return text;
  };
  FILE* out = popen(command.c_str(), "r");
  outcome.out = read_all(out);
  const int status = pclose(out);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  FILE* err = fopen(err_file, "r");
  outcome.err = read_all(err);
  fclose(err);
  remove(err_file);
  return outcome;
}

inline bool begins(const std::string& text, const std::string& with) {
  return text.compare(0, with.size(), with) == 0;
}
inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Bad input: nothing on stdout, one line on stderr that begins with the program's name, exit
/// code 2.
inline void expect_bad_input(const Outcome& outcome, const std::string& part) {
  EXPECT_EQ(outcome.code, 2) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(begins(outcome.err, "wick: ")) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, part)) << outcome.err;
  EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
}

/// A folder that goes away with it.
class Folder {
 public:
  Folder() {
    char name[] = "/tmp/wick-cli-XXXXXX";
    path_ = mkdtemp(name);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  /// Writes a file there and gives its path.
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(*this / name, std::ios::binary) << text;
    return *this / name;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace wick::test
