#include "text/tokenizer/unigram.h"

#include "../expect.h"
#include "wick/io/json.h"
#include "wick/text/tokenizer.h"

namespace wick {
namespace {

using Ids = std::vector<int64_t>;

Tokenizer tokenizer_of(const std::string& vocab, const std::string& parts = ", \"unk_id\": 0") {
  return Tokenizer::from_json(
      parse_json(R"({"model": {"type": "Unigram", "vocab": [)" + vocab + "]" + parts + "}}",
                 "tokenizer.json"));
}

TEST(Unigram, TakesTheSplitWithTheLargestSumOfScores) {
  const Tokenizer t = tokenizer_of(
      R"(["?", -9], ["a", -1], ["b", -1], ["ab", -3], ["abc", -4], ["c", -2.5], ["bc", -3])");
  EXPECT_EQ(t.encode_ids("ab"), (Ids{1, 2}));
  EXPECT_EQ(t.encode_ids("abc"), (Ids{4}));  // of equal sums, the one that starts first
  EXPECT_EQ(t.encode_ids("bc"), (Ids{6}));
}

TEST(Unigram, UnknownCharactersInARowAreOneToken) {
  const Tokenizer t = tokenizer_of(R"(["?", -9], ["a", -1])");
  const Encoding encoding = t.encode("xéa a?x");
  EXPECT_EQ(encoding.ids, (Ids{0, 1, 0, 1, 0}));
  EXPECT_EQ(encoding.tokens, (std::vector<std::string>{"xé", "a", " ", "a", "?x"}));
  EXPECT_ERROR(tokenizer_of(R"(["a", 0])", "").encode_ids("ax"), kUnsupported,
               "Tokenizer: the model has no token for \"x\"");
}

TEST(Unigram, ALongTokenIsAnError) {
  EXPECT_ERROR(tokenizer_of("[\"" + std::string(1025, 'a') + "\", 0]"), kFormat,
               "has 1025 bytes, expected at most 1024");
}

TEST(Unigram, LongTextsTakeTimeInProportion) {
  const Tokenizer t = tokenizer_of(R"(["?", -9], ["a", -1], ["aa", -1.5])");
  EXPECT_EQ(t.encode_ids(std::string(1 << 20, 'a')).size(), size_t(1) << 19);
}

}  // namespace
}  // namespace wick
