#include "text/tokenizer/pre_tokenizer.h"

#include "../expect.h"

namespace wick::tokenization {
namespace {

std::string run(const Step& step, const std::string& text) {
  Pieces all = pieces_of(text, true);
  step.apply(all);
  std::string result;
  for (const Piece& piece : all.pieces) (result += result.empty() ? "" : "|") += all.of(piece);
  return result;
}

TEST(PreTokenizer, SplitsByEachBehavior) {
  struct Row {
    Behavior behavior;
    bool invert;
    const char *text, *expected;
  };
  const std::vector<Row> rows = {
      {Behavior::kRemoved, false, "the-final--countdown", "the|final|countdown"},
      {Behavior::kIsolated, false, "the-final--countdown", "the|-|final|-|-|countdown"},
      {Behavior::kMergedWithPrevious, false, "the-final--countdown", "the-|final-|-|countdown"},
      {Behavior::kMergedWithNext, false, "the-final--countdown", "the|-final|-|-countdown"},
      {Behavior::kContiguous, false, "the-final--countdown", "the|-|final|--|countdown"},
      {Behavior::kRemoved, true, "the-final--", "-|-|-"},
      {Behavior::kMergedWithPrevious, false, "-a-", "-|a-"},
      {Behavior::kMergedWithNext, false, "-a-", "-a|-"},
      {Behavior::kIsolated, false, "none", "none"},
      {Behavior::kRemoved, false, "--", ""},
  };
  for (const Row& row : rows)
    EXPECT_EQ(run(*split_at(Pattern::literal("-"), row.behavior, row.invert), row.text),
              row.expected)
        << row.text << int(row.behavior);
}

TEST(PreTokenizer, MarksSpaces) {
  struct Row {
    PrependScheme scheme;
    bool split;
    const char *text, *expected;
  };
  const std::vector<Row> rows = {
      {PrependScheme::kAlways, true, "a  b", "_a|_|_b"},
      {PrependScheme::kAlways, false, "a b", "_a_b"},
      {PrependScheme::kAlways, true, " a", "_a"},
      {PrependScheme::kNever, true, "a b", "a|_b"},
      {PrependScheme::kFirst, true, "a b", "_a|_b"},
  };
  for (const Row& row : rows)
    EXPECT_EQ(run(*mark_spaces("_", row.scheme, row.split), row.text), row.expected);
  Pieces all = pieces_of("ab", true);
  all.pieces = {{0, 1, -1, 0}, {1, 2, -1, 1}};
  mark_spaces("_", PrependScheme::kFirst, false)->apply(all);
  EXPECT_EQ(all.of(all.pieces[0]), "_a");
  EXPECT_EQ(all.of(all.pieces[1]), "b");
}

TEST(PreTokenizer, AddsASpaceWhereThereIsNone) {
  EXPECT_EQ(run(*add_space(), "a"), " a");
  EXPECT_EQ(run(*add_space(), " a"), " a");
  EXPECT_EQ(run(*add_space(), "\na"), " \na");
}

TEST(PreTokenizer, CutsAfterANumberOfCharacters) {
  EXPECT_EQ(run(*split_every(2), "a\u00e9bcd"), "a\u00e9|bc|d");
  EXPECT_EQ(run(*split_every(5), "abc"), "abc");
}

}  // namespace
}  // namespace wick::tokenization
