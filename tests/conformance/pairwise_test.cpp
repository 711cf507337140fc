#include "pairwise.h"

#include <gtest/gtest.h>

#include <set>

namespace wick::conformance {
namespace {

TEST(Pairwise, HoldsEveryPairOfLevels) {
  const std::vector<int> levels = {6, 9, 2, 2, 5, 5};
  Random random(3);
  const auto points = pairwise(levels, random);
  for (std::size_t f = 0; f < levels.size(); f++) {
    for (std::size_t g = f + 1; g < levels.size(); g++) {
      std::set<std::pair<int, int>> seen;
      for (const auto& point : points) seen.insert({point[f], point[g]});
      EXPECT_EQ(seen.size(), std::size_t(levels[f] * levels[g])) << f << " and " << g;
    }
  }
}

TEST(Pairwise, IsMuchSmallerThanTheProduct) {
  Random random(3);
  const std::vector<int> levels = {6, 9, 2, 2, 5, 5};
  EXPECT_LT(pairwise(levels, random).size(), 100u);
  EXPECT_EQ(product(levels).size(), 5400u);
}

TEST(Pairwise, DependsOnTheSeedAlone) {
  Random a(3), b(3), c(4);
  const std::vector<int> levels = {4, 5, 3};
  EXPECT_EQ(pairwise(levels, a), pairwise(levels, b));
  EXPECT_NE(pairwise(levels, b), pairwise(levels, c));
}

TEST(Pairwise, OfOneFactorHoldsEachLevel) {
  Random random(1);
  EXPECT_EQ(pairwise({3}, random), (std::vector<std::vector<int>>{{0}, {1}, {2}}));
}

}  // namespace
}  // namespace wick::conformance
