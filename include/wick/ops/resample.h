// Images in other sizes: x [N, C, L] or [C, L], [N, C, H, W] or [C, H, W]. The places that are read
// are PyTorch's. f16, bf16 and f8 compute in f32.
#pragma once
#include <optional>
#include <vector>

#include "wick/ops/windows.h"

namespace wick {

struct UpsampleOptions {
  /// The first and last elements keep their places; else elements are areas, of which the outer
  /// edges keep theirs.
  bool align_corners = false;
  /// By how much x was scaled, where that is not the sizes' ratio: element i then stands at
  /// (i + 1/2) / scale - 1/2 in x. One number per dim that is resampled, or none.
  std::vector<double> scale = {};
};

/// @name The nearest element
/// Along the last dim or the last two; a dim whose size stays, as it is. Any dtype. Exact.
/// Gradients of elements that are read more than once add up. Errors: kShapeMismatch,
/// kInvalidArgument (a size below 1, a scale).
/// @{

/// y[i] = x[floor(i in / out)].
WICK_API Tensor upsample_nearest1d(const Tensor& x, int64_t size, const UpsampleOptions& o = {});
/// y[i, j] = x[floor(i in / out), floor(j in / out)], in and out each dim's.
WICK_API Tensor upsample_nearest2d(const Tensor& x, Pair size, const UpsampleOptions& o = {});
/// y[i] = x[floor((i + 1/2) in / out)]: the nearest area's middle.
WICK_API Tensor upsample_nearest_exact1d(const Tensor& x, int64_t size,
                                         const UpsampleOptions& o = {});
/// upsample_nearest_exact1d over two dims.
WICK_API Tensor upsample_nearest_exact2d(const Tensor& x, Pair size, const UpsampleOptions& o = {});

/// @}

/// Values between the two neighbours. Floating. Error: |e| <= 4 u sum|x| of the neighbours + 1 ulp
/// of the output dtype, u of the accumulator; of f64 with `scale`, i u more.
WICK_API Tensor upsample_linear1d(const Tensor& x, int64_t size, const UpsampleOptions& o = {});
/// Values between the four neighbours: upsample_linear1d over two dims.
WICK_API Tensor upsample_bilinear2d(const Tensor& x, Pair size, const UpsampleOptions& o = {});
/// Cubic convolution of sixteen neighbours, a = -3/4; those outside are the nearest inside. Error:
/// as upsample_bilinear2d. Source: Keys 1981, IEEE ASSP 29 (6).
WICK_API Tensor upsample_bicubic2d(const Tensor& x, Pair size, const UpsampleOptions& o = {});

/// Which of the functions above; kLinear is bilinear of two dims, kArea adaptive_avg_pool.
enum class Interpolation { kNearest, kNearestExact, kLinear, kCubic, kArea };

struct InterpolateOptions {
  Dims size = {};                  // of the dims that are resampled; or
  std::vector<double> scale = {};  // by how much: one number for all of them, or one each
  Interpolation mode = Interpolation::kNearest;
  bool align_corners = false;  // of kLinear and kCubic
};
/// x [N, C, L] or [N, C, H, W] in another size: floor(in scale), if that is not given. Errors:
/// those of the functions above; kInvalidArgument unless one of size and scale is given.
WICK_API Tensor interpolate(const Tensor& x, const InterpolateOptions& options);

/// What stands outside of x: zeros, its nearest element, x mirrored at its edges.
enum class GridPadding { kZeros, kBorder, kReflection };

struct GridSampleOptions {
  bool nearest = false;  // half to even; else bilinear
  GridPadding padding = GridPadding::kZeros;
  bool align_corners = false;  // -1 and 1 are the outer elements' middles, else their outer edges
};
/// y[n, c, i, j] = x[n, c] at grid[n, i, j], (x, y) from -1 to 1: x [N, C, H, W], grid
/// [N, OH, OW, 2] of x's dtype -> [N, C, OH, OW]. A NaN in the grid is outside of x: 0. Error: |e|
/// <= 2 (H + W) u max|x| + 1 ulp of the output dtype, u of the accumulator. Both have gradients.
/// Errors: kShapeMismatch, kDTypeMismatch, kDeviceMismatch.
WICK_API Tensor grid_sample(const Tensor& x, const Tensor& grid,
                            const GridSampleOptions& options = {});

}  // namespace wick
