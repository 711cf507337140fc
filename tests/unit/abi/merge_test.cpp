#include "wick/abi/merge.h"

#include <gtest/gtest.h>

#include <vector>

namespace wick {
namespace {

struct Merged {
  std::vector<int64> shape;
  std::vector<std::vector<int64>> strides;  // by operand
  bool operator==(const Merged&) const = default;
};

/// What becomes of a shape whose operands have these strides.
Merged merged(const std::vector<int64>& shape, const std::vector<std::vector<int64>>& strides) {
  const int operands = int(strides.size());
  Merged result{std::vector<int64>(shape.size(), -1), strides};
  int rank = 0;
  for (size_t d = 0; d < shape.size(); d++)
    rank = append_dim(
        result.shape.data(), rank, shape[d], operands,
        [&](int o) { return result.strides[size_t(o)].data(); },
        [&](int o) { return strides[size_t(o)][d]; });
  result.shape.resize(size_t(rank));
  for (auto& s : result.strides) s.resize(size_t(rank));
  return result;
}

TEST(AppendDim, MergesWhatLiesOneInTheOther) {
  EXPECT_EQ(merged({2, 3, 4}, {{12, 4, 1}}), (Merged{{24}, {{1}}}));
  EXPECT_EQ(merged({2, 3, 4}, {{24, 8, 2}, {12, 4, 1}}), (Merged{{24}, {{2}, {1}}}));
}

TEST(AppendDim, KeepsApartWhatOneOperandKeepsApart) {
  EXPECT_EQ(merged({2, 3, 4}, {{12, 4, 1}, {20, 4, 1}}), (Merged{{2, 12}, {{12, 1}, {20, 1}}}));
  EXPECT_EQ(merged({2, 3, 4}, {{12, 4, 1}, {15, 5, 1}}), (Merged{{6, 4}, {{4, 1}, {5, 1}}}));
  EXPECT_EQ(merged({2, 3}, {{1, 2}}), (Merged{{2, 3}, {{1, 2}}}));
}

TEST(AppendDim, DropsDimsOfSizeOneWhateverTheirStrides) {
  EXPECT_EQ(merged({1, 2, 1, 3, 1}, {{7, 3, 100, 1, 5}}), (Merged{{6}, {{1}}}));
  EXPECT_EQ(merged({1, 1}, {{1, 1}}), (Merged{{}, {{}}}));
  EXPECT_EQ(merged({}, {{}}), (Merged{{}, {{}}}));
}

TEST(AppendDim, MergesDimsThatRepeat) {
  EXPECT_EQ(merged({2, 3}, {{0, 0}, {3, 1}}), (Merged{{6}, {{0}, {1}}}));
  EXPECT_EQ(merged({2, 3}, {{0, 1}}), (Merged{{2, 3}, {{0, 1}}}));
}

TEST(AppendDim, MergesDimsOfSizeZeroAsOthers) {
  EXPECT_EQ(merged({2, 0, 3}, {{0, 3, 1}}), (Merged{{0}, {{1}}}));
}

}  // namespace
}  // namespace wick
