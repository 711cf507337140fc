// The reductions. A Reduction defines how the kernels of reduce.h load, combine and store:
//
//   struct R {
//     using In = ...;                             // an element in memory
//     using Total = ...;                          // the accumulator
//     using OverTotals = ...;                     // the Reduction that combines Totals
//     static constexpr bool kExact = ...;         // the order of combination does not matter
//     static constexpr bool kPlaces = ...;        // the elements' positions matter
//     static ReduceParams params(const Call&);    // on the host
//     static Total identity(int64 first);         // first: the first position, or kNowhere
//     // Adds n neighbouring elements; place: the first one's position.
//     static void add(ReduceParams, Total&, In (&x)[n], int64 place);
//     static Total combine(Total, Total);
//     static void store(ReduceParams, void* out, uint32 i, Total);
//   };
//
// One kernel serves every dtype of a size whose handling differs only in ReduceParams. Integers are
// compared as unsigned after an xor with `flip`, which maps signed order to unsigned order and, for
// the minimum, reverses it; floats are negated by flipping their sign bit.
#pragma once
#include "kernels/common.h"
#include "scalar/cast.h"
#include "scalar/reduce.h"

namespace wick::gpu {

/// Run-time parameters that depend on the dtypes and the op.
struct ReduceParams {
  DType in, out;
  int32 out_bytes;  // per result
  uint64 flip;      // xor mask for elements when they are loaded
  uint64 unflip;    // xor mask for results when they are stored
  uint64 mask;      // the largest value of an element, or the bits that are tested
  /// The parameters for combining totals.
  ReduceParams over_totals() const {
    ReduceParams params = *this;
    params.flip = 0, params.mask = ~uint64(0);
    return params;
  }
};

template <int bytes>
constexpr uint64 all_bits() {
  return ~uint64(0) >> (64 - 8 * bytes);
}
/// The highest bit of an element: a float's or a signed integer's sign.
inline uint64 sign_bit(DType dtype) { return uint64(1) << (8 * dtype_size(dtype) - 1); }

template <class V>
WICK_DEVICE V flipped(V v, uint64 bits) {
  if constexpr (kSame<V, float>)
    return __builtin_bit_cast(float, __builtin_bit_cast(uint32, v) ^ uint32(bits));
  else if constexpr (kSame<V, double>)
    return __builtin_bit_cast(double, __builtin_bit_cast(uint64, v) ^ bits);
  else
    return v ^ V(bits);
}

/// Reads floats of type T as their compute type.
template <class T>
struct FloatSource {
  using In = T;
  using Value = Compute<T>;
  using OfTotals = FloatSource<Value>;
  static WICK_DEVICE Value value(const ReduceParams&, In x) { return widen<Value>(x); }
  static WICK_DEVICE void store(const ReduceParams& params, void* out, uint32 i, Value v) {
    if constexpr (kSame<Value, double>)
      static_cast<double*>(out)[i] = v;
    else
      (void)(store_as<float>(params, out, i, v) || store_as<bf16>(params, out, i, v) ||
             store_as<f16>(params, out, i, v) || store_as<f8e4m3>(params, out, i, v) ||
             store_as<f8e5m2>(params, out, i, v));
  }

