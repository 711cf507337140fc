#include "wick/ops/pool.h"

#include <cmath>

#include "../expect.h"
#include "wick/wick.h"

namespace wick {
namespace {

using Values = std::vector<float>;
using Ids = std::vector<int64_t>;

Tensor counting(const Shape& shape) {
  return reshape(arange(numel(shape), {.dtype = DType::kF32}), shape);
}

TEST(MaxPool, GivesTheFirstOfEqualsAndNanBeforeAll) {
  const Tensor x = Tensor::from(Values{1, 3, 3, 0, NAN, 7, NAN, 9}, Shape{1, 1, 8});
  const MaxPoolResult y = max_pool1d_with_indices(x, 4);
  EXPECT_EQ(y.values.to_vector<float>()[0], 3);
  EXPECT_TRUE(std::isnan(y.values.to_vector<float>()[1]));
  EXPECT_EQ(y.indices.to_vector<int64_t>(), (Ids{1, 4}));
}

TEST(MaxPool, NeverTakesPadding) {
  const Tensor x = full({1, 1, 2, 2}, -INFINITY);
  const MaxPoolResult y = max_pool2d_with_indices(x, 3, {.stride = 1, .padding = 1});
  EXPECT_EQ(y.values.to_vector<float>(), Values(4, -INFINITY));
  EXPECT_EQ(y.indices.to_vector<int64_t>(), (Ids{0, 0, 0, 0}));
  EXPECT_EQ(max_pool2d(full({1, 1, 2, 2}, -5, {.dtype = DType::kI8}), 2, {.padding = 1})
                .to_vector<int8_t>(),
            (std::vector<int8_t>{-5, -5, -5, -5}));
}

TEST(MaxPool, GradientsOfOverlappingWindowsAddUp) {
  const Var x(counting({1, 1, 3, 3}));
  backward(sum(max_pool2d(x, 2, {.stride = 1})));
  EXPECT_EQ(x.grad().to_vector<float>(), (Values{0, 0, 0, 0, 1, 1, 0, 1, 1}));
  const Var flat(ones({1, 1, 4, 4}));
  backward(sum(max_pool2d(flat, 2)));
  EXPECT_EQ(sum(flat.grad()).item<float>(), 4);
  EXPECT_EQ(flat.grad().to_vector<float>()[0], 1);  // the first of equals has it all
}

TEST(AvgPool, GradientsOfOverlappingWindowsAddUp) {
  const Var x(counting({1, 1, 3, 3}));
  backward(sum(avg_pool2d(x, 2, {.stride = 1})));
  EXPECT_EQ(x.grad().to_vector<float>(),
            (Values{0.25f, 0.5f, 0.25f, 0.5f, 1, 0.5f, 0.25f, 0.5f, 0.25f}));
  const Var apart(counting({1, 1, 4, 4}));
  backward(sum(avg_pool2d(apart, 2)));
  EXPECT_EQ(apart.grad().to_vector<float>(), Values(16, 0.25f));
}

TEST(AvgPool, CountsAsAsked) {
  const Tensor x = ones({1, 1, 3});
  EXPECT_EQ(avg_pool1d(x, 2, {.padding = 1}).to_vector<float>(), (Values{0.5f, 1}));
  EXPECT_EQ(avg_pool1d(x, 2, {.padding = 1, .count_include_pad = false}).to_vector<float>(),
            (Values{1, 1}));
  EXPECT_EQ(avg_pool1d(x, 2, {.ceil_mode = true}).to_vector<float>(), (Values{1, 1}));
  EXPECT_EQ(avg_pool2d(ones({1, 2, 2}), 2, {.divisor_override = 8}).to_vector<float>(),
            (Values{0.5f}));
  EXPECT_EQ(avg_pool2d(ones({1, 2, 2}), 2, {.divisor_override = -2}).to_vector<float>(),
            (Values{-2}));
}

TEST(Pool, TakesOneImageWithoutABatchAndViews) {
  const Tensor whole = counting({3, 6, 8});
  const Tensor x = narrow(transpose(whole, 1, 2), 1, 1, 6);  // [3, 6, 6]
  EXPECT_EQ(max_pool2d(x, 2).to_vector<float>(), max_pool2d(x.contiguous(), 2).to_vector<float>());
  EXPECT_EQ(avg_pool2d(x, 3, {.stride = 2}).shape(), (Shape{3, 2, 2}));
  EXPECT_EQ(adaptive_max_pool2d_with_indices(x, {4, 5}).indices.shape(), (Shape{3, 4, 5}));
  EXPECT_EQ(adaptive_avg_pool1d(counting({2, 6}), 4).shape(), (Shape{2, 4}));
}

TEST(Pool, RejectsWhatDoesNotFit) {
  const Tensor x = zeros({1, 2, 4, 4});
  EXPECT_ERROR(max_pool2d(x, 5), kShapeMismatch,
               "max_pool2d: a window of 5 elements does not fit in 4 and padding of 0");
  EXPECT_ERROR(max_pool2d(x, 2, {.padding = 2}), kInvalidArgument,
               "max_pool2d: expected padding of at most half the kernel, got 2 for 2");
  EXPECT_ERROR(max_pool2d(x, 0), kInvalidArgument, "expected kernel of at least 1");
  EXPECT_ERROR(max_pool2d(x, 2, {.stride = Pair(0)}), kInvalidArgument, "expected stride");
  EXPECT_ERROR(max_pool2d(zeros({1, 1, 1, 1}), 2, {.padding = 1, .dilation = 2}), kInvalidArgument,
               "contains only padding");
  EXPECT_ERROR(max_pool2d(zeros({2, 0, 4}), 0), kInvalidArgument, "expected kernel");
  EXPECT_ERROR(max_pool2d(zeros({1, 2, 0, 4}), 1), kShapeMismatch, "max_pool2d: expected H and W");
  EXPECT_ERROR(max_pool2d(zeros({4, 4}), 2), kShapeMismatch, "max_pool2d: expected x");
  EXPECT_ERROR(max_pool2d(zeros({1, 4, 4}, {.dtype = DType::kBool}), 2), kDTypeMismatch,
               "max_pool2d: expected a numeric dtype, got bool");
  EXPECT_ERROR(avg_pool2d(cast(x, DType::kI32), 2), kDTypeMismatch,
               "avg_pool2d: expected a floating dtype, got i32");
  EXPECT_ERROR(avg_pool2d(x, 2, {.divisor_override = 0}), kInvalidArgument, "divisor_override");
  EXPECT_ERROR(adaptive_avg_pool2d(x, 0), kInvalidArgument, "adaptive_avg_pool2d: expected size");
  EXPECT_ERROR(max_unpool2d(x, zeros({1, 2, 3, 4}, {.dtype = DType::kI64}), 2), kShapeMismatch,
               "max_unpool2d: expected indices [1, 2, 4, 4], got [1, 2, 3, 4]");
  EXPECT_ERROR(max_unpool2d(x, full({1, 2, 4, 4}, 64, {.dtype = DType::kI64}), 2), kOutOfRange,
               "64");
  EXPECT_ERROR(max_pool2d({}, 2), kInvalidArgument, "max_pool2d: an operand is an empty Tensor()");
}

TEST(MaxUnpool, PutsValuesBack) {
  const Tensor x = counting({1, 1, 4, 4});
  const MaxPoolResult y = max_pool2d_with_indices(x, 2);
  EXPECT_EQ(max_unpool2d(y.values, y.indices, 2).to_vector<float>(),
            (Values{0, 0, 0, 0, 0, 5, 0, 7, 0, 0, 0, 0, 0, 13, 0, 15}));
}

}  // namespace
}  // namespace wick
