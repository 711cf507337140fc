// How an operand's elements are read and written: their type in memory, and the type that a formula
// computes with. An operand of an elementwise kernel (map.h) is one of:
//
//   Elements<T>        elements of T, unconverted; a bool is true for any byte but 0
//   OneOf<V, T...>     elements of one of the types T, selected at run time, as values of type V
//
//   using Value = ...;                             // the formula's type
//   static constexpr int kBytes = ...;             // the most bytes per element in memory
//   load<n>(dtype, p, i)                           // elements i ... i + n - 1, in one access
//   store<n>(dtype, p, i, pack)                    // likewise
#pragma once
#include "kernels/common.h"

namespace wick::gpu {

template <class... Int>
constexpr int max_of(Int... x) {
  int most = 0;
  ((most = x > most ? x : most), ...);
  return most;
}

template <class T>
struct Elements {
  using Value = T;
  static constexpr int kBytes = sizeof(T);

  template <int n>
  static WICK_DEVICE Pack<Value, n> load(DType, const void* p, uint32 i) {
    if constexpr (kSame<T, bool>) {
      const Pack<uint8, n> bytes = load_pack<n>(static_cast<const uint8*>(p) + i);
      Pack<bool, n> truths;
      for (int e = 0; e < n; e++) truths.v[e] = bytes.v[e] != 0;
      return truths;
    } else {
      return load_pack<n>(static_cast<const T*>(p) + i);
    }
  }
  template <int n>
  static WICK_DEVICE void store(DType, void* p, uint32 i, const Pack<Value, n>& x) {
    store_pack(static_cast<T*>(p) + i, x);
  }
};

template <class V, class... T>
struct OneOf {
  using Value = V;
  static constexpr int kBytes = max_of(int(sizeof(T))...);

  template <int n>
  static WICK_DEVICE Pack<V, n> load(DType dtype, const void* p, uint32 i) {
    Pack<V, n> x{};
    (load_of<T>(dtype, p, i, x) || ...);
    return x;
  }
  template <int n>
  static WICK_DEVICE void store(DType dtype, void* p, uint32 i, const Pack<V, n>& x) {
    (store_of<T>(dtype, p, i, x) || ...);
  }

 private:
  template <class U, int n>
  static WICK_DEVICE bool load_of(DType dtype, const void* p, uint32 i, Pack<V, n>& x) {
    if (dtype != kDTypeOf<U>) return false;
    const Pack<U, n> stored = Elements<U>::template load<n>(dtype, p, i);
    for (int e = 0; e < n; e++) x.v[e] = widen<V>(stored.v[e]);
    return true;
  }
  template <class U, int n>
  static WICK_DEVICE bool store_of(DType dtype, void* p, uint32 i, const Pack<V, n>& x) {
    if (dtype != kDTypeOf<U>) return false;
    Pack<U, n> stored;
    for (int e = 0; e < n; e++) stored.v[e] = narrow<U>(x.v[e]);
    Elements<U>::template store<n>(dtype, p, i, stored);
    return true;
  }
};

/// AnyFloat: every float dtype up to f32, as f32. NarrowFloat: the float dtypes of up to two bytes.
using AnyFloat = OneOf<float, float, bf16, f16, f8e4m3, f8e5m2>;
using NarrowFloat = OneOf<float, bf16, f16, f8e4m3, f8e5m2>;
/// bool and every integer but u64, as i64, which represents them all.
using AnyInteger = OneOf<int64, bool, uint8, int8, uint16, int16, uint32, int32, int64>;

}  // namespace wick::gpu