 private:
  template <class U>
  static WICK_DEVICE bool store_as(const ReduceParams& params, void* out, uint32 i, float v) {
    if (params.out != kDTypeOf<U>) return false;
    static_cast<U*>(out)[i] = narrow<U>(v);
    return true;
  }
};
/// Reads floats as Step's terms of them.
template <class Step, class T>
struct TermSource : FloatSource<T> {
  static WICK_DEVICE Compute<T> value(const ReduceParams&, T x) {
    return Step::term(widen<Compute<T>>(x));
  }
};
/// Reads f8 of either kind.
struct F8Source : FloatSource<float> {
  using In = uint8;
  static WICK_DEVICE Value value(const ReduceParams& params, In x) {
    return params.in == DType::kF8E4M3 ? to_float(__builtin_bit_cast(f8e4m3, x))
                                       : to_float(__builtin_bit_cast(f8e5m2, x));
  }
};
/// Reads integers of a size, unconverted.
template <int bytes>
struct IntegerSource {
  using In = Bits<bytes>;
  using Value = Bits<(bytes < 4 ? 4 : bytes)>;
  using OfTotals = IntegerSource<sizeof(Value)>;
  static WICK_DEVICE Value value(const ReduceParams&, In x) { return x; }
  static WICK_DEVICE void store(const ReduceParams& params, void* out, uint32 i, Value v) {
    const int size = params.out_bytes;
    if (size == 1) static_cast<uint8*>(out)[i] = uint8(v);
    if (size == 2) static_cast<uint16*>(out)[i] = uint16(v);
    if (size == 4) static_cast<uint32*>(out)[i] = uint32(v);
    if (size == 8) static_cast<uint64*>(out)[i] = v;
  }
};
template <class T>
struct SourceOfType {
  using type = Either<is_floating(kDTypeOf<T>), Either<sizeof(T) == 1, F8Source, FloatSource<T>>,
                      IntegerSource<sizeof(T)>>;
};
/// The source that reads T.
template <class T>
using SourceOf = typename SourceOfType<T>::type;

/// Reduction::add for a Reduction that combines one element after another.
template <class R, int n, class In, class Total>
WICK_DEVICE void add_each(const ReduceParams& params, Total& total, const In (&x)[n]) {
  for (int e = 0; e < n; e++) total = R::combine(total, R::load(params, x[e]));
}

/// Sums and products of floats: Step of scalar/reduce.h in the compute type.
template <class Step, class Source>
struct FloatTotals {
  using In = typename Source::In;
  using Total = typename Source::Value;
  using OverTotals = FloatTotals<Step, typename Source::OfTotals>;
  static constexpr bool kExact = false, kPlaces = false;
  static ReduceParams params(const Call& call) {
    return {call.in[0].dtype, call.out[0].dtype, dtype_size(call.out[0].dtype), 0, 0, 0};
  }
  static WICK_DEVICE Total identity(int64) { return Step::template identity<Total>(); }
  static WICK_DEVICE Total load(const ReduceParams& params, In x) {
    return Source::value(params, x);
  }
  static WICK_DEVICE Total combine(Total a, Total b) { return Step()(a, b); }
  static WICK_DEVICE void store(const ReduceParams& params, void* out, uint32 i, Total v) {
    Source::store(params, out, i, v);
  }
};

/// Sums and products of integers and bool, modulo 2^64. The sign bit becomes an offset:
/// (x ^ 0x80) - 0x80.
template <class Step, int bytes>
struct IntegerTotals {
  using In = Bits<bytes>;
  using Total = uint64;
  using OverTotals = IntegerTotals<Step, 8>;
  static constexpr bool kExact = true, kPlaces = false;
  static ReduceParams params(const Call& call) {
    const DType in = call.in[0].dtype;
    return {in,
            call.out[0].dtype,
            dtype_size(call.out[0].dtype),
            is_signed(in) ? sign_bit(in) : 0,
            0,
            in == DType::kBool ? 1 : all_bits<bytes>()};
  }
  static WICK_DEVICE Total identity(int64) { return Step::template identity<Total>(); }
  /// The element before the offset is subtracted.
  static WICK_DEVICE In raw(const ReduceParams& params, In x) {
    x = In(x ^ In(params.flip));
    return bytes == 1 && x > In(params.mask) ? In(params.mask)
                                             : x;  // a bool's byte may be anything
  }
  static WICK_DEVICE Total load(const ReduceParams& params, In x) {
    return Total(raw(params, x)) - params.flip;
  }
  template <int n>
  static WICK_DEVICE void add(const ReduceParams& params, Total& total, const In (&x)[n], int64) {
    if constexpr (kSame<Step, Sum> && bytes < 4) {  // the sum of a pack fits into 32 bits
      uint32 sum = 0;
      for (int e = 0; e < n; e++) sum += raw(params, x[e]);
      total += sum - n * params.flip;
    } else {
      add_each<IntegerTotals>(params, total, x);
    }
  }
  static WICK_DEVICE Total combine(Total a, Total b) { return Step()(a, b); }
  static WICK_DEVICE void store(const ReduceParams&, void* out, uint32 i, Total v) {
    static_cast<uint64*>(out)[i] = v;
  }
};

/// Parameters that map elements so that the largest wins, for the maximum and the minimum alike.
inline ReduceParams extreme_params(const Call& call, bool smallest) {
  const DType in = call.in[0].dtype;
  const uint64 sign = sign_bit(in), all = sign | (sign - 1);
  uint64 flip = is_signed(in) ? sign : 0;
  if (smallest) flip ^= all;
  // A float is flipped in its compute type.
  if (is_floating(in)) flip = !smallest ? 0 : in == DType::kF64 ? sign : uint64(1) << 31;
  return {in, call.out[0].dtype, dtype_size(call.out[0].dtype), flip, flip, 0};
}

/// The maximum or minimum; NaN wins.
template <class Source>
struct Extreme {
  using In = typename Source::In;
  using Total = typename Source::Value;
  using OverTotals = Extreme<typename Source::OfTotals>;
  static constexpr bool kExact = true, kPlaces = false;
  static ReduceParams params(const Call& call) { return extreme_params(call, *call.op == Min::op); }
  static WICK_DEVICE Total identity(int64) { return Max::identity<Total>(); }
  static WICK_DEVICE Total load(const ReduceParams& params, In x) {
    return flipped(Source::value(params, x), params.flip);
  }
  template <int n>
  static WICK_DEVICE void add(const ReduceParams& params, Total& total, const In (&x)[n], int64) {
    add_each<Extreme>(params, total, x);
  }
  static WICK_DEVICE Total combine(Total a, Total b) { return Max()(a, b); }
  static WICK_DEVICE void store(const ReduceParams& params, void* out, uint32 i, Total v) {
    Source::store(params, out, i, flipped(v, params.unflip));
  }
};

/// Any and all. All is computed as not any equal to 0.
template <int bytes>
struct Truths {
  using In = Bits<bytes>;
  using Total = uint32;
  using OverTotals = Truths<4>;
  static constexpr bool kExact = true, kPlaces = false;
  static ReduceParams params(const Call& call) {
    const DType in = call.in[0].dtype;
    const uint64 turns = *call.op == All::op;
    return {in,
            call.out[0].dtype,
            dtype_size(call.out[0].dtype),
            turns,
            turns,
            is_floating(in) ? sign_bit(in) - 1 : all_bits<bytes>()};  // -0 is 0 too
  }
  static WICK_DEVICE Total identity(int64) { return Any::identity<Total>(); }
  static WICK_DEVICE Total load(const ReduceParams& params, In x) {
    return Total((x & In(params.mask)) != 0) ^ Total(params.flip);
  }
  template <int n>
  static WICK_DEVICE void add(const ReduceParams& params, Total& total, const In (&x)[n], int64) {
    add_each<Truths>(params, total, x);
  }
  static WICK_DEVICE Total combine(Total a, Total b) { return Any()(a, b); }
  static WICK_DEVICE void store(const ReduceParams& params, void* out, uint32 i, Total v) {
    static_cast<uint8*>(out)[i] = uint8(v ^ Total(params.unflip));
  }
};

/// A position after every other.
inline constexpr int64 kNowhere = int64(~uint64(0) >> 1);

/// A value and its position in the reduced dims.
template <class V>
struct Placed {
  V value;
  int64 place;

