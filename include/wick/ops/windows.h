// Sliding windows over the last two dims, [N, C, H, W] or [C, H, W]: types shared by convolution
// and pooling, and the windows themselves as columns.
#pragma once
#include "wick/core/tensor.h"

namespace wick {

/// A size for each of two dims; a single number applies to both.
struct Pair {
  Pair(int64_t both) : height(both), width(both) {}  // NOLINT: 3 is {3, 3}
  Pair(int64_t height, int64_t width) : height(height), width(width) {}
  bool operator==(const Pair&) const = default;

  int64_t height, width;
};

struct WindowOptions {
  Pair stride = 1;
  Pair padding = 0;  // zeros on both sides
  Pair dilation = 1;
};

/// The windows as columns (im2col): x [N, C, H, W] -> [N, C KH KW, L], for L window positions in
/// row-major order; any dtype. x without a batch gives a result without one. Exact. The gradient is
/// fold2d. Errors: kShapeMismatch if no window fits or for another rank; kInvalidArgument for bad
/// options.
WICK_API Tensor unfold2d(const Tensor& x, Pair kernel, const WindowOptions& options = {});
/// Sums the windows back (col2im): each element gets the sum of its occurrences in x [N, C KH KW,
/// L] -> [N, C, H, W] with H and W from `size`. Numeric. Error: as for index_add.
WICK_API Tensor fold2d(const Tensor& x, Pair size, Pair kernel, const WindowOptions& options = {});

}  // namespace wick
