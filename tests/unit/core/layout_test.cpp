#include "wick/core/layout.h"

#include <gtest/gtest.h>

#include <vector>

#include "../expect.h"

namespace wick {
namespace {

/// The offsets of the elements in row-major order.
std::vector<int64_t> offsets(const Shape& shape, const Dims& strides) {
  std::vector<int64_t> result;
  for (int64_t i = 0; i < numel(shape); i++) {
    int64_t rest = i, at = 0;
    for (int d = shape.size() - 1; d >= 0; d--) {
      at += rest % shape[d] * strides[d];
      rest /= shape[d];
    }
    result.push_back(at);
  }
  return result;
}

/// Wherever reshape_strides says yes, the elements and their order are the same.
void expect_reshapes(const Layout& layout, const Shape& shape) {
  Dims strides;
  ASSERT_TRUE(reshape_strides(layout, shape, &strides))
      << to_string(layout.shape) << " as " << to_string(shape);
  EXPECT_EQ(offsets(shape, strides), offsets(layout.shape, layout.strides)) << to_string(shape);
}

void expect_needs_copy(const Layout& layout, const Shape& shape) {
  Dims strides;
  EXPECT_FALSE(reshape_strides(layout, shape, &strides))
      << to_string(layout.shape) << " as " << to_string(shape);
}

TEST(Dims, KeepMoreThanSixValues) {
  Dims dims;
  for (int i = 0; i < 10; i++) dims.push_back(i);
  EXPECT_EQ(dims.size(), 10);
  EXPECT_EQ(dims, Dims({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  const Dims copy = dims;
  dims.erase(0);
  EXPECT_EQ(dims.size(), 9);
  EXPECT_EQ(dims[0], 1);
  EXPECT_EQ(copy[0], 0);
}

TEST(Dims, InsertAndEraseMoveWhatIsBehind) {
  Dims dims = {1, 3};
  dims.insert(1, 2);
  dims.insert(0, 0);
  EXPECT_EQ(dims, Dims({0, 1, 2, 3}));
  dims.erase(3);
  dims.erase(0);
  EXPECT_EQ(dims, Dims({1, 2}));
}

TEST(Dims, CompareByLengthToo) {
  EXPECT_FALSE(Dims({1}) == Dims({1, 2}));
  EXPECT_TRUE(Dims() == Dims({}));
}

TEST(Dims, CanBeReadAfterAMoveBetweenInlineAndHeap) {
  Dims small = {1, 2}, large(9, 5);
  Dims moved = std::move(large);
  EXPECT_EQ(moved, Dims(9, 5));
  moved = std::move(small);
  EXPECT_EQ(moved, Dims({1, 2}));
}

TEST(Shape, SaysItselfAsText) {
  EXPECT_EQ(to_string(Shape{}), "[]");
  EXPECT_EQ(to_string(Shape{2, 3}), "[2, 3]");
}

TEST(Shape, OfNoDimsHasOneElementAndOfAZeroNone) {
  EXPECT_EQ(numel({}), 1);
  EXPECT_EQ(numel({3, 0, 2}), 0);
  EXPECT_EQ(numel({1 << 20, 1 << 20}), int64_t(1) << 40);
}

TEST(Contiguous, StridesAreProductsOfTheSizesBehind) {
  EXPECT_EQ(contiguous_strides({2, 3, 4}), Dims({12, 4, 1}));
  EXPECT_EQ(contiguous_strides({}), Dims());
}

TEST(Contiguous, IgnoresStridesOfDimsOfOneAndTheOffset) {
  EXPECT_TRUE((Layout{{2, 1, 3}, {3, 99, 1}, 5}).is_contiguous());
  EXPECT_FALSE((Layout{{2, 3}, {4, 1}, 0}).is_contiguous());
  EXPECT_FALSE((Layout{{2, 3}, {1, 2}, 0}).is_contiguous());
  EXPECT_FALSE((Layout{{2}, {0}, 0}).is_contiguous());
  EXPECT_TRUE(Layout::contiguous({}).is_contiguous());
}

TEST(NormalizeDim, CountsNegativeOnesFromTheEnd) {
  EXPECT_EQ(normalize_dim("op", -1, 3), 2);
  EXPECT_EQ(normalize_dim("op", -3, 3), 0);
  EXPECT_EQ(normalize_dim("op", 2, 3), 2);
}

TEST(NormalizeDim, NamesTheOpWhenOutOfRange) {
  EXPECT_ERROR(normalize_dim("softmax", 3, 3), kOutOfRange, "softmax");
  EXPECT_ERROR(normalize_dim("softmax", -4, 3), kOutOfRange, "-4");
  EXPECT_ERROR(normalize_dim("softmax", 0, 0), kOutOfRange, "softmax");
}

TEST(BroadcastShapes, StretchesOnesAndMissingDims) {
  EXPECT_EQ(broadcast_shapes("op", {7, 1}, {1, 9}), Shape({7, 9}));
  EXPECT_EQ(broadcast_shapes("op", {5}, {2, 1, 5}), Shape({2, 1, 5}));
  EXPECT_EQ(broadcast_shapes("op", {}, {3}), Shape({3}));
  EXPECT_EQ(broadcast_shapes("op", {1, 0}, {3, 1}), Shape({3, 0}));
  EXPECT_EQ(broadcast_shapes("op", {}, {}), Shape({}));
}

TEST(BroadcastShapes, RejectsOtherSizesAndNamesBoth) {
  EXPECT_ERROR(broadcast_shapes("add", Shape({2, 3}), Shape({4})), kShapeMismatch, "add");
  EXPECT_ERROR(broadcast_shapes("add", Shape({2, 3}), Shape({2, 4})), kShapeMismatch, "[2, 4]");
  EXPECT_ERROR(broadcast_shapes("add", Shape({0}), Shape({2})), kShapeMismatch, "[0]");
}

TEST(BroadcastStrides, RepeatByStrideZero) {
  Dims strides;
  ASSERT_TRUE(broadcast_strides(Layout::contiguous({3, 1}), {2, 3, 4}, &strides));
  EXPECT_EQ(offsets({2, 3, 4}, strides), offsets({2, 3, 4}, {0, 1, 0}));
  EXPECT_FALSE(broadcast_strides(Layout::contiguous({3}), {4}, &strides));
  EXPECT_FALSE(broadcast_strides(Layout::contiguous({2, 3}), {3}, &strides));
}

TEST(ReshapeStrides, OfContiguousElementsAlwaysExist) {
  const Layout layout = Layout::contiguous({4, 6});
  for (const Shape& shape :
       {Shape{24}, Shape{2, 2, 3, 2}, Shape{1, 24, 1}, Shape{6, 4}, Shape{4, 6}}) {
    expect_reshapes(layout, shape);
  }
}

TEST(ReshapeStrides, CutARunOfDimsAnew) {
  // A slice [4, 6] of rows of 10: each dim may be split, the two may not be joined.
  const Layout slice{{4, 6}, {10, 1}, 3};
  expect_reshapes(slice, {2, 2, 6});
  expect_reshapes(slice, {4, 2, 3});
  expect_reshapes(slice, {4, 1, 6, 1});
  expect_needs_copy(slice, {24});
  expect_needs_copy(slice, {8, 3});
}

TEST(ReshapeStrides, OfATransposeSplitDimsButJoinNone) {
  const Layout transposed{{6, 4}, {1, 6}, 0};
  expect_reshapes(transposed, {2, 3, 4});
  expect_reshapes(transposed, {6, 2, 2});
  expect_needs_copy(transposed, {24});
}

TEST(ReshapeStrides, OfARepeatedElementRepeatIt) {
  const Layout repeated{{4, 6}, {0, 0}, 0};
  expect_reshapes(repeated, {24});
  expect_reshapes(repeated, {3, 8});
  const Layout rows{{4, 6}, {0, 1}, 0};
  expect_reshapes(rows, {2, 2, 6});
  expect_needs_copy(rows, {24});
}

TEST(ReshapeStrides, TakeDimsOfOneInAndOut) {
  const Layout layout{{1, 4, 1, 6, 1}, {7, 10, 7, 1, 7}, 0};
  expect_reshapes(layout, {4, 6});
  expect_reshapes(layout, {1, 1, 2, 2, 1, 6});
  expect_reshapes({{1, 1}, {5, 5}, 0}, {});
  expect_reshapes({{}, {}, 0}, {1, 1});
}

TEST(ReshapeStrides, OfNothingExist) {
  Dims strides;
  EXPECT_TRUE(reshape_strides({{0, 3}, {10, 1}, 0}, {5, 0}, &strides));
  EXPECT_EQ(strides.size(), 2);
}

}  // namespace
}  // namespace wick