  /// Whether v wins regardless of its position: it is larger, or NaN against a number.
  WICK_DEVICE bool loses_to(V v) const { return value == value && !(v <= value); }
  struct First {
    WICK_DEVICE Placed operator()(const Placed& a, const Placed& b) const {
      if (a.loses_to(b.value)) return b;
      if (b.loses_to(a.value)) return a;
      return a.place < b.place ? a : b;
    }
  };
};
template <int mask, class Ctx, class V>
WICK_DEVICE Placed<V> exchange(const Ctx& ctx, const Placed<V>& v) {
  return {exchange<mask>(ctx, v.value), exchange<mask>(ctx, v.place)};
}

template <class V>
WICK_DEVICE void store_place(void* out, uint32 i, const Placed<V>& v) {
  static_cast<int64*>(out)[i] = v.place;
}

/// Combines the winners of parts.
template <class V>
struct PlacedTotals {
  using In = Placed<V>;
  using Total = Placed<V>;
  using OverTotals = PlacedTotals;
  static constexpr bool kExact = true, kPlaces = true;
  static WICK_DEVICE Total identity(int64) { return {Max::identity<V>(), kNowhere}; }
  template <int n>
  static WICK_DEVICE void add(const ReduceParams&, Total& total, const In (&x)[n], int64) {
    for (int e = 0; e < n; e++) total = combine(total, x[e]);
  }
  static WICK_DEVICE Total combine(const Total& a, const Total& b) {
    return typename Total::First()(a, b);
  }
  static WICK_DEVICE void store(const ReduceParams&, void* out, uint32 i, const Total& v) {
    store_place(out, i, v);
  }
};

/// argmax and argmin: the position of the first winner. A thread reads its elements in ascending
/// order of position.
template <class Source>
struct ArgExtreme {
  using In = typename Source::In;
  using Value = typename Source::Value;
  using Total = Placed<Value>;
  using OverTotals = PlacedTotals<Value>;
  static constexpr bool kExact = true, kPlaces = true;
  static ReduceParams params(const Call& call) { return extreme_params(call, *call.op == kArgmin); }
  /// The lowest value at the first position, so that the first element wins if no other is larger.
  static WICK_DEVICE Total identity(int64 first) { return {Max::identity<Value>(), first}; }
  template <int n>
  static WICK_DEVICE void add(const ReduceParams& params, Total& total, const In (&x)[n],
                              int64 place) {
    Value v[n];
    bool any = false;  // almost always no element wins: one comparison per element
    for (int e = 0; e < n; e++) {
      v[e] = flipped(Source::value(params, x[e]), params.flip);
      any |= !(v[e] <= total.value);
    }
    if (!any) return;
    for (int e = 0; e < n; e++)
      if (total.loses_to(v[e])) total = {v[e], place + e};
  }
  static WICK_DEVICE Total combine(const Total& a, const Total& b) {
    return typename Total::First()(a, b);
  }
  static WICK_DEVICE void store(const ReduceParams&, void* out, uint32 i, const Total& v) {
    store_place(out, i, v);
  }
};

}  // namespace wick::gpu
