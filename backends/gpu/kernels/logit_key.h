// Logits as integers in their order.
#pragma once
#include "kernels/common.h"

namespace wick::gpu {

/// A logit's key in the order of logits: NaN is the largest, the zeros are equal.
template <class C>
struct LogitKey {
  using Key = Bits<sizeof(C)>;
  static constexpr int kBits = 8 * sizeof(C);
  static constexpr Key kSign = Key(1) << (kBits - 1);
  static constexpr Key kInfinity = sizeof(C) == 4 ? Key(0x7f800000) : Key(uint64(0x7ff) << 52);
  static WICK_DEVICE Key of(C x) {
    const Key bits = __builtin_bit_cast(Key, x + C(0));  // -0 + 0 = 0
    return x != x ? ~Key(0) : (bits & kSign) != 0 ? ~bits : bits | kSign;
  }
  /// Whether it is of a finite logit.
  static WICK_DEVICE bool is_finite(Key key) {
    return key < (kInfinity | kSign) && key > Key(~(kInfinity | kSign));
  }
  /// The logit, but for NaN.
  static WICK_DEVICE C value(Key key) {
    return __builtin_bit_cast(C, Key((key & kSign) != 0 ? key & ~kSign : ~key));
  }
};

struct LargerKey {
  template <class Key>
  WICK_DEVICE Key operator()(Key a, Key b) const {
    return a > b ? a : b;
  }
};

}  // namespace wick::gpu
