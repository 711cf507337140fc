#include "text/tokenizer/byte_alphabet.h"

#include <set>

#include "../expect.h"
#include "base/utf8.h"

namespace wick::tokenization {
namespace {

TEST(ByteAlphabet, EachByteHasALetterOfItsOwn) {
  std::set<std::string_view> letters;
  for (int byte = 0; byte < 256; byte++) {
    letters.insert(letter_of(uint8_t(byte)));
    size_t at = 0;
    EXPECT_EQ(byte_of(next_code_point(letter_of(uint8_t(byte)), at)), byte);
  }
  EXPECT_EQ(letters.size(), 256u);
}

TEST(ByteAlphabet, LettersAreThoseOfGpt2) {
  EXPECT_EQ(to_letters(" a\n\xc3\xa9\xad\x7f"), "\u0120a\u010a\u00c3\u00a9\u0143\u0121");
  EXPECT_EQ(byte_of(0x143), 0xad);
  EXPECT_EQ(byte_of(0x144), std::nullopt);
  EXPECT_EQ(byte_of(' '), std::nullopt);
  EXPECT_EQ(byte_of(0x10ffff), std::nullopt);
}

TEST(ByteAlphabet, TextWithOtherCharactersGivesNoBytes) {
  std::string bytes = "x";
  EXPECT_TRUE(append_bytes("\u0120a", bytes));
  EXPECT_EQ(bytes, "x a");
  EXPECT_FALSE(append_bytes("a b", bytes));
  EXPECT_EQ(bytes, "x a");
}

}  // namespace
}  // namespace wick::tokenization
