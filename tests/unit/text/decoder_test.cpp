#include "text/tokenizer/decoder.h"

#include "../expect.h"

namespace wick::tokenization {
namespace {

template <class... Steps>
Decoder chain(Steps... steps) {
  Decoder decoder;
  (decoder.push_back(std::move(steps)), ...);
  return decoder;
}

/// What each token gives, and the rest, with | between them.
std::string parts(const Decoder& decoder, const std::vector<std::string>& tokens,
                  bool early = true) {
  Decoding decoding(decoder, early);
  std::string first, result;
  for (int round = 0; round < 2; round++) {  // a run leaves nothing to the next
    result.clear();
    for (const std::string& token : tokens) {
      decoding.push(token, result);
      result += '|';
    }
    decoding.finish(result);
    if (round == 0) first = result;
  }
  EXPECT_EQ(first, result);
  return result;
}

TEST(Decoder, JoinsBytesAndLettersToCharacters) {
  EXPECT_EQ(parts(chain(join_letters()), {"\u0120a", "\u00c3", "\u00a9", "\u00c3", "b"}),
            " a||\u00e9||\uFFFDb|");
  EXPECT_EQ(parts(chain(join_letters()), {"<a b>", "\u00c3"}), "<a b>||\uFFFD");
  EXPECT_EQ(parts(chain(join_bytes()), {"\xe4\xbd", "\xa0", "\xff"}), "|\u4f60|\uFFFD|");
}

TEST(Decoder, ByteTokensBecomeText) {
  const std::vector<std::string> tokens = {"a", "<0xE4>", "<0xBD>", "<0xA0>", "<0xC3>", "b"};
  EXPECT_EQ(parts(chain(decode_byte_tokens()), tokens, true), "a|||\u4f60||\uFFFDb|");
  // The whole run is no UTF-8: HuggingFace gives a replacement for each byte.
  EXPECT_EQ(parts(chain(decode_byte_tokens()), tokens, false), "a|||||\uFFFD\uFFFD\uFFFD\uFFFDb|");
  EXPECT_EQ(parts(chain(decode_byte_tokens()), {"<0x4>", "<0xzz>", "<0x41>"}), "<0x4>|<0xzz>|A|");
}

TEST(Decoder, StripsTheTextOrEachToken) {
  EXPECT_EQ(parts(chain(strip_tokens(" ", 1, 1, false)), {"  a", " ", "b  "}), " a||b |");
  EXPECT_EQ(parts(chain(join_texts(), strip_tokens(" ", 2, 0, true)), {" ", "", "  a", " b"}),
            "||"
            " a| b|");
  EXPECT_EQ(parts(chain(join_texts(), strip_tokens(" ", 0, 1, true)), {"a ", " ", "b ", " "}),
            "a| |"
            " b|"
            " |");
}

TEST(Decoder, MarksOfSpacesAndEndsBecomeSpaces) {
  const std::vector<std::string> tokens = {"_a_", "_b"};
  EXPECT_EQ(parts(chain(unmark_spaces("_", true, false)), tokens), "a| b|");
  EXPECT_EQ(parts(chain(unmark_spaces("_", false, false)), tokens), " a | b|");
  EXPECT_EQ(parts(chain(unmark_ends("</w>")), {"a", "b</w>", "c</w>"}), "|a|b |c");
  EXPECT_EQ(parts(chain(join_with_spaces()), {"a", "b"}), "a| b|");
}

TEST(Decoder, ReplacesWithinTokensOrInTheJoinedText) {
  EXPECT_EQ(parts(chain(replace_in_tokens(Pattern::literal("ab"), "x", false)), {"abc", "a", "b"}),
            "xc|a|b|");
  EXPECT_EQ(parts(chain(join_texts(), replace_in_tokens(Pattern::literal("ab"), "x", true)),
                  {"abc", "a", "b"}),
            "|||xcx");
}

}  // namespace
}  // namespace wick::tokenization
