#include "text/tokenizer/characters.h"

#include <gtest/gtest.h>

namespace wick::tokenization {
namespace {

TEST(Characters, QuotedTextIsOneShortLine) {
  EXPECT_EQ(in_quotes("a\u00e9\n\x7f\xff"), "\"a\u00e9\\x0a\\x7f\uFFFD\"");
  EXPECT_EQ(in_quotes(std::string(100, 'a')), "\"" + std::string(80, 'a') + "...\"");
}

TEST(Characters, WhiteSpaceIsThatOfUnicode) {
  int count = 0;
  for (char32_t code = 0; code < 0x110000; code++) count += is_white_space(code);
  EXPECT_EQ(count, 25);
  EXPECT_TRUE(is_white_space(0x85));
  EXPECT_FALSE(is_white_space(0x1c));
  EXPECT_FALSE(is_white_space(0x180e));
  EXPECT_FALSE(is_white_space(0x200b));
}

}  // namespace
}  // namespace wick::tokenization
