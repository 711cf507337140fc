// Pooling over the last one or two dims: x [N, C, L] or [C, L], [N, C, H, W] or [C, H, W]. Windows
// follow PyTorch's conventions.
#pragma once
#include <optional>

#include "wick/ops/windows.h"

namespace wick {

struct MaxPool1dOptions {
  std::optional<int64_t> stride = {};  // unset: the kernel size
  int64_t padding = 0;                 // on both sides; at most half the kernel size
  int64_t dilation = 1;
  bool ceil_mode = false;  // also use windows that start in x or the padding before it, but end
                           // beyond
};
struct MaxPool2dOptions {
  std::optional<Pair> stride = {};  // unset: the kernel size
  Pair padding = 0;
  Pair dilation = 1;
  bool ceil_mode = false;
};
struct AvgPool1dOptions {
  std::optional<int64_t> stride = {};  // unset: the kernel size
  int64_t padding = 0;                 // zeros on both sides; at most half the kernel size
  bool ceil_mode = false;
  bool count_include_pad = true;  // count the padding in the mean
};
struct AvgPool2dOptions {
  std::optional<Pair> stride = {};  // unset: the kernel size
  Pair padding = 0;
  bool ceil_mode = false;
  bool count_include_pad = true;
  std::optional<int64_t> divisor_override = {};  // divides the sum, in place of the count
};

struct MaxPoolResult {
  Tensor values;
  Tensor indices;  // i64: the value's position in its plane, h W + w
};

/// @name The maximum of each window
/// [N, C, (L + 2 padding - dilation (K - 1) - 1) / stride + 1]; for two dims the same in each.
/// Numeric. NaN beats every number; padding never wins. Exact. The gradient goes to the first of
/// equal elements. Errors: kShapeMismatch; kInvalidArgument for bad options or a window that
/// contains only padding; kDTypeMismatch.
/// @{
WICK_API Tensor max_pool1d(const Tensor& x, int64_t kernel, const MaxPool1dOptions& options = {});
WICK_API Tensor max_pool2d(const Tensor& x, Pair kernel, const MaxPool2dOptions& options = {});
WICK_API MaxPoolResult max_pool1d_with_indices(const Tensor& x, int64_t kernel,
                                               const MaxPool1dOptions& options = {});
WICK_API MaxPoolResult max_pool2d_with_indices(const Tensor& x, Pair kernel,
                                               const MaxPool2dOptions& options = {});
/// @}

/// @name The mean of each window
/// Floating; sizes and errors as for max_pool1d and max_pool2d. Error: |e| <= c u mean|x| + 1 ulp
/// of the output dtype, u: unit roundoff of the accumulator, c = 2 + log2(terms).
/// @{
WICK_API Tensor avg_pool1d(const Tensor& x, int64_t kernel, const AvgPool1dOptions& options = {});
WICK_API Tensor avg_pool2d(const Tensor& x, Pair kernel, const AvgPool2dOptions& options = {});
/// @}

/// @name Adaptive pooling to `size` windows
/// Window i spans the elements from floor(i in / out) to ceil((i + 1) in / out). The mean is
/// computed as in avg_pool1d and avg_pool2d, the maximum as in max_pool1d and max_pool2d.
/// @{
WICK_API Tensor adaptive_avg_pool1d(const Tensor& x, int64_t size);
WICK_API Tensor adaptive_avg_pool2d(const Tensor& x, Pair size);
WICK_API Tensor adaptive_max_pool1d(const Tensor& x, int64_t size);
WICK_API Tensor adaptive_max_pool2d(const Tensor& x, Pair size);
WICK_API MaxPoolResult adaptive_max_pool2d_with_indices(const Tensor& x, Pair size);
/// @}

struct LpPool2dOptions {
  std::optional<Pair> stride = {};  // unset: the kernel size
  bool ceil_mode = false;
};
/// (sum over each window of x^power)^(1 / power); negative x needs an even power. If ceil_mode
/// truncates a window, its sum is scaled up to a full window. Floating; computes in f32 (f64 for
/// f64). Error: |e| <= (4 + (9 + log2(n)) / |power| + |ln y|) u y + 1 ulp of the output dtype,
/// where u is the accumulator's unit roundoff and n the kernel's elements, if the accumulator
/// represents power exactly and no x^power overflows or underflows.
WICK_API Tensor lp_pool2d(const Tensor& x, double power, Pair kernel,
                          const LpPool2dOptions& options = {});

struct MaxUnpool2dOptions {
  std::optional<Pair> stride = {};  // unset: the kernel size
  Pair padding = 0;
  std::optional<Pair> size = {};  // size of the result; unset: (in - 1) stride - 2 padding + kernel
};
/// Zeros, with x at the indices from max_pool2d. If an index repeats, the last value wins. Exact.
/// Errors: kShapeMismatch; kOutOfRange for an index outside the plane.
WICK_API Tensor max_unpool2d(const Tensor& x, const Tensor& indices, Pair kernel,
                             const MaxUnpool2dOptions& options = {});

}  // namespace wick
