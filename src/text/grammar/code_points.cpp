#include "text/grammar/code_points.h"

#include <algorithm>
#include <utility>

namespace wick::grammars {
namespace {

constexpr char32_t kLast = 0x10ffff;
constexpr CodePoints::Range kSurrogates = {0xd800, 0xdfff};

ByteSequence encode(char32_t first, char32_t last, int length) {
  ByteSequence sequence{.length = length};
  constexpr uint8_t kLeads[] = {0, 0, 0xc0, 0xe0, 0xf0};
  for (int i = length - 1; i > 0; i--, first >>= 6, last >>= 6)
    sequence.bytes[size_t(i)] = {uint8_t(0x80 | (first & 0x3f)), uint8_t(0x80 | (last & 0x3f))};
  sequence.bytes[0] = {uint8_t(kLeads[length] | first), uint8_t(kLeads[length] | last)};
  return sequence;
}

/// first and last have UTF-8 of `length` bytes. Splits the range where the bytes after a place
/// do not run through all continuation bytes.
void split(char32_t first, char32_t last, int length, std::vector<ByteSequence>& to) {
  for (int i = 1; i < length; i++) {
    const char32_t low = (char32_t(1) << (6 * i)) - 1;  // the bits of the last i bytes
    if ((first & ~low) == (last & ~low)) continue;
    if ((first & low) != 0) {
      split(first, first | low, length, to);
      split((first | low) + 1, last, length, to);
      return;
    }
    if ((last & low) != low) {
      split(first, (last & ~low) - 1, length, to);
      split(last & ~low, last, length, to);
      return;
    }
  }
  to.push_back(encode(first, last, length));
}

}  // namespace

CodePoints::CodePoints(std::vector<Range> ranges) {
  std::vector<Range> valid;
  const auto keep = [&](char32_t first, char32_t last) {
    if (first <= last) valid.push_back({first, last});
  };
  for (const auto& [first, end] : ranges) {
    const char32_t last = std::min(end, kLast);
    if (first > kSurrogates.last || last < kSurrogates.first) {
      keep(first, last);
    } else {
      keep(first, kSurrogates.first - 1);
      keep(kSurrogates.last + 1, last);
    }
  }
  std::sort(valid.begin(), valid.end(),
            [](const Range& a, const Range& b) { return a.first < b.first; });
  for (const Range& range : valid) {
    if (!ranges_.empty() && range.first <= ranges_.back().last + 1)
      ranges_.back().last = std::max(ranges_.back().last, range.last);
    else
      ranges_.push_back(range);
  }
}

CodePoints CodePoints::all() { return {{0, kLast}}; }

CodePoints CodePoints::with(const CodePoints& other) const {
  std::vector<Range> both = ranges_;
  both.insert(both.end(), other.ranges_.begin(), other.ranges_.end());
  return CodePoints(std::move(both));
}

CodePoints CodePoints::complement() const {
  std::vector<Range> outside;
  char32_t next = 0;
  for (const Range& range : ranges_) {
    if (range.first > next) outside.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= kLast) outside.push_back({next, kLast});
  return CodePoints(std::move(outside));
}

CodePoints CodePoints::without(const CodePoints& other) const {
  return complement().with(other).complement();
}

bool CodePoints::contains(char32_t one) const {
  return std::any_of(ranges_.begin(), ranges_.end(),
                     [&](const Range& r) { return r.first <= one && one <= r.last; });
}

std::vector<ByteSequence> utf8_sequences(const CodePoints& set) {
  constexpr char32_t kLasts[] = {0x7f, 0x7ff, 0xffff, kLast};  // by length - 1
  std::vector<ByteSequence> sequences;
  for (auto [first, last] : set.ranges())
    for (int length = 1; length <= 4 && first <= last; length++) {
      if (first > kLasts[length - 1]) continue;
      const char32_t end = std::min(last, kLasts[length - 1]);
      split(first, end, length, sequences);
      first = end + 1;
    }
  return sequences;
}

}  // namespace wick::grammars
