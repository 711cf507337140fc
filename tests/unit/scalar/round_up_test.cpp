#include "scalar/round_up.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <type_traits>

namespace wick {
namespace {

TEST(RoundUp, QuotientsAndMultiplesAreTheLeastThatSuffice) {
  for (int n = 0; n <= 40; n++)
    for (int to = 1; to <= 12; to++) {
      SCOPED_TRACE(::testing::Message() << n << ", " << to);
      const int pieces = ceil_div(n, to), multiple = round_up(n, to);
      EXPECT_GE(pieces * to, n);
      EXPECT_LT((pieces - 1) * to, n);
      EXPECT_EQ(multiple, pieces * to);
    }
}

TEST(RoundUp, ResultsHaveTheWiderType) {
  static_assert(std::is_same_v<decltype(ceil_div(int64_t{1}, 256)), int64_t>);
  static_assert(std::is_same_v<decltype(round_up(1, int64_t{256})), int64_t>);
  EXPECT_EQ(ceil_div(int64_t{1} << 40, 3), 366503875926);
  EXPECT_EQ(round_up(int64_t{1} << 40, 3), 1099511627778);
  EXPECT_EQ(round_up(uint64_t{1} << 63, uint64_t{1} << 63), uint64_t{1} << 63);
}

}  // namespace
}  // namespace wick
