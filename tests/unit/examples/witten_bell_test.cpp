#include "../../../examples/witten_bell.h"

#include <cmath>

#include "../expect.h"

namespace wick {
namespace {

TEST(WittenBell, ProbabilitiesOfAllBytesSumToOne) {
  const WittenBell model({"abracadabra", "cab"}, 3);
  std::string text = "abr?";
  double total = 0;
  for (int byte = 0; byte < 256; byte++) {
    text[3] = char(byte);
    total += model.probability(text, 3);
  }
  EXPECT_NEAR(total, 1, 1e-12);
}

TEST(WittenBell, IsTheFormulaByHand) {
  // "aab": a twice, b once; after a: a once, b once.
  const WittenBell model({"aab"}, 1);
  const double p0 = (1 + 2 * (1.0 / 256)) / (3 + 2);  // of b
  const double p1 = (1 + 2 * p0) / (2 + 2);           // of b after a
  EXPECT_NEAR(model.probability("ab", 1), p1, 1e-15);
  EXPECT_NEAR(model.probability("b", 0), p0, 1e-15);
  EXPECT_NEAR(model.loss({"b"}), -std::log(p0), 1e-15);
}

TEST(WittenBell, AContextNeverSeenFallsBackOnTheShorterOne) {
  const WittenBell model({"aab"}, 3);
  EXPECT_EQ(model.probability("xyzb", 3), model.probability("b", 0));
}

TEST(WittenBell, AnOrderThatItDoesNotHaveIsAnError) {
  EXPECT_ERROR(WittenBell({"a"}, 8), kInvalidArgument, "expected an order from 0 to 7, got 8");
  EXPECT_ERROR(WittenBell({"a"}, -1), kInvalidArgument, "got -1");
}

}  // namespace
}  // namespace wick
