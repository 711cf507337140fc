// Windows over H and W: x [N, C, H, W], y [N, C, OH, OW].
#pragma once
#include "wick/abi/op.h"

namespace wick {

/// Window (oh, ow) has x[oh stride + kh dilation - padding].
struct PoolAttributes {
  static constexpr const char* kLayout =
      "i64 kernel[2], stride[2], padding[2], dilation[2], counted[2], divisor";
  int64 kernel[2], stride[2], padding[2], dilation[2];
  /// kAvgPool takes a window's mean over its elements from -counted to size + counted, or divides
  /// its sum by `divisor` if that is not 0.
  int64 counted[2];
  int64 divisor;
};
/// in x; out y, ids: of h W + w, the first winner, NaN before every number.
inline constexpr Op kMaxPool{"max_pool", "T:TI", attributes<PoolAttributes>};
/// in x; out y.
inline constexpr Op kAvgPool{"avg_pool", "T:T", attributes<PoolAttributes>};
/// in windows [N, C, KH, KW, OH, OW]; out x, every element the sum of its copies in windows.
inline constexpr Op kFold{"fold", "T:T", attributes<PoolAttributes>};

}  // namespace wick
