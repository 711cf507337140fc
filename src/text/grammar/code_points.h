// Sets of Unicode's characters, and their UTF-8.
#pragma once
#include <array>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace wick::grammars {

/// A set of Unicode scalar values: U+0000 to U+10FFFF without surrogates.
class CodePoints {
 public:
  struct Range {
    char32_t first, last;
    bool operator==(const Range&) const = default;
  };

  CodePoints() = default;
  /// The characters of all ranges; surrogates among them, and ranges that end before they begin,
  /// are left out.
  explicit CodePoints(std::vector<Range> ranges);
  CodePoints(std::initializer_list<Range> ranges) : CodePoints(std::vector<Range>(ranges)) {}
  /// Every scalar value.
  static CodePoints all();

  CodePoints with(const CodePoints& other) const;
  CodePoints complement() const;
  CodePoints without(const CodePoints& other) const;
  bool empty() const { return ranges_.empty(); }
  bool contains(char32_t one) const;
  bool is_ascii() const { return ranges_.empty() || ranges_.back().last < 0x80; }
  /// Sorted; neither overlapping nor adjacent.
  const std::vector<Range>& ranges() const { return ranges_; }

 private:
  std::vector<Range> ranges_;
};

struct ByteRange {
  uint8_t first, last;
};

/// The characters whose UTF-8 has `length` bytes, each in the range at its place.
struct ByteSequence {
  std::array<ByteRange, 4> bytes = {};
  int length = 0;
};

/// The UTF-8 of the characters, each in exactly one sequence.
std::vector<ByteSequence> utf8_sequences(const CodePoints& set);

}  // namespace wick::grammars
