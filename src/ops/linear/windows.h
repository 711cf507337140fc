// Helpers for ops on windows over the last two dims.
#pragma once
#include "wick/abi/ops/pool.h"
#include "wick/ops/windows.h"

namespace wick {

/// x [C, H, W] as [1, C, H, W]; [N, C, H, W] as it is. Errors: kShapeMismatch.
Tensor as_images(const char* op, const Tensor& x);

/// Errors: kInvalidArgument if either entry is below `least`.
void check_pair(const char* op, const char* name, const Pair& pair, int64_t least);

/// The number of elements from the first to the last of a window.
inline int64_t window_extent(int64_t kernel, int64_t dilation) {
  return (kernel - 1) * dilation + 1;
}
/// The number of windows that fit in `size` elements, padding included. Errors: kShapeMismatch if
/// none fits.
int64_t count_windows(const char* op, int64_t size, int64_t extent, int64_t stride);

/// The attributes of a kernel over windows, with counted and divisor 0.
PoolAttributes pool_attributes(const Pair& kernel, const Pair& stride, const Pair& padding,
                               const Pair& dilation);

/// x [N, C, H, W] -> [N, C, KH, KW, OH, OW] with `places` = [OH, OW]: a view of x, or of a
/// zero-padded copy if windows reach beyond x.
Tensor windows(const Tensor& x, const PoolAttributes& attributes, const Pair& places);
/// [N, C, KH, KW, OH, OW] -> [N, C, H, W]: the gradient of windows.
Tensor fold(const Tensor& x, const PoolAttributes& attributes, const Pair& size);

}  // namespace wick
