#include "ops/random/philox.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace wick {
namespace {

using Words = std::array<uint32_t, 4>;

constexpr Words words_of(uint64_t counter, uint64_t counter_high, uint64_t key) {
  const PhiloxWords words = philox4x32(counter, counter_high, key);
  return {words[0], words[1], words[2], words[3]};
}

// From kat_vectors of Random123 1.09, the authors' own implementation: "philox4x32 10".
TEST(Philox, GivesThePublishedNumbers) {
  EXPECT_EQ(words_of(0, 0, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(words_of(~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  // counter 243f6a88 85a308d3 13198a2e 03707344, key a4093822 299f31d0
  EXPECT_EQ(words_of(0x85a308d3243f6a88, 0x0370734413198a2e, 0x299f31d0a4093822),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, IsAConstantExpression) { static_assert(words_of(1, 0, 0) != words_of(2, 0, 0)); }

TEST(PhiloxWords, AreThoseOfTheBlocksOneAfterAnother) {
  const uint64_t first = (uint64_t{1} << 32) - 5, key = 0x299f31d0a4093822;  // the counter carries
  for (const int64_t blocks : {0, 1, 15, 16, 17, 50}) {
    std::vector<uint32_t> words(size_t(4 * blocks) + 1, 77);
    philox_words(first, key, words.data(), blocks);
    for (int64_t i = 0; i < blocks; i++)
      for (size_t w = 0; w < 4; w++)
        EXPECT_EQ(words[size_t(4 * i) + w], philox4x32(first + uint64_t(i), 0, key)[int(w)])
            << i << " " << w;
    EXPECT_EQ(words.back(), 77u);  // nothing after it
  }
}

}  // namespace
}  // namespace wick
