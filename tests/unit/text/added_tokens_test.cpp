#include "text/tokenizer/added_tokens.h"

#include "../expect.h"

namespace wick::tokenization {
namespace {

/// The pieces of a text, added tokens in brackets.
std::string cut(const AddedTokens& tokens, const std::string& text, bool special = true) {
  Pieces all = pieces_of(text, true);
  tokens.split(all, special);
  std::string result;
  for (const Piece& piece : all.pieces) {
    if (!result.empty()) result += '|';
    result += piece.id >= 0 ? "[" + std::string(all.of(piece)) + "]" : std::string(all.of(piece));
    EXPECT_EQ(piece.source, piece.begin);
  }
  return result;
}

AddedTokens of(std::vector<AddedToken> list,
               AddedTokens::Order order = AddedTokens::Order::kLeftmost) {
  AddedTokens tokens(order);
  int32_t id = 0;
  for (AddedToken& token : list) {
    token.id = id++;
    tokens.add(token);
  }
  return tokens;
}

TEST(AddedTokens, TheLeftmostAndThenTheLongestWins) {
  const AddedTokens tokens = of({{.text = "ab"}, {.text = "bcd"}, {.text = "abc"}, {.text = "d"}});
  EXPECT_EQ(cut(tokens, "xabcdabd"), "x|[abc]|[d]|[ab]|[d]");
  EXPECT_EQ(cut(tokens, ""), "");
  EXPECT_EQ(cut(AddedTokens(), "ab"), "ab");
}

TEST(AddedTokens, InTheOrderOfLlamaCppTheLongestAnywhereWins) {
  const AddedTokens tokens =
      of({{.text = "ab"}, {.text = "bcd"}, {.text = "bc"}}, AddedTokens::Order::kLongest);
  EXPECT_EQ(cut(tokens, "abcdabcab"), "a|[bcd]|[ab]|c|[ab]");
}

TEST(AddedTokens, SpecialOnesAreTextIfAsked) {
  for (const auto order : {AddedTokens::Order::kLeftmost, AddedTokens::Order::kLongest}) {
    const AddedTokens tokens = of({{.text = "<s>", .special = true}, {.text = "<t>"}}, order);
    EXPECT_EQ(cut(tokens, "<s><t>"), "[<s>]|[<t>]");
    EXPECT_EQ(cut(tokens, "<s><t>", false), "<s>|[<t>]");
  }
}

TEST(AddedTokens, ASingleWordHasNoLettersBesideIt) {
  const AddedTokens tokens = of({{.text = "one", .single_word = true}});
  EXPECT_EQ(cut(tokens, "one ones\u00e9one-one_one one"), "[one]| ones\u00e9one-one_one |[one]");
  EXPECT_EQ(cut(tokens, "\u0301one"), "\u0301one");
  EXPECT_EQ(cut(tokens, "\u00bdone\u200bone"), "\u00bd|[one]|\u200b|[one]");
}

TEST(AddedTokens, StripsWhiteSpaceBesideThem) {
  const AddedTokens left = of({{.text = "<m>", .left_strip = true}});
  EXPECT_EQ(cut(left, "a \u3000<m> <m> b"), "a|[ \u3000<m>]|[ <m>]| b");
  const AddedTokens right = of({{.text = "<m>", .right_strip = true}});
  EXPECT_EQ(cut(right, "a <m>\n\u2003<m>  b"), "a |[<m>\n\u2003]|[<m>  ]|b");
  const AddedTokens both = of({{.text = "<m>", .left_strip = true, .right_strip = true}});
  EXPECT_EQ(cut(both, " <m>  <m> "), "[ <m>  ]|[<m> ]");
}

TEST(AddedTokens, LlamaCppStripsAsciiSpacesOnly) {
  const AddedTokens tokens =
      of({{.text = "<m>", .left_strip = true, .right_strip = true}}, AddedTokens::Order::kLongest);
  EXPECT_EQ(cut(tokens, "\u3000 <m>\t\n<m>\u3000"), "\u3000|[ <m>\t\n]|[<m>]|\u3000");
}

TEST(AddedTokens, TakeALongTextInShortTime) {
  const AddedTokens tokens = of({{.text = "aaaaaaab"}, {.text = " ", .left_strip = true}});
  EXPECT_EQ(cut(tokens, std::string(1 << 20, 'a')).size(), size_t(1) << 20);
  Pieces all = pieces_of(std::string(1 << 18, ' '), false);
  tokens.split(all, true);
  EXPECT_EQ(all.pieces.size(), size_t(1) << 18);
}

}  // namespace
}  // namespace wick::tokenization
