#include "text/grammar/code_points.h"

#include <algorithm>

#include "../expect.h"
#include "base/utf8.h"

namespace wick::grammars {
namespace {

TEST(CodePoints, MergeRangesThatTouchAndLeaveOutSurrogates) {
  const CodePoints set = {{'m', 'p'}, {'a', 'c'}, {'d', 'd'}, {'z', 'y'}, {'o', 'q'}};
  EXPECT_EQ(set.ranges(), (std::vector<CodePoints::Range>{{'a', 'd'}, {'m', 'q'}}));
  const CodePoints all = CodePoints::all();
  EXPECT_EQ(all.ranges(), (std::vector<CodePoints::Range>{{0, 0xd7ff}, {0xe000, 0x10ffff}}));
  EXPECT_TRUE(CodePoints({{0xd800, 0xdfff}}).empty());
  EXPECT_EQ(CodePoints({{0xdfff, 0xe001}}).ranges(),
            (std::vector<CodePoints::Range>{{0xe000, 0xe001}}));
}

TEST(CodePoints, TheComplementOfAComplementIsTheSet) {
  for (const CodePoints& set :
       {CodePoints(), CodePoints::all(), CodePoints{{'b', 'b'}},
        CodePoints{{0, 5}, {0x800, 0x9000}}, CodePoints{{0xe000, 0x10ffff}}}) {
    EXPECT_EQ(set.complement().complement().ranges(), set.ranges());
    EXPECT_EQ(set.with(set.complement()).ranges(), CodePoints::all().ranges());
  }
}

/// Whether exactly one of the sequences has the text.
int count_matches(const std::vector<ByteSequence>& sequences, const std::string& text) {
  return int(std::count_if(sequences.begin(), sequences.end(), [&](const ByteSequence& sequence) {
    if (size_t(sequence.length) != text.size()) return false;
    for (size_t i = 0; i < text.size(); i++)
      if (uint8_t(text[i]) < sequence.bytes[i].first || uint8_t(text[i]) > sequence.bytes[i].last)
        return false;
    return true;
  }));
}

TEST(Utf8Sequences, HaveEachCharacterOnceAndNoOther) {
  for (const CodePoints& set :
       {CodePoints::all(), CodePoints{{'a', 'a'}}, CodePoints{{0x7f, 0x80}, {0x7fe, 0x805}},
        CodePoints{{0x123, 0x10abc}}, CodePoints{{0xfffe, 0x10001}, {0x3ffff, 0x40000}},
        CodePoints{{0x20, 0x21}, {0x23, 0x5b}, {0x5d, 0x10ffff}}}) {
    const std::vector<ByteSequence> sequences = utf8_sequences(set);
    for (char32_t code = 0; code <= 0x10ffff; code++) {
      if (code >= 0xd800 && code <= 0xdfff) continue;
      // Every character below U+3000, and of the others one in 101 and those at the ends of ranges.
      const bool is_end = std::any_of(
          set.ranges().begin(), set.ranges().end(), [&](const CodePoints::Range& range) {
            return code + 1 >= range.first && code <= range.first + 1
                       ? true
                       : code + 1 >= range.last && code <= range.last + 1;
          });
      if (code >= 0x3000 && code % 101 != 0 && !is_end) continue;
      std::string text;
      append_code_point(text, code);
      ASSERT_EQ(count_matches(sequences, text), set.contains(code)) << uint32_t(code);
    }
  }
  EXPECT_EQ(count_matches(utf8_sequences(CodePoints::all()), "\xed\xa0\x80"), 0);  // U+D800
  EXPECT_EQ(count_matches(utf8_sequences(CodePoints::all()), "\xc0\x80"), 0);      // overlong
}

}  // namespace
}  // namespace wick::grammars
