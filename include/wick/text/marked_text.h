// A text of which some parts come from users.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace wick {

/// Bytes [begin, end) of a text.
struct ByteRange {
  int64_t begin = 0, end = 0;
  bool operator==(const ByteRange&) const = default;
};

/// A text and the parts of it that come from users: in order, apart from each other, whole
/// characters.
struct MarkedText {
  std::string text;
  std::vector<ByteRange> user;
};

}  // namespace wick
