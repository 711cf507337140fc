#include "wick/ops/resample.h"

#include "../expect.h"
#include "wick/wick.h"

namespace wick {
namespace {

using Values = std::vector<float>;

Tensor counting(const Shape& shape) {
  return reshape(arange(numel(shape), {.dtype = DType::kF32}), shape);
}

TEST(Upsample, NearestTakesTheFloor) {
  const Tensor x = Tensor::from(Values{0, 1, 2}, Shape{1, 1, 3});
  EXPECT_EQ(upsample_nearest1d(x, 5).to_vector<float>(), (Values{0, 0, 1, 1, 2}));
  EXPECT_EQ(upsample_nearest1d(x, 2).to_vector<float>(), (Values{0, 1}));
  EXPECT_EQ(upsample_nearest_exact1d(x, 2).to_vector<float>(), (Values{0, 2}));
}

TEST(Upsample, NearestGradientsAddUp) {
  const Var x(counting({1, 1, 2, 2}));
  backward(sum(upsample_nearest2d(x, {4, 6})));
  EXPECT_EQ(x.grad().to_vector<float>(), Values(4, 6));
}

TEST(Upsample, KeepsAViewOfTheSameSize) {
  const Tensor x = narrow(counting({1, 2, 4, 5}), 3, 2, 3);
  const UpsampleOptions aligned{.align_corners = true};
  EXPECT_EQ(upsample_bilinear2d(x, {4, 3}).to_vector<float>(), x.to_vector<float>());
  EXPECT_EQ(upsample_bilinear2d(x, {4, 3}, aligned).to_vector<float>(), x.to_vector<float>());
  EXPECT_EQ(upsample_bilinear2d(x, {8, 6}).to_vector<float>(),
            upsample_bilinear2d(x.contiguous(), {8, 6}).to_vector<float>());
  EXPECT_EQ(interpolate(x, {.scale = {1.}, .mode = Interpolation::kLinear}).to_vector<float>(),
            x.to_vector<float>());
}

TEST(Upsample, TakesTheScaleThatItIsGiven) {
  const Tensor x = Tensor::from(Values{0, 1, 2, 3, 4}, Shape{1, 1, 5});
  // 5 1.5 = 7.5 elements make 7, which stand (i + 1/2) / 1.5 - 1/2 into x, not 5 / 7 apart.
  const Values y =
      interpolate(x, {.scale = {1.5}, .mode = Interpolation::kLinear}).to_vector<float>();
  ASSERT_EQ(y.size(), 7u);
  for (size_t i = 1; i < 6; i++) EXPECT_NEAR(y[i], (float(i) + 0.5f) / 1.5f - 0.5f, 1e-6f);
  const Values other =
      interpolate(x, {.size = {7}, .mode = Interpolation::kLinear}).to_vector<float>();
  EXPECT_NEAR(other[1], 1.5f * 5 / 7 - 0.5f, 1e-6f);
}

TEST(Upsample, AlignsCornersAlsoOfOneElement) {
  const Tensor x = counting({1, 1, 1, 3});
  const Tensor y = upsample_bilinear2d(x, {1, 5}, {.align_corners = true});
  EXPECT_EQ(y.to_vector<float>(), (Values{0, 0.5f, 1, 1.5f, 2}));
  EXPECT_EQ(upsample_bilinear2d(x, {2, 1}, {.align_corners = true}).to_vector<float>(),
            (Values{0, 0}));
}

TEST(Upsample, RejectsWhatDoesNotFit) {
  const Tensor x = zeros({1, 2, 4, 4});
  EXPECT_ERROR(upsample_nearest2d(x, {0, 4}), kInvalidArgument,
               "upsample_nearest2d: expected sizes of at least 1, got [0, 4]");
  EXPECT_ERROR(upsample_nearest2d(zeros({1, 2, 0, 4}), 2), kShapeMismatch,
               "upsample_nearest2d: expected dims of at least 1");
  EXPECT_ERROR(upsample_nearest2d(zeros({4, 4}), 2), kShapeMismatch, "expected x of rank 3 or 4");
  EXPECT_ERROR(upsample_bilinear2d(cast(x, DType::kI32), 2), kDTypeMismatch,
               "upsample_bilinear2d: expected a floating dtype, got i32");
  EXPECT_ERROR(upsample_bilinear2d(x, 8, {.scale = {2}}), kInvalidArgument,
               "expected a scale for each of 2 dims, got 1");
  EXPECT_ERROR(upsample_bilinear2d(x, 8, {.scale = {2, -1}}), kInvalidArgument,
               "scales above 0, got -1");
  EXPECT_ERROR(interpolate(x, {}), kInvalidArgument,
               "interpolate: expected exactly one of size and scale, got neither");
  EXPECT_ERROR(interpolate(x, {.size = {2, 2}, .scale = {2.}}), kInvalidArgument,
               "size and scale, got both");
  EXPECT_ERROR(interpolate(x, {.size = {2}}), kInvalidArgument, "interpolate: expected 2 sizes");
  EXPECT_ERROR(interpolate(x, {.scale = {0.1}}), kInvalidArgument, "at least 1 element");
  EXPECT_ERROR(interpolate(zeros({1, 2, 4}), {.size = {2}, .mode = Interpolation::kCubic}),
               kInvalidArgument, "kCubic needs x [N, C, H, W]");
}

TEST(GridSample, ReadsAtPlacesFromMinusOneToOne) {
  const Tensor x = counting({1, 1, 2, 2});
  const Tensor grid = Tensor::from(Values{-1, -1, 1, 1, 0, 0, 3, 0}, Shape{1, 1, 4, 2});
  EXPECT_EQ(grid_sample(x, grid, {.align_corners = true}).to_vector<float>(),
            (Values{0, 3, 1.5f, 0}));
  EXPECT_EQ(grid_sample(x, grid).to_vector<float>(), (Values{0, 0.75f, 1.5f, 0}));
  EXPECT_EQ(grid_sample(x, grid, {.padding = GridPadding::kBorder}).to_vector<float>(),
            (Values{0, 3, 1.5f, 2}));
  EXPECT_ERROR(grid_sample(x, zeros({1, 4, 2})), kShapeMismatch, "grid_sample: expected x");
  EXPECT_ERROR(grid_sample(x, zeros({1, 1, 4, 2}, {.dtype = DType::kF64})), kDTypeMismatch,
               "grid_sample: expected x and grid of one floating dtype, got f32 and f64");
}

}  // namespace
}  // namespace wick
