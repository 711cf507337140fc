// Pooling over the last dim or the last two: x [N, C, L] or [C, L], [N, C, H, W] or [C, H, W]. The
// conventions of windows are PyTorch's.
#pragma once
#include <optional>

#include "wick/ops/windows.h"

namespace wick {

struct MaxPool1dOptions {
  std::optional<int64_t> stride = {};  // none: the kernel
  int64_t padding = 0;                 // on both sides; at most half of the kernel
  int64_t dilation = 1;
  bool ceil_mode = false;  // also the windows that start in x or before it and reach beyond
};
struct MaxPool2dOptions {
  std::optional<Pair> stride = {};  // none: the kernel
  Pair padding = 0;
  Pair dilation = 1;
  bool ceil_mode = false;
};
struct AvgPool1dOptions {
  std::optional<int64_t> stride = {};  // none: the kernel
  int64_t padding = 0;                 // zeros on both sides; at most half of the kernel
  bool ceil_mode = false;
  bool count_include_pad = true;  // the padding counts in the mean
};
struct AvgPool2dOptions {
  std::optional<Pair> stride = {};  // none: the kernel
  Pair padding = 0;
  bool ceil_mode = false;
  bool count_include_pad = true;
  std::optional<int64_t> divisor_override = {};  // divides the sum instead of the count
};

struct MaxPoolResult {
  Tensor values;
  Tensor indices;  // i64: where the value stands in its plane, h W + w
};

/// @name The largest of each window
/// [N, C, (L + 2 padding - dilation (K - 1) - 1) / stride + 1], of two dims in each. Numeric; NaN
/// wins, padding never does. Exact. The gradient goes to the first of equals. Errors:
/// kShapeMismatch, kInvalidArgument (options, a window of padding alone), kDTypeMismatch.
/// @{
WICK_API Tensor max_pool1d(const Tensor& x, int64_t kernel, const MaxPool1dOptions& options = {});
WICK_API Tensor max_pool2d(const Tensor& x, Pair kernel, const MaxPool2dOptions& options = {});
WICK_API MaxPoolResult max_pool1d_with_indices(const Tensor& x, int64_t kernel,
                                               const MaxPool1dOptions& options = {});
WICK_API MaxPoolResult max_pool2d_with_indices(const Tensor& x, Pair kernel,
                                               const MaxPool2dOptions& options = {});
/// @}

/// @name The mean of each window
/// Floating; sizes and errors as of max_pool1d and max_pool2d. Error: |e| <= c u mean|x| + 1 ulp of
/// the output dtype, u of the accumulator, c = 2 + log2(terms).
/// @{
WICK_API Tensor avg_pool1d(const Tensor& x, int64_t kernel, const AvgPool1dOptions& options = {});
WICK_API Tensor avg_pool2d(const Tensor& x, Pair kernel, const AvgPool2dOptions& options = {});
/// @}

/// @name As many windows as `size` says
/// The i-th from floor(i in / out) to ceil((i + 1) in / out): the mean as avg_pool1d and avg_pool2d
/// give it, the largest as max_pool1d and max_pool2d.
/// @{
WICK_API Tensor adaptive_avg_pool1d(const Tensor& x, int64_t size);
WICK_API Tensor adaptive_avg_pool2d(const Tensor& x, Pair size);
WICK_API Tensor adaptive_max_pool1d(const Tensor& x, int64_t size);
WICK_API Tensor adaptive_max_pool2d(const Tensor& x, Pair size);
WICK_API MaxPoolResult adaptive_max_pool2d_with_indices(const Tensor& x, Pair size);
/// @}

struct LpPool2dOptions {
  std::optional<Pair> stride = {};  // none: the kernel
  bool ceil_mode = false;
};
/// (sum over each window of x^power)^(1 / power): x below 0 needs an even power. Where ceil_mode
/// cuts a window, the sum is scaled up to a whole one. Floating; computed in f32 (f64 for f64).
WICK_API Tensor lp_pool2d(const Tensor& x, double power, Pair kernel,
                          const LpPool2dOptions& options = {});

struct MaxUnpool2dOptions {
  std::optional<Pair> stride = {};  // none: the kernel
  Pair padding = 0;
  std::optional<Pair> size = {};  // of the result; none: (in - 1) stride - 2 padding + kernel
};
/// Zeros with x at the indices that max_pool2d gave; of equal indices the last one's value
/// stays. Exact.
/// Errors: kShapeMismatch, kOutOfRange for an index outside of the plane.
WICK_API Tensor max_unpool2d(const Tensor& x, const Tensor& indices, Pair kernel,
                             const MaxUnpool2dOptions& options = {});

}  // namespace wick
