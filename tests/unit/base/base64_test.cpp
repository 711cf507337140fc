#include "base/base64.h"

#include <gtest/gtest.h>

namespace wick {
namespace {

// Source of the pairs: RFC 4648, section 10.
constexpr const char* kPairs[][2] = {{"", ""},
                                     {"f", "Zg=="},
                                     {"fo", "Zm8="},
                                     {"foo", "Zm9v"},
                                     {"foob", "Zm9vYg=="},
                                     {"fooba", "Zm9vYmE="},
                                     {"foobar", "Zm9vYmFy"}};

TEST(Base64, WritesAndReadsTheExamplesOfTheStandard) {
  for (const auto& [bytes, text] : kPairs) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_EQ(from_base64(text), bytes);
  }
}

TEST(Base64, KeepsEveryByte) {
  std::string bytes;
  for (int i = 0; i < 256; i++) bytes += char(i);
  for (size_t cut = 0; cut < 3; cut++)
    EXPECT_EQ(from_base64(to_base64(bytes.substr(cut))), bytes.substr(cut));
}

TEST(Base64, RefusesOtherTexts) {
  // Cut short, of another alphabet, padded in the middle, and with bits beyond the last byte.
  for (const char* text :
       {"Zg=", "Zm9", "Zm_v", "Zg==Zm9v", "Zh==", "Zm9=", "====", "Z===", "Zm 9"})
    EXPECT_FALSE(from_base64(text)) << text;
}

}  // namespace
}  // namespace wick
