// The bytes that libFuzzer makes up, as a parser takes them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "wick/base/error.h"

namespace wick::fuzz {

inline std::string_view text_of(const uint8_t* bytes, size_t count) {
  return {reinterpret_cast<const char*>(bytes), count};
}

/// A file in memory that holds the bytes, as long as the object lives.
class File {
 public:
  File(const uint8_t* bytes, size_t count);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  const std::string& path() const { return path_; }

 private:
  int descriptor_;
  std::string path_;
};

/// Runs a parser, whose Errors are right answers; every other exception ends the program.
template <class Parser>
void parse(Parser&& parser) {
  try {
    parser();
  } catch (const Error&) {  // NOLINT: nothing to add
  }
}

}  // namespace wick::fuzz
