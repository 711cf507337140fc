#include "wick/text/stop_strings.h"

#include "../expect.h"

namespace wick {
namespace {

/// The text that passes when it comes in these pieces, "|" where each piece has passed.
std::string passed(const std::vector<std::string>& stops, const std::vector<std::string>& pieces) {
  StopStrings strings(stops);
  std::string text;
  for (const std::string& piece : pieces) text += strings.push(piece) + "|";
  return text + strings.finish();
}

TEST(StopStrings, EndTheTextWhereverItsPiecesAreCut) {
  EXPECT_EQ(passed({}, {"a", "b"}), "a|b|");
  EXPECT_EQ(passed({"END"}, {"a END b"}), "a |");
  EXPECT_EQ(passed({"END"}, {"a E", "N", "D b", "c"}), "a ||||");
  EXPECT_EQ(passed({"END"}, {"a E", "N", "x"}), "a ||ENx|");
  EXPECT_EQ(passed({"END"}, {"a EN"}), "a |EN");
  EXPECT_EQ(passed({"aab"}, {"aa", "ab"}), "|a|");  // the first a is no part of it
  EXPECT_EQ(passed({"xyz", "y"}, {"ax", "y"}), "a|x|");
  EXPECT_EQ(passed({"\n\n"}, {"a\n", "\nb"}), "a||");
}

TEST(StopStrings, AnEmptyOneIsAnError) {
  EXPECT_ERROR(StopStrings({"a", ""}), kInvalidArgument, "a stop string is empty");
}

}  // namespace
}  // namespace wick
