#include "wick/ops/conv.h"

#include "../expect.h"
#include "wick/wick.h"

namespace wick {
namespace {

using Values = std::vector<float>;

Tensor counting(const Shape& shape) {
  return reshape(arange(numel(shape), {.dtype = DType::kF32}), shape);
}

TEST(Conv, IsACrossCorrelation) {
  const Tensor x = Tensor::from(Values{1, 2, 3, 4}, Shape{1, 1, 4});
  const Tensor weight = Tensor::from(Values{1, 10, 100}, Shape{1, 1, 3});
  EXPECT_EQ(conv1d(x, weight).to_vector<float>(), (Values{321, 432}));
  EXPECT_EQ(conv1d(x, weight, {.padding = {1, 0}}).to_vector<float>(), (Values{210, 321, 432}));
  EXPECT_EQ(conv_transpose1d(x, weight).to_vector<float>(), (Values{1, 12, 123, 234, 340, 400}));
}

TEST(Conv, ReadsAWeightThatIsNotContiguous) {
  const Tensor x = counting({2, 3, 5, 4});
  const Tensor flipped = transpose(counting({3, 2, 4, 3}) - 30, 0, 3);  // [3, 2, 4, 3]
  const Tensor wide = counting({3, 3, 2, 4});
  const Tensor sliced = narrow(wide, 3, 1, 2);
  const Tensor repeated = broadcast_to(counting({1, 3, 2, 2}), {4, 3, 2, 2});
  for (const CompositeMode mode : {CompositeMode::kAuto, CompositeMode::kAlways}) {
    const CompositeScope scope(mode);
    for (const Tensor& weight : {sliced, repeated})
      EXPECT_EQ(conv2d(x, weight).to_vector<float>(),
                conv2d(x, weight.contiguous()).to_vector<float>());
    const Tensor images = counting({1, 2, 6, 6});
    EXPECT_EQ(conv2d(images, flipped).to_vector<float>(),
              conv2d(images, flipped.contiguous()).to_vector<float>());
    const Tensor lines = counting({1, 3, 7}), transposed = transpose(counting({2, 4, 3}), 1, 2);
    EXPECT_EQ(conv1d(lines, transposed).to_vector<float>(),
              conv1d(lines, transposed.contiguous()).to_vector<float>());
  }
}

TEST(Conv, ReadsAViewWithAnOffset) {
  const Tensor whole = counting({2, 4, 6, 7});
  const Tensor x = narrow(narrow(transpose(whole, 2, 3), 1, 1, 2), 2, 2, 4);
  const Tensor weight = counting({3, 2, 2, 3});
  EXPECT_EQ(conv2d(x, weight, {.padding = 1}).to_vector<float>(),
            conv2d(x.contiguous(), weight, {.padding = 1}).to_vector<float>());
  EXPECT_EQ(conv2d(broadcast_to(counting({1, 2, 1, 5}), {2, 2, 4, 5}), weight).shape(),
            (Shape{2, 3, 3, 3}));
}

TEST(Conv, KernelAndCompositeAgree) {
  const Tensor x = counting({2, 6, 9, 8}) / 100., weight = counting({4, 3, 3, 2}) / 10. - 3;
  const Conv2dOptions options{.stride = {2, 1}, .padding = {1, 0, 2, 1}, .groups = 2};
  const Tensor y = conv2d(x, weight, options);
  const CompositeScope always(CompositeMode::kAlways);
  const Tensor same = conv2d(x, weight, options);
  EXPECT_LT(max(abs(y - same)).item<float>(), 1e-3f);
}

// As PyTorch has it: a pair is of height and width, the same before and after.
TEST(Conv, TakesAPairOfPaddings) {
  const Tensor x = counting({1, 2, 5, 6}), weight = counting({3, 2, 3, 4}) / 10.;
  const Tensor y = conv2d(x, weight, {.padding = {2, 1}});
  EXPECT_EQ(y.shape(), (Shape{1, 3, 7, 5}));
  const Pair pair{2, 1};
  EXPECT_EQ(conv2d(x, weight, {.padding = pair}).to_vector<float>(), y.to_vector<float>());
  EXPECT_EQ(conv2d(pad(x, {{2, 2}, {1, 1}}), weight).to_vector<float>(), y.to_vector<float>());
  EXPECT_EQ(conv_transpose2d(y, weight, {.padding = pair}).shape(), x.shape());
}

TEST(Conv, KeepsTheSizeWithSamePadding) {
  const Tensor x = counting({1, 2, 5, 6});
  EXPECT_EQ(conv2d(x, ones({3, 2, 3, 4}), {.padding = kSamePadding}).shape(), (Shape{1, 3, 5, 6}));
  EXPECT_EQ(conv2d(x, ones({3, 2, 2, 3}), {.padding = kSamePadding, .dilation = 2}).shape(),
            (Shape{1, 3, 5, 6}));
  // The odd element is at the end.
  EXPECT_EQ(conv1d(Tensor::from(Values{1, 2, 3}, Shape{1, 1, 3}), ones({1, 1, 2}),
                   {.padding = kSamePadding})
                .to_vector<float>(),
            (Values{3, 5, 3}));
  EXPECT_ERROR(conv2d(x, ones({3, 2, 3, 3}), {.stride = 2, .padding = kSamePadding}),
               kInvalidArgument, "conv2d: expected a stride of 1 with kSamePadding, got [2, 2]");
}

TEST(Conv, TakesOneImageWithoutABatch) {
  const Tensor x = counting({2, 4, 4}), weight = counting({3, 2, 2, 2});
  const Tensor y = conv2d(x, weight, {.bias = ones({3})});
  EXPECT_EQ(y.shape(), (Shape{3, 3, 3}));
  EXPECT_EQ(y.to_vector<float>(),
            conv2d(unsqueeze(x, 0), weight, {.bias = ones({3})}).to_vector<float>());
  EXPECT_EQ(conv_transpose2d(x, counting({2, 3, 2, 2})).shape(), (Shape{3, 5, 5}));
  EXPECT_EQ(conv1d(counting({2, 5}), counting({3, 2, 2})).shape(), (Shape{3, 4}));
}

TEST(Conv, OfNothingStaysOnTheTape) {
  const Var x(zeros({0, 2, 4, 4})), weight(ones({3, 2, 2, 2}));
  const Tensor y = conv2d(x, weight);
  EXPECT_EQ(y.shape(), (Shape{0, 3, 3, 3}));
  backward(sum(y));
  EXPECT_EQ(x.grad().shape(), (Shape{0, 2, 4, 4}));
  EXPECT_EQ(sum(abs(weight.grad())).item<float>(), 0);
}

TEST(Conv, GradientsAddUpOverManyChunksOfColumns) {
  // Columns of one image are some 19 MB, so that four images are more than the composite writes out
  // at once.
  const Tensor x = ones({4, 8, 256, 256});
  const Var weight(ones({1, 8, 3, 3}));
  const CompositeScope always(CompositeMode::kAlways);
  const Tensor y = conv2d(x, weight);
  EXPECT_EQ(y.shape(), (Shape{4, 1, 254, 254}));
  EXPECT_EQ(max(abs(y - 72)).item<float>(), 0);
  backward(sum(y));
  EXPECT_EQ(max(abs(weight.grad() - 4 * 254 * 254)).item<float>(), 0);
}

TEST(Conv, RejectsWhatDoesNotFit) {
  const Tensor x = zeros({1, 4, 5, 5}), weight = zeros({6, 4, 3, 3});
  EXPECT_ERROR(conv2d(x, zeros({6, 3, 3, 3})), kShapeMismatch,
               "conv2d: expected x of 3 channels for weight [6, 3, 3, 3] in 1 groups");
  EXPECT_ERROR(conv2d(x, zeros({6, 4, 3})), kShapeMismatch, "conv2d: expected weight");
  EXPECT_ERROR(conv2d(x, zeros({6, 4, 0, 3})), kShapeMismatch, "conv2d: expected weight");
  EXPECT_ERROR(conv2d(zeros({5, 5}), weight), kShapeMismatch, "conv2d: expected x [N, C, H, W]");
  EXPECT_ERROR(conv2d(x, zeros({6, 4, 6, 3})), kShapeMismatch,
               "conv2d: a window of 6 elements does not fit in 5");
  EXPECT_ERROR(conv2d(x, weight, {.bias = zeros({5})}), kShapeMismatch,
               "conv2d: expected bias [6], got [5]");
  EXPECT_ERROR(conv2d(x, weight, {.stride = 0}), kInvalidArgument, "expected stride of at least 1");
  EXPECT_ERROR(conv2d(x, weight, {.padding = -1}), kInvalidArgument, "expected padding");
  EXPECT_ERROR(conv2d(x, weight, {.dilation = {1, 0}}), kInvalidArgument, "expected dilation");
  EXPECT_ERROR(conv2d(x, weight, {.groups = 4}), kInvalidArgument, "expected groups");
  EXPECT_ERROR(conv2d(x, weight, {.groups = 0}), kInvalidArgument, "expected groups");
  EXPECT_ERROR(conv2d(x, weight, {.padding = 5, .padding_mode = PaddingMode::kReflect}),
               kInvalidArgument, "conv2d: padding of 5 is too large for 5 elements");
  EXPECT_ERROR(conv2d(cast(x, DType::kI64), cast(weight, DType::kI64)), kDTypeMismatch,
               "conv2d: expected a floating dtype, got x of i64 and weight of i64");
  EXPECT_ERROR(conv_transpose2d(x, zeros({4, 2, 3, 3}), {.stride = 2, .output_padding = 2}),
               kInvalidArgument, "output_padding below the stride");
  EXPECT_ERROR(conv_transpose2d(x, zeros({4, 2, 1, 1}), {.padding = 3}), kShapeMismatch,
               "leaves no elements");
  EXPECT_ERROR(conv_transpose2d(x, zeros({4, 2, 3, 3}), {.padding = kSamePadding}),
               kInvalidArgument, "kSamePadding");
  EXPECT_ERROR(conv1d(zeros({1, 2, 3, 4}), zeros({1, 2, 3})), kShapeMismatch, "conv1d: expected x");
  EXPECT_ERROR(conv2d({}, weight), kInvalidArgument, "conv2d: an operand is an empty Tensor()");
  EXPECT_ERROR(conv2d(x, {}), kInvalidArgument, "conv2d: an operand is an empty Tensor()");
}

TEST(Unfold, GivesWindowsAsColumnsAndFoldAddsThem) {
  const Tensor x = counting({1, 1, 3, 3});
  const Tensor columns = unfold2d(x, 2);
  EXPECT_EQ(columns.shape(), (Shape{1, 4, 4}));
  EXPECT_EQ(columns.to_vector<float>(), (Values{0, 1, 3, 4, 1, 2, 4, 5, 3, 4, 6, 7, 4, 5, 7, 8}));
  EXPECT_EQ(fold2d(columns, 3, 2).to_vector<float>(), (Values{0, 2, 2, 6, 16, 10, 6, 14, 8}));
  EXPECT_ERROR(fold2d(columns, 4, 2), kShapeMismatch, "fold2d: expected x [..., C 4, 9]");
  EXPECT_ERROR(unfold2d(x, 4), kShapeMismatch, "unfold2d: a window of 4");
  EXPECT_ERROR(unfold2d(x, 0), kInvalidArgument, "unfold2d: expected kernel of at least 1");
}

}  // namespace
}  // namespace wick
