#include "wick/ops/shape.h"

#include <numeric>

#include "../expect.h"
#include "wick/core/var.h"
#include "wick/ops/aliases.h"
#include "wick/ops/autograd.h"
#include "wick/ops/create.h"

namespace wick {
namespace {

/// 0, 1, 2 ... in this shape.
Tensor counting(const Shape& shape) {
  std::vector<float> values(static_cast<size_t>(numel(shape)));
  std::iota(values.begin(), values.end(), 0.0f);
  return Tensor::from(values, shape);
}
using Values = std::vector<float>;

bool shares_memory(const Tensor& x, const Tensor& y) { return x.storage() == y.storage(); }
std::vector<Shape> shapes_of(const std::vector<Tensor>& tensors) {
  std::vector<Shape> shapes;
  for (const Tensor& t : tensors) shapes.push_back(t.shape());
  return shapes;
}

TEST(Reshape, KeepsTheOrderAndTheMemory) {
  const Tensor x = counting({2, 3, 4});
  for (const Shape& shape : {Shape{24}, Shape{4, 6}, Shape{2, 1, 12}, Shape{3, 8, 1}}) {
    const Tensor y = reshape(x, shape);
    EXPECT_EQ(y.shape(), shape);
    EXPECT_TRUE(shares_memory(x, y));
    EXPECT_EQ(y.to_vector<float>(), x.to_vector<float>());
  }
}

TEST(Reshape, FillsInMinusOne) {
  EXPECT_EQ(reshape(counting({2, 3, 4}), {-1, 6}).shape(), (Shape{4, 6}));
  EXPECT_EQ(reshape(counting({1}), {-1}).shape(), (Shape{1}));
  EXPECT_EQ(reshape(counting({0, 3}), {-1, 3}).shape(), (Shape{0, 3}));
  EXPECT_EQ(reshape(counting({1}), {}).rank(), 0);
}

TEST(Reshape, AViewThatStridesCannotSayIsCopied) {
  const Tensor x = transpose(counting({2, 3}));  // [3, 2]
  const Tensor y = reshape(x, {6});
  EXPECT_FALSE(shares_memory(x, y));
  EXPECT_EQ(y.to_vector<float>(), (Values{0, 3, 1, 4, 2, 5}));
}

TEST(Reshape, AViewThatStridesCanSayIsNot) {
  const Tensor x = transpose(counting({4, 6}));  // [6, 4]: its first dim can be cut
  const Tensor y = reshape(x, {2, 3, 4});
  EXPECT_TRUE(shares_memory(x, y));
  EXPECT_EQ(y.to_vector<float>(), x.to_vector<float>());
  const Tensor row = broadcast_to(counting({4}), {6, 4});
  EXPECT_TRUE(shares_memory(row, reshape(row, {2, 3, 4})));
}

TEST(Reshape, RejectsSizesThatDoNotMultiplyToTheNumberOfElements) {
  EXPECT_ERROR(reshape(counting({2, 3}), {7}), kShapeMismatch,
               "reshape: shape [2, 3] has 6 elements and does not become [7]");
  EXPECT_ERROR(reshape(counting({2, 3}), {-1, 4}), kShapeMismatch, "does not become [-1, 4]");
  EXPECT_ERROR(reshape(counting({0, 3}), {-1, 0}), kShapeMismatch,
               "does not become [-1, 0]");  // any size would do
  EXPECT_ERROR(reshape(counting({2, 3}), {-1, -1}), kInvalidArgument, "one -1 at most");
  EXPECT_ERROR(reshape(counting({2, 3}), {-2, 3}), kInvalidArgument, "sizes of at least 0");
}

TEST(Views, OfMoreElementsThanCanBeCountedAreErrors) {
  const int64_t large = int64_t{1} << 32;
  EXPECT_ERROR(reshape(counting({0}), {large, large}), kShapeMismatch,
               "reshape: ");  // 2^64 is 0 in 64 bits
  EXPECT_ERROR(reshape(counting({2}), {large, large, -1}), kShapeMismatch, "reshape: ");
  EXPECT_ERROR(broadcast_to(counting({1}), {large, large}), kShapeMismatch, "broadcast_to: ");
  EXPECT_EQ(broadcast_to(counting({1}), {large, 0, large}).numel(), 0);
}

TEST(Transpose, ExchangesTwoDims) {
  const Tensor x = counting({2, 3, 4});
  EXPECT_EQ(transpose(x).shape(), (Shape{2, 4, 3}));
  EXPECT_EQ(transpose(x, 0, -1).shape(), (Shape{4, 3, 2}));
  EXPECT_EQ(transpose(counting({2, 3})).to_vector<float>(), (Values{0, 3, 1, 4, 2, 5}));
  EXPECT_TRUE(shares_memory(x, transpose(x)));
  EXPECT_ERROR(transpose(x, 0, 3), kOutOfRange, "transpose: expected dim in [-3, 3), got 3");
  EXPECT_ERROR(transpose(counting({2})), kOutOfRange, "transpose: ");
}

TEST(Permute, PutsDimsInOrder) {
  const Tensor y = permute(counting({2, 3, 4}), {2, 0, 1});
  EXPECT_EQ(y.shape(), (Shape{4, 2, 3}));
  EXPECT_EQ(narrow(y, 0, 1, 1).to_vector<float>(), (Values{1, 5, 9, 13, 17, 21}));
  EXPECT_EQ(permute(y, {1, 2, 0}).to_vector<float>(), counting({24}).to_vector<float>());
  EXPECT_EQ(permute(counting({2, 3}), {-1, 0}).shape(), (Shape{3, 2}));
}

TEST(Permute, RejectsWhatIsNoPermutation) {
  const Tensor x = counting({2, 3});
  EXPECT_ERROR(permute(x, {0}), kInvalidArgument, "permute: expected each of 2 dims once, got [0]");
  EXPECT_ERROR(permute(x, {1, 1}), kInvalidArgument, "got [1, 1]");
  EXPECT_ERROR(permute(x, {0, -2}), kInvalidArgument, "got [0, -2]");
  EXPECT_ERROR(permute(x, {0, 2}), kOutOfRange, "permute: ");
}

TEST(Unsqueeze, AddsADimOfSizeOne) {
  const Tensor x = counting({2, 3});
  EXPECT_EQ(unsqueeze(x, 0).shape(), (Shape{1, 2, 3}));
  EXPECT_EQ(unsqueeze(x, 1).shape(), (Shape{2, 1, 3}));
  EXPECT_EQ(unsqueeze(x, -1).shape(), (Shape{2, 3, 1}));
  EXPECT_EQ(unsqueeze(x, -3).shape(), (Shape{1, 2, 3}));
  EXPECT_TRUE(shares_memory(x, unsqueeze(transpose(x), 1)));
  EXPECT_ERROR(unsqueeze(x, 3), kOutOfRange, "unsqueeze: expected dim in [-3, 3), got 3");
}

TEST(Squeeze, TakesADimOfSizeOneAway) {
  EXPECT_EQ(squeeze(counting({2, 1, 3}), 1).shape(), (Shape{2, 3}));
  EXPECT_EQ(squeeze(counting({2, 3, 1}), -1).shape(), (Shape{2, 3}));
}

TEST(Squeeze, LeavesADimOfAnotherSize) {
  EXPECT_EQ(squeeze(counting({2, 3}), 1).shape(), (Shape{2, 3}));
  EXPECT_EQ(squeeze(counting({0, 3}), 0).shape(), (Shape{0, 3}));
  EXPECT_EQ(squeeze(counting({}), -1).shape(), Shape{});
  EXPECT_ERROR(squeeze(counting({2, 3}), 2), kOutOfRange, "squeeze: expected dim in [-2, 2)");
  EXPECT_ERROR(squeeze(counting({}), 1), kOutOfRange, "squeeze: expected dim in [-1, 1)");
}

TEST(Narrow, ShowsAPartOfADim) {
  const Tensor x = counting({3, 4});
  EXPECT_EQ(narrow(x, 0, 1, 2).to_vector<float>(), (Values{4, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(narrow(x, -1, 2, 1).to_vector<float>(), (Values{2, 6, 10}));
  EXPECT_EQ(narrow(x, 1, 4, 0).shape(), (Shape{3, 0}));
  EXPECT_EQ(narrow(narrow(x, 1, 1, 3), 1, 1, 2).to_vector<float>(), (Values{2, 3, 6, 7, 10, 11}));
  EXPECT_TRUE(shares_memory(x, narrow(x, 0, 1, 2)));
}

TEST(Narrow, RejectsWhatIsNotAllThere) {
  const Tensor x = counting({3, 4});
  EXPECT_ERROR(narrow(x, 0, 2, 2), kOutOfRange,
               "narrow: elements 2 to 2 + 2 of dim 0 are out of range for shape [3, 4]");
  EXPECT_ERROR(narrow(x, 0, -1, 1), kOutOfRange, "narrow: ");
  EXPECT_ERROR(narrow(x, 0, 1, -1), kOutOfRange, "narrow: ");
  EXPECT_ERROR(narrow(x, 0, INT64_MAX, INT64_MAX), kOutOfRange, "narrow: ");
}

TEST(BroadcastTo, RepeatsWithoutACopy) {
  const Tensor y = broadcast_to(counting({3, 1}), {2, 3, 2});
  EXPECT_EQ(y.to_vector<float>(), (Values{0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(y.storage()->bytes(), 12);
  EXPECT_EQ(broadcast_to(counting({1}), {0}).numel(), 0);
}

TEST(BroadcastTo, KeepsASizeOfMinusOne) {
  EXPECT_EQ(broadcast_to(counting({3, 1}), {2, -1, 4}).shape(), (Shape{2, 3, 4}));
  EXPECT_EQ(broadcast_to(counting({3, 1}), {-1, -1}).shape(), (Shape{3, 1}));
  EXPECT_EQ(broadcast_to(counting({0, 1}), {-1, 4}).shape(), (Shape{0, 4}));
  EXPECT_ERROR(broadcast_to(counting({3}), {-1, 3}), kShapeMismatch,
               "broadcast_to: shape [3] has no dim for the -1 in dim 0 of [-1, 3]");
}

TEST(BroadcastTo, RejectsWhatDoesNotBroadcast) {
  EXPECT_ERROR(broadcast_to(counting({3}), {4}), kShapeMismatch,
               "broadcast_to: shape [3] does not broadcast to [4]");
  EXPECT_ERROR(broadcast_to(counting({3, 1}), {3}), kShapeMismatch, "broadcast_to: ");
  EXPECT_ERROR(broadcast_to(counting({1}), {-2, 1}), kShapeMismatch, "broadcast_to: ");
}

TEST(Views, OfNothingAreErrors) {
  EXPECT_ERROR(reshape({}, {1}), kInvalidArgument, "reshape: an operand is an empty Tensor()");
  EXPECT_ERROR(transpose({}), kInvalidArgument, "transpose: an operand is an empty Tensor()");
  EXPECT_ERROR(narrow({}, 0, 0, 0), kInvalidArgument, "narrow: an operand is an empty Tensor()");
}

TEST(Flatten, JoinsARangeOfDims) {
  const Tensor x = counting({2, 3, 4, 5});
  EXPECT_EQ(flatten(x).shape(), (Shape{120}));
  EXPECT_EQ(flatten(x, 1, 2).shape(), (Shape{2, 12, 5}));
  EXPECT_EQ(flatten(x, -2).shape(), (Shape{2, 3, 20}));
  EXPECT_EQ(flatten(x, 1, 1).shape(), x.shape());
  EXPECT_EQ(flatten(counting({})).shape(), (Shape{1}));
  EXPECT_TRUE(shares_memory(x, flatten(x)));
  EXPECT_ERROR(flatten(x, 2, 1), kInvalidArgument, "flatten: dim 2 comes after dim 1");
  EXPECT_ERROR(flatten(x, 0, 4), kOutOfRange, "flatten");
}

TEST(Movedim, KeepsTheOrderOfTheOthers) {
  const Tensor x = counting({2, 3, 4, 5});
  EXPECT_EQ(movedim(x, 0, -1).shape(), (Shape{3, 4, 5, 2}));
  EXPECT_EQ(movedim(x, {0, 1}, {-1, 0}).shape(), (Shape{3, 4, 5, 2}));
  EXPECT_EQ(swapaxes(x, 0, 2).shape(), (Shape{4, 3, 2, 5}));
  EXPECT_EQ(swapdims(x, 1, -1).shape(), (Shape{2, 5, 4, 3}));
  EXPECT_TRUE(shares_memory(x, movedim(x, 0, 3)));
  EXPECT_ERROR(movedim(x, {0, 0}, {1, 2}), kInvalidArgument, "a dim is repeated");
  EXPECT_ERROR(movedim(x, {0}, {1, 2}), kInvalidArgument, "as many destinations as sources");
}

TEST(Squeeze, OfAllDimsOfSizeOne) {
  EXPECT_EQ(squeeze(counting({1, 2, 1, 3, 1})).shape(), (Shape{2, 3}));
  EXPECT_EQ(squeeze(counting({1, 1})).shape(), Shape{});
  EXPECT_EQ(broadcast_left(counting({3}), {2, 4}).shape(), (Shape{2, 4, 3}));
}

TEST(Select, TakesTheDimAwayAndCountsFromTheEnd) {
  const Tensor x = counting({3, 2});
  EXPECT_EQ(select(x, 0, 1).to_vec1<float>(), (Values{2, 3}));
  EXPECT_EQ(select(x, 1, -1).to_vec1<float>(), (Values{1, 3, 5}));
  EXPECT_ERROR(select(x, 0, 3), kOutOfRange,
               "select: expected an index in [-3, 3) of dim 0, got 3");
  EXPECT_ERROR(select(x, 0, -4), kOutOfRange, "got -4");
}

TEST(Split, GivesViewsBySizeAndBySizes) {
  const Tensor x = counting({7, 2});
  EXPECT_EQ(shapes_of(split(x, 3)), (std::vector<Shape>{{3, 2}, {3, 2}, {1, 2}}));
  EXPECT_EQ(shapes_of(split(x, {2, 0, 5})), (std::vector<Shape>{{2, 2}, {0, 2}, {5, 2}}));
  EXPECT_TRUE(shares_memory(x, split(x, 3)[1]));
  EXPECT_EQ(split(x, 3)[2].to_vector<float>(), (Values{12, 13}));
  EXPECT_EQ(shapes_of(split(counting({0, 2}), 3)), (std::vector<Shape>{{0, 2}}));
  EXPECT_ERROR(split(x, 0), kInvalidArgument, "expected a size above 0");
  EXPECT_ERROR(split(x, {3, 3}), kShapeMismatch, "split: sizes [3, 3] sum to 6");
  EXPECT_ERROR(split(x, {3, 5}), kShapeMismatch, "do not fit dim 0");
  EXPECT_ERROR(split(x, {-1, 8}), kShapeMismatch, "do not fit dim 0");
}

TEST(Chunk, MakesTheFirstOnesOneLonger) {
  const Tensor x = counting({7});
  EXPECT_EQ(shapes_of(chunk(x, 3)), (std::vector<Shape>{{3}, {2}, {2}}));
  EXPECT_EQ(chunk(x, 9).size(), 7u);
  EXPECT_EQ(shapes_of(chunk(counting({0}), 2)), (std::vector<Shape>{{0}, {0}}));
  EXPECT_ERROR(chunk(x, 0), kInvalidArgument, "expected a count above 0");
}

TEST(Unbind, GivesEachIndexByItself) {
  const std::vector<Tensor> parts = unbind(counting({2, 3}), 1);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[2].to_vec1<float>(), (Values{2, 5}));
  EXPECT_TRUE(unbind(counting({0, 3})).empty());
  EXPECT_ERROR(unbind(counting({})), kOutOfRange, "unbind");
}

}  // namespace
}  // namespace wick
