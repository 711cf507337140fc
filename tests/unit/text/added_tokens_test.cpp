#include "text/tokenizer/added_tokens.h"

#include <algorithm>
#include <random>

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
      of({{.text = "<m>", .right_strip = true}, {.text = "  "}}, AddedTokens::Order::kLongest);
  EXPECT_EQ(cut(tokens, " <m>\t\n<m>\u3000<m>   "), " |[<m>\t\n]|[<m>]|\u3000|[<m>   ]");
  EXPECT_EQ(cut(tokens, "<m>     a    "), "[<m>     ]|a|[  ]|[  ]");
}

TEST(AddedTokens, InTheOrderOfLlamaCppTokensAreTakenOneAfterTheOther) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; round++) {
    std::vector<AddedToken> list;
    for (size_t n = 1 + random() % 5; n > 0; n--) {
      AddedToken token;
      for (size_t size = 1 + random() % 4; size > 0; size--) token.text += "ab "[random() % 3];
      token.right_strip = random() % 4 == 0;
      const bool known = std::any_of(list.begin(), list.end(),
                                     [&](const AddedToken& t) { return t.text == token.text; });
      if (!known) list.push_back(token);
    }
    std::string text;
    for (size_t size = random() % 30; size > 0; size--) text += "ab c"[random() % 4];

    // By definition: of each token in turn all matches, in what the earlier ones left.
    std::vector<AddedToken> turns = list;
    std::stable_sort(turns.begin(), turns.end(), [](const AddedToken& lhs, const AddedToken& rhs) {
      return lhs.text.size() > rhs.text.size();
    });
    std::vector<int> owner(text.size(), -1);  // the match that has the byte
    int count = 0;
    for (const AddedToken& token : turns)
      for (size_t at = 0; at + token.text.size() <= text.size(); at++) {
        size_t end = at + token.text.size();
        const bool free = std::all_of(owner.begin() + ptrdiff_t(at), owner.begin() + ptrdiff_t(end),
                                      [](int match) { return match < 0; });
        if (!free || text.compare(at, token.text.size(), token.text) != 0) continue;
        while (token.right_strip && end < text.size() && text[end] == ' ' && owner[end] < 0) end++;
        std::fill(owner.begin() + ptrdiff_t(at), owner.begin() + ptrdiff_t(end), count++);
      }
    std::string expected;
    for (size_t at = 0; at < text.size(); at++) {
      const bool starts = at == 0 || owner[at] != owner[at - 1];
      if (starts && at > 0) expected += owner[at - 1] >= 0 ? "]|" : "|";
      if (starts && owner[at] >= 0) expected += '[';
      expected += text[at];
    }
    if (!text.empty() && owner.back() >= 0) expected += ']';
    EXPECT_EQ(cut(of(list, AddedTokens::Order::kLongest), text), expected);
  }
}

TEST(AddedTokens, TakeALongTextInShortTime) {
  const AddedTokens tokens = of({{.text = "aaaaaaab"}, {.text = " ", .left_strip = true}});
  EXPECT_EQ(cut(tokens, std::string(1 << 20, 'a')).size(), size_t(1) << 20);
  Pieces all = pieces_of(std::string(1 << 18, ' '), false);
  tokens.split(all, true);
  EXPECT_EQ(all.pieces.size(), size_t(1) << 18);
  // Runs of spaces, as in vocabularies of Gemma: a match at each place for each of them.
  std::vector<AddedToken> runs;
  for (size_t length = 2; length < 32; length++)
    runs.push_back({.text = std::string(length, ' '), .right_strip = length == 2});
  all = pieces_of(std::string(1 << 18, ' '), false);
  of(runs, AddedTokens::Order::kLongest).split(all, true);
  EXPECT_EQ(all.pieces.size(), (size_t(1) << 18) / 31 + 1);
}

}  // namespace
}  // namespace wick::tokenization
