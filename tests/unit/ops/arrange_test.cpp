#include <cmath>
#include <numeric>

#include "../expect.h"
#include "wick/wick.h"

namespace wick {
namespace {

/// 0, 1, 2 ... in this shape.
Tensor counting(const Shape& shape) {
  std::vector<float> values(static_cast<size_t>(numel(shape)));
  std::iota(values.begin(), values.end(), 0.0f);
  return Tensor::from(values, shape);
}
using Values = std::vector<float>;
using Ids = std::vector<int64>;

bool shares_memory(const Tensor& x, const Tensor& y) { return x.storage() == y.storage(); }

TEST(Cat, PutsOneAfterAnother) {
  const Tensor x = counting({2, 2}), y = counting({2, 3});
  EXPECT_EQ(cat({x, y}, 1).to_vector<float>(), (Values{0, 1, 0, 1, 2, 2, 3, 3, 4, 5}));
  EXPECT_EQ(cat({x, x, counting({0, 2})}, 0).shape(), (Shape{4, 2}));
  EXPECT_EQ(cat({transpose(y), x}, -2).to_vector<float>(), (Values{0, 3, 1, 4, 2, 5, 0, 1, 2, 3}));
}

TEST(Clone, HasMemoryOfItsOwnInRowMajorOrder) {
  const Tensor x = transpose(counting({2, 3}));
  const Tensor y = clone(x);
  EXPECT_FALSE(shares_memory(x, y));
  EXPECT_TRUE(y.is_contiguous());
  EXPECT_EQ(y.to_vector<float>(), (Values{0, 3, 1, 4, 2, 5}));
  EXPECT_FALSE(shares_memory(y, clone(y)));
  EXPECT_EQ(clone(broadcast_to(counting({1}), {3})).storage()->bytes(), 12);
  EXPECT_ERROR(clone({}), kInvalidArgument, "clone: an operand is an empty Tensor()");
}

TEST(Clone, PassesTheGradient) {
  const Var x(counting({3}));
  backward(sum(clone(x) * 2));
  EXPECT_EQ(x.grad().to_vector<float>(), (Values{2, 2, 2}));
}

TEST(Cat, AlwaysCopies) {
  const Tensor x = counting({3});
  const Tensor y = cat({x}, 0);
  EXPECT_FALSE(shares_memory(x, y));
  EXPECT_EQ(y.to_vector<float>(), x.to_vector<float>());
}

TEST(Cat, GivesEachItsPartOfTheGradient) {
  const Var x(counting({1, 2})), none(counting({0, 2})), y(counting({2, 2}));
  backward(cat({x, none, y}, 0), {.seed = counting({3, 2})});
  EXPECT_EQ(x.grad().to_vector<float>(), (Values{0, 1}));
  EXPECT_EQ(none.grad().shape(), (Shape{0, 2}));
  EXPECT_EQ(y.grad().to_vector<float>(), (Values{2, 3, 4, 5}));
}

TEST(Cat, RejectsWhatDoesNotFitTogether) {
  const Tensor x = counting({2, 3});
  EXPECT_ERROR(cat({}, 0), kInvalidArgument, "cat: expected at least one tensor");
  EXPECT_ERROR(cat({x, {}}, 0), kInvalidArgument, "cat: an operand is an empty Tensor()");
  EXPECT_ERROR(cat({x, counting({2, 4})}, 0), kShapeMismatch,
               "cat: shapes [2, 3] and [2, 4] differ outside of dim 0");
  EXPECT_ERROR(cat({x, counting({3})}, 1), kShapeMismatch, "cat: shapes [2, 3] and [3] differ");
  EXPECT_ERROR(cat({x, cast(x, DType::kF16)}, 0), kDTypeMismatch, "cat: expected f32, got f16");
  EXPECT_ERROR(cat({x, x}, 2), kOutOfRange, "cat: expected dim in [-2, 2), got 2");
  EXPECT_ERROR(cat({counting({}), counting({})}, 0), kOutOfRange, "cat: ");
}

TEST(Repeat, WantsANumberForEachDimWhereTileDoesNot) {
  const Tensor x = counting({2, 2});
  EXPECT_EQ(tile(x, {2}).to_vec2<float>(), (std::vector<Values>{{0, 1, 0, 1}, {2, 3, 2, 3}}));
  EXPECT_EQ(tile(x, {2, 1, 1}).shape(), (Shape{2, 2, 2}));
  EXPECT_ERROR(repeat(x, {2}), kInvalidArgument, "repeat: expected times for at least 2 dims");
  EXPECT_ERROR(repeat(x, {2, -1}), kInvalidArgument, "at least 0");
  EXPECT_ERROR(repeat(x, {int64_t(1) << 40, int64_t(1) << 40}), kInvalidArgument, "repeated");
}

TEST(Diag, IsTheMatrixOrTheDiagonal) {
  EXPECT_EQ(diag(counting({2}), 1).to_vec2<float>(),
            (std::vector<Values>{{0, 0, 0}, {0, 0, 1}, {0, 0, 0}}));
  EXPECT_EQ(diag(counting({2, 3}), 1).to_vec1<float>(), (Values{1, 5}));
  const Tensor x = counting({3, 3});
  EXPECT_TRUE(shares_memory(x, diagonal(x)));
  EXPECT_ERROR(diag(counting({2, 2, 2})), kShapeMismatch, "one dim or two");
  EXPECT_ERROR(diagonal(counting({2, 2}), 0, 1, -1), kInvalidArgument,
               "expected two different dims");
  EXPECT_EQ(diagonal(counting({2, 2}), INT64_MIN).numel(), 0);
  EXPECT_EQ(diagonal(counting({2, 2}), INT64_MAX).numel(), 0);
  EXPECT_ERROR(diag_embed(counting({2}), INT64_MAX), kInvalidArgument, "offset");
  EXPECT_ERROR(trace(counting({2})), kShapeMismatch, "two dims");
}

TEST(Stack, WantsEqualShapes) {
  EXPECT_ERROR(stack({}), kInvalidArgument, "at least one");
  EXPECT_ERROR(stack({counting({2}), counting({3})}), kShapeMismatch, "[2] and [3] differ");
  EXPECT_ERROR(stack({counting({2})}, 2), kOutOfRange, "stack");
}

TEST(Unfold, IsAViewWhoseGradientSumsOverTheWindows) {
  const Var x(counting({5}));
  const Tensor y = unfold(x, 0, 3, 1);
  EXPECT_TRUE(shares_memory(x.tensor(), y));
  EXPECT_EQ(y.to_vec2<float>(), (std::vector<Values>{{0, 1, 2}, {1, 2, 3}, {2, 3, 4}}));
  backward(sum(y));
  EXPECT_EQ(x.grad().to_vector<float>(), (Values{1, 2, 3, 2, 1}));
  EXPECT_ERROR(unfold(x, 0, 6, 1), kInvalidArgument, "windows of 0 to 5 elements, got 6");
  EXPECT_ERROR(unfold(x, 0, -1, 1), kInvalidArgument, "got -1");
  EXPECT_ERROR(unfold(x, 0, 2, 0), kInvalidArgument, "expected a step above 0");
  EXPECT_EQ(unfold(x, 0, 2, int64_t(1) << 62).shape(), (Shape{1, 2}));
}

TEST(RepeatInterleave, TakesACountForEachElement) {
  const Tensor x = counting({3});
  const Tensor counts = Tensor::from(std::vector<uint8>{2, 0, 3});
  EXPECT_EQ(repeat_interleave(x, counts, 0).to_vec1<float>(), (Values{0, 0, 2, 2, 2}));
  EXPECT_ERROR(repeat_interleave(x, -1, 0), kInvalidArgument, "at least 0");
  EXPECT_ERROR(repeat_interleave(x, Tensor::from(Ids{1, -2, 0}), 0), kInvalidArgument,
               "got -2 for element 1");
  EXPECT_ERROR(repeat_interleave(x, Tensor::from(Ids{1}), 0), kShapeMismatch, "shape [3]");
  EXPECT_ERROR(repeat_interleave(x, x, 0), kDTypeMismatch, "counts of integers, got f32");
}

TEST(Roll, OfNoDimsIsThatOfAllElements) {
  EXPECT_EQ(roll(counting({2, 3}), {1}).to_vec2<float>(),
            (std::vector<Values>{{5, 0, 1}, {2, 3, 4}}));
  EXPECT_EQ(roll(counting({0, 3}), {1, 2}, {0, 1}).shape(), (Shape{0, 3}));
  EXPECT_ERROR(roll(counting({2}), {1, 2}, {0}), kInvalidArgument, "one shift per dim");
}

TEST(Flip, TakesADimOnce) {
  EXPECT_ERROR(flip(counting({2, 2}), {0, -2}), kInvalidArgument, "dim 0 is named twice");
}

TEST(Tril, TakesAnyDiagonalAndKeepsNanOut) {
  const Tensor x = full({2, 2}, NAN);
  EXPECT_EQ(tril(x, -5).to_vector<float>(), Values(4, 0.0f));
  EXPECT_EQ(triu(x, INT64_MAX).to_vector<float>(), Values(4, 0.0f));
  EXPECT_EQ(tril(counting({2, 2}), INT64_MAX).to_vector<float>(), (Values{0, 1, 2, 3}));
  EXPECT_EQ(triu(counting({2, 2}), INT64_MIN).to_vector<float>(), (Values{0, 1, 2, 3}));
  EXPECT_ERROR(tril(counting({2})), kShapeMismatch, "at least two dims");
}

TEST(Pad, CutsOffWhereItIsNegative) {
  const Tensor x = counting({4});
  EXPECT_EQ(pad(x, {{-1, 2}}, {.value = 9}).to_vec1<float>(), (Values{1, 2, 3, 9, 9}));
  EXPECT_EQ(pad(x, {{2, -3}}, {.mode = PadMode::kReflect}).to_vec1<float>(), (Values{2, 1, 0}));
  EXPECT_EQ(pad(counting({2, 2}), {{1, 0}, {0, 1}}).to_vec2<float>(),
            (std::vector<Values>{{0, 0, 0}, {0, 1, 0}, {2, 3, 0}}));
  EXPECT_ERROR(pad(x, {{-3, -2}}), kInvalidArgument, "cannot pad dim 0 of size 4 by -3 and -2");
  EXPECT_ERROR(pad(x, {{4, 0}}, {.mode = PadMode::kReflect}), kInvalidArgument,
               "cannot pad dim 0 of size 4 by 4 and 0");
  EXPECT_ERROR(pad(x, {{5, 0}}, {.mode = PadMode::kCircular}), kInvalidArgument,
               "cannot pad dim 0 of size 4 by 5");
  EXPECT_ERROR(pad(counting({0}), {{1, 0}}, {.mode = PadMode::kReplicate}), kInvalidArgument,
               "cannot pad dim 0 of size 0 by 1");
  EXPECT_ERROR(pad(x, {{1, 1}, {1, 1}}), kInvalidArgument, "at most 1 dims");
}

TEST(PixelShuffle, WantsDimsThatTheFactorDivides) {
  EXPECT_ERROR(pixel_shuffle(counting({3, 2, 2}), 2), kShapeMismatch, "r = 2");
  EXPECT_ERROR(pixel_shuffle(counting({4, 2, 2}), 0), kShapeMismatch, "r = 0");
  EXPECT_ERROR(pixel_unshuffle(counting({1, 3, 2}), 2), kShapeMismatch, "[..., C, H r, W r]");
}

TEST(Arrange, EmptyTensorsAreErrors) {
  const Tensor none;
  EXPECT_ERROR(flatten(none), kInvalidArgument, "flatten: an operand is an empty Tensor()");
  EXPECT_ERROR(chunk(none, 2), kInvalidArgument, "chunk");
  EXPECT_ERROR(roll(none, {1}), kInvalidArgument, "roll");
  EXPECT_ERROR(pad(none, {}), kInvalidArgument, "pad");
  EXPECT_ERROR(index(none, {0}), kInvalidArgument, "index");
  EXPECT_ERROR(einsum("i", {none}), kInvalidArgument, "einsum");
}

}  // namespace
}  // namespace wick
