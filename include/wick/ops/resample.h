// Resizing images: x [N, C, L] or [C, L], [N, C, H, W] or [C, H, W]. Sampling positions are
// PyTorch's. f16, bf16 and f8 compute in f32.
#pragma once
#include <optional>
#include <vector>

#include "wick/ops/windows.h"

namespace wick {

struct UpsampleOptions {
  /// true: the centres of the first and last elements stay in place; false: elements are areas, and
  /// the outer edges stay in place.
  bool align_corners = false;
  /// The scale factor of x, where it is not the ratio of the sizes: element i then samples x at (i
  /// + 1/2) / scale - 1/2. One number per resampled dim, or empty.
  std::vector<double> scale = {};
};

/// @name The nearest element
/// Resizes the last one or two dims; a dim that keeps its size is unchanged. Any dtype. Exact. The
/// gradients of elements that are read more than once add up. Errors: kShapeMismatch;
/// kInvalidArgument for a size below 1 or a bad scale.
/// @{

/// y[i] = x[floor(i in / out)].
WICK_API Tensor upsample_nearest1d(const Tensor& x, int64_t size, const UpsampleOptions& o = {});
/// y[i, j] = x[floor(i in / out), floor(j in / out)], with each dim's own in and out.
WICK_API Tensor upsample_nearest2d(const Tensor& x, Pair size, const UpsampleOptions& o = {});
/// y[i] = x[floor((i + 1/2) in / out)]: the element whose centre is nearest.
WICK_API Tensor upsample_nearest_exact1d(const Tensor& x, int64_t size,
                                         const UpsampleOptions& o = {});
/// upsample_nearest_exact1d over two dims.
WICK_API Tensor upsample_nearest_exact2d(const Tensor& x, Pair size, const UpsampleOptions& o = {});

/// @}

/// Linear interpolation between the two neighbours. Floating. Error: |e| <= 4 u sum|x| over the
/// neighbours + 1 ulp of the output dtype, u: unit roundoff of the accumulator; i u more for f64
/// with `scale`.
WICK_API Tensor upsample_linear1d(const Tensor& x, int64_t size, const UpsampleOptions& o = {});
/// Bilinear interpolation between the four neighbours: upsample_linear1d over two dims.
WICK_API Tensor upsample_bilinear2d(const Tensor& x, Pair size, const UpsampleOptions& o = {});
/// Cubic convolution of the sixteen neighbours, with a = -3/4; neighbours outside x are clamped to
/// the edge. Error: as for upsample_bilinear2d. Source: Keys 1981, IEEE ASSP 29 (6).
WICK_API Tensor upsample_bicubic2d(const Tensor& x, Pair size, const UpsampleOptions& o = {});

/// Selects one of the functions above; kLinear is bilinear in two dims, kArea is adaptive_avg_pool.
enum class Interpolation { kNearest, kNearestExact, kLinear, kCubic, kArea };

struct InterpolateOptions {
  Dims size = {};                  // sizes of the resampled dims; or
  std::vector<double> scale = {};  // scale factors: one number for all dims, or one each
  Interpolation mode = Interpolation::kNearest;
  bool align_corners = false;  // for kLinear and kCubic
};
/// Resizes x [N, C, L] or [N, C, H, W] to `size`, or without it to floor(in scale). Errors: the
/// errors of the functions above; kInvalidArgument unless exactly one of size and scale is given.
WICK_API Tensor interpolate(const Tensor& x, const InterpolateOptions& options);

/// The values outside x: zeros, the nearest element of x, or x mirrored at its edges.
enum class GridPadding { kZeros, kBorder, kReflection };

struct GridSampleOptions {
  bool nearest = false;  // nearest element, half to even; else bilinear
  GridPadding padding = GridPadding::kZeros;
  bool align_corners = false;  // -1 and 1 are the centres of the outer elements; else their outer
                               // edges
};
/// Samples x at the points of a grid: y[n, c, i, j] = x[n, c] at grid[n, i, j], a point (x, y) from
/// -1 to 1. x [N, C, H, W], grid [N, OH, OW, 2] in x's dtype -> [N, C, OH, OW]. A NaN in the grid
/// counts as outside x and gives 0. Error: |e| <= 2 (H + W) u max|x| + 1 ulp of the output dtype,
/// u: unit roundoff of the accumulator. x and grid have gradients. Errors: kShapeMismatch,
/// kDTypeMismatch, kDeviceMismatch.
WICK_API Tensor grid_sample(const Tensor& x, const Tensor& grid,
                            const GridSampleOptions& options = {});

}  // namespace wick
