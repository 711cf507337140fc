// Windows that slide over the last two dims, [N, C, H, W] or [C, H, W]: what convolutions and
// pooling share, and the windows themselves as columns.
#pragma once
#include "wick/core/tensor.h"

namespace wick {

/// A size for each of the two dims; one number stands for both.
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

/// The windows as columns: x [N, C, H, W] -> [N, C KH KW, L], the L places in row-major order; any
/// dtype. A batchless x gives a batchless result. Exact. Its gradient is fold2d.
/// Errors: kShapeMismatch (no window fits, rank), kInvalidArgument (options).
WICK_API Tensor unfold2d(const Tensor& x, Pair kernel, const WindowOptions& options = {});
/// The sum, at every element, of what windows have of it: x [N, C KH KW, L] -> [N, C, H, W] of the
/// given size. Numeric. Error: as index_add.
WICK_API Tensor fold2d(const Tensor& x, Pair size, Pair kernel, const WindowOptions& options = {});

}  // namespace wick
