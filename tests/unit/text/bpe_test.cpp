#include "text/tokenizer/bpe.h"

#include <algorithm>
#include <random>

#include "../expect.h"

namespace wick::tokenization {
namespace {

/// A model over letters, of the merges "a b" in order.
Bpe model(const std::vector<std::string>& letters, const std::vector<std::string>& merges) {
  Bpe bpe;
  for (const std::string& letter : letters) bpe.vocabulary.add(letter);
  uint32_t rank = 0;
  for (const std::string& merge : merges) {
    const size_t space = merge.find(' ');
    const std::string left = merge.substr(0, space), right = merge.substr(space + 1);
    bpe.vocabulary.add(left + right);
    bpe.merges.of(bpe.vocabulary.find(left), bpe.vocabulary.find(right)) = {
        rank++, bpe.vocabulary.find(left + right)};
  }
  bpe.token_count = bpe.vocabulary.size();
  return bpe;
}

std::string joined(const Bpe& bpe, std::string_view word) {
  Workspace workspace;
  std::string text;
  for (int round = 0; round < 2; round++) {  // the second comes from the cache if the word is short
    std::vector<Token> tokens;
    bpe.encode(word, workspace, tokens);
    std::string now;
    for (const Token& token : tokens)
      ((now += now.empty() ? "" : " ") += bpe.vocabulary.text(token.id)) +=
          ":" + std::to_string(token.begin) + "-" + std::to_string(token.end);
    if (round == 1) {
      EXPECT_EQ(now, text);
    }
    text = now;
  }
  return text;
}

/// The merges by their definition: again and again the pair of the lowest rank, the leftmost.
std::vector<int32_t> by_definition(const Bpe& bpe, std::vector<int32_t> ids) {
  while (true) {
    size_t best = ids.size();
    Merge lowest;
    for (size_t i = 0; i + 1 < ids.size(); i++) {
      const Merge merge = bpe.merges.find(ids[i], ids[i + 1]);
      if (merge.id >= 0 && (best == ids.size() || merge.rank < lowest.rank)) {
        best = i;
        lowest = merge;
      }
    }
    if (best == ids.size()) return ids;
    ids[best] = lowest.id;
    ids.erase(ids.begin() + ptrdiff_t(best) + 1);
  }
}

TEST(Bpe, IsItsDefinitionOnRandomWords) {
  std::mt19937 random(1);
  Bpe bpe = model({"a", "b", "c"}, {"a b", "b c", "c c", "ab c", "a a", "aa b", "bc c", "abc abc",
                                    "c a", "cc cc", "ca bc", "b b"});
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < 2000; i++) {
      std::string word;
      std::vector<int32_t> ids;
      for (size_t n = 1 + random() % 40; n > 0; n--) {
        ids.push_back(int32_t(random() % 3));
        word += "abc"[ids.back()];
      }
      Workspace workspace;
      std::vector<Token> tokens;
      bpe.encode(word, workspace, tokens);
      std::vector<int32_t> got;
      uint32_t at = 0;
      for (const Token& token : tokens) {
        got.push_back(token.id);
        EXPECT_EQ(token.begin, at);
        at = token.end;
      }
      EXPECT_EQ(at, word.size());
      EXPECT_EQ(got, by_definition(bpe, ids)) << word;
    }
    // Ranks that several pairs share, as scores of SentencePiece may be.
    Bpe shared = bpe;
    bpe.merges.each([&](int32_t left, int32_t right) { shared.merges.of(left, right).rank /= 3; });
    bpe = shared;
  }
}

TEST(Bpe, UnknownCharactersAreFusedDroppedOrBytes) {
  Bpe bpe = model({"?", "a", "b"}, {"a b"});
  EXPECT_EQ(joined(bpe, "a\u00e9ab"), "a:0-1 ab:1-3");  // offsets move up, as HuggingFace's do
  bpe.unknown = 0;
  EXPECT_EQ(joined(bpe, "\u00e9xab\u00e9"), "?:0-2 ?:2-3 ab:3-5 ?:5-7");
  bpe.fuse_unknown = true;
  EXPECT_EQ(joined(bpe, "\u00e9xab\u00e9"), "?:0-3 ab:3-5 ?:5-7");
  bpe.byte_tokens[0xc3] = 1;
  EXPECT_EQ(joined(bpe, "\u00e9"), "?:0-2");  // not all bytes have a token
  bpe.byte_tokens[0xa9] = 2;
  EXPECT_EQ(joined(bpe, "\u00e9"), "ab:0-2");  // and the tokens of bytes merge
}

TEST(Bpe, AWordThatIsATokenStaysWholeIfMergesAreIgnored) {
  Bpe bpe = model({"a", "b", "aba"}, {"a b"});
  EXPECT_EQ(joined(bpe, "aba"), "ab:0-2 a:2-3");
  bpe.ignore_merges = true;
  EXPECT_EQ(joined(bpe, "aba"), "aba:0-3");
  EXPECT_EQ(joined(bpe, "abaa"), "ab:0-2 a:2-3 a:3-4");
}

TEST(Bpe, PrefixAndSuffixSpellPlacesInTheWord) {
  Bpe bpe = model({"a", "##a", "a.", "##a."}, {});
  bpe.prefix = "##";
  bpe.suffix = ".";
  EXPECT_EQ(joined(bpe, "aaa"), "a:0-1 ##a:1-2 ##a.:2-3");
  EXPECT_EQ(joined(bpe, "a"), "a.:0-1");
}

TEST(Bpe, CutsBeforeMarksOnlyWhereNoMergeJoins) {
  const std::string mark = "\u2581";
  Bpe bpe = model({"?", "a", ">", "<", mark},
                  {mark + " a", mark + " " + mark, mark + " <", "> " + mark + "<", "a a"});
  bpe.unknown = 0;
  Bpe uncut = bpe;
  bpe.look_for_cuts();
  ASSERT_TRUE(bpe.cuts_at_marks);
  for (const std::string& word :
       {"a" + mark + "aa" + mark + "a", mark + mark + mark + "a", ">" + mark + "<" + mark + "a",
        ">" + mark + mark + "<>" + mark + "a" + mark, mark, "a" + mark, std::string("aaa")})
    EXPECT_EQ(joined(bpe, word), joined(uncut, word)) << word;
}

TEST(Bpe, TakesALongWordInShortTime) {
  Bpe bpe = model({"a", "b"}, {"a a", "aa aa", "aaaa aaaa", "a b", "ab ab"});
  Workspace workspace;
  for (const std::string& word : {std::string(1 << 20, 'a'), std::string(1 << 20, 'b')}) {
    std::vector<Token> tokens;
    bpe.encode(word, workspace, tokens);
    EXPECT_EQ(tokens.size(), word[0] == 'a' ? size_t(1) << 17 : word.size());
  }
}

}  // namespace
}  // namespace wick::tokenization
