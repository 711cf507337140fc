// Keys and values in memory: of the type that is computed with, or of another one, which kernels of
// sdpa convert as they read.
#pragma once
#include "kernels/attention.h"
#include "wick/abi/ops/quantize.h"

namespace wick::gpu {

/// An element of 8 bits: of i8 where its rows have scales, else of f8e4m3. One kernel reads both.
struct Eight {
  uint8 bits;
};

/// Keys or values of a head.
template <class S>
struct StoredHead {
  const S* data;
  int64 row;  // between keys
};
template <>
struct StoredHead<Eight> {
  const Eight* data;
  int64 row;
  // The scales of i8; of f8e4m3 any memory, which is read all the same and counts for nothing: a
  // load under a condition would wait for the loads before it.
  const f16* scales;
  int64 scale_row;
  bool is_i8;

  /// The bits of the factor of element d of a key, if it is of i8. A kernel that loads them ahead
  /// converts them where it needs them, which waits for the load.
  WICK_DEVICE uint32 scale_bits(int64 key, int d) const { return scales[scale_at(key, d)].bits; }
  WICK_DEVICE int64 scale_at(int64 key, int d) const {
    return key * scale_row + (is_i8 ? d / int(kScaleGroup) : 0);
  }
  static WICK_DEVICE float scale_of(uint32 bits) { return to_float(f16{uint16(bits)}); }
  /// n elements as numbers.
  template <class C, int n>
  WICK_INLINE void widen_into(const Pack<Eight, n>& stored, float scale, C (&x)[n]) const {
    if (is_i8) {
      WICK_UNROLL
      for (int e = 0; e < n; e++) x[e] = C(float(int8(stored.v[e].bits)) * scale);
    } else {
      WICK_UNROLL
      for (int e = 0; e < n; e++) x[e] = C(to_float(f8e4m3{stored.v[e].bits}));
    }
  }
};

/// n elements of key `key` from d on, a multiple of n, which lie as a pack does, in the type C that
/// is computed with.
template <class C, int n, class S>
WICK_INLINE Pack<C, n> load_stored(const StoredHead<S>& head, int64 key, int d) {
  const Pack<S, n> stored = load_pack<n>(head.data + key * head.row + d);
  Pack<C, n> x;
  if constexpr (kSame<S, Eight>) {
    head.widen_into(stored, head.scale_of(head.scale_bits(key, d)), x.v);
  } else {
    WICK_UNROLL
    for (int e = 0; e < n; e++) x.v[e] = widen<C>(stored.v[e]);
  }
  return x;
}

/// The scales of k and v in a kernel's arguments: nothing but for Eight.
template <class S>
struct StoredScales {};
template <>
struct StoredScales<Eight> {
  const f16 *key_scales, *value_scales;
  HeadStrides key_scale_strides, value_scale_strides;
};

}  // namespace wick::gpu
