// Casts from and to the dtypes that are stored and not computed in: f4, f6 and f8e8m0, a byte each.
// They are rare, so a kernel selects both dtypes at run time, and is compiled only once for each
// size or kind of the other dtype.
#include "kernels/cast.h"
#include "wick/abi/ops/cast.h"

namespace wick::gpu {
namespace {

using SmallTypes = TypeList<f4, f6e2m3, f6e3m2, f8e8m0>;

struct CastDTypes {
  DType from, to;
};

/// The bits of x as a `to`, if that is one of To and has this many bytes.
template <int bytes, class Wide, class... To>
WICK_DEVICE Bits<bytes> bits_as(DType to, Wide x, TypeList<To...>) {
  Bits<bytes> bits{};
  const auto take = [&]<class T>() {
    if constexpr (sizeof(T) == bytes)
      if (to == kDTypeOf<T>) bits = __builtin_bit_cast(Bits<bytes>, from_wide<T>(x));
  };
  (take.template operator()<To>(), ...);
  return bits;
}
template <class... From>
WICK_DEVICE float value_of(DType from, uint8 x, TypeList<From...>) {
  float value = 0;
  ((from == kDTypeOf<From> ? void(value = to_float(__builtin_bit_cast(From, x))) : void()), ...);
  return value;
}

struct ToSmall {
  CastDTypes dtypes;
  template <class Wide>
  WICK_DEVICE uint8 operator()(Wide x) const {
    return bits_as<1>(dtypes.to, x, SmallTypes{});
  }
};
template <int bytes>
struct FromSmall {
  CastDTypes dtypes;
  WICK_DEVICE Bits<bytes> operator()(uint8 x) const {
    if constexpr (bytes == 1)
      if (dtypes.from == dtypes.to) return x;  // a copy, bit by bit
    return bits_as<bytes>(dtypes.to, value_of(dtypes.from, x, SmallTypes{}), StoredTypes{});
  }
};

/// A Map of a function that receives both dtypes at run time.
template <class F, class Out, class In>
struct SmallCastMap : MapOf<Out, In> {
  static constexpr int kPack = 8;
  using Params = CastDTypes;
  static Params params(const Call& call) { return {call.in[0].dtype, call.out[0].dtype}; }
  template <class Body>
  static WICK_DEVICE void choose(const Params& params, const Body& body) {
    body(F{params});
  }
};

template <class Small, class From>
void add_to_small(KernelList& list) {
  add_map<SmallCastMap<ToSmall, Elements<uint8>, AnyOfItsKind<From>>>(list, {kCast, kDTypeOf<From>},
                                                                      kDTypeOf<Small>);
}
template <class Small, class To>
void add_from_small(KernelList& list) {
  constexpr int bytes = sizeof(To);
  add_map<SmallCastMap<FromSmall<bytes>, Elements<Bits<bytes>>, Elements<uint8>>>(
      list, {kCast, kDTypeOf<Small>}, kDTypeOf<To>);
}
template <class Small, class... Computed, class... Stored>
void add_small(KernelList& list, TypeList<Computed...>, TypeList<Stored...>) {
  (add_to_small<Small, Computed>(list), ...);
  (add_from_small<Small, Stored>(list), ...);
}
template <class... Small>
void add_all(KernelList& list, TypeList<Small...>) {
  (add_small<Small>(list, AllTypes{}, StoredTypes{}), ...);
}

}  // namespace

template <>
void add_family<"cast_stored">(KernelList& list) {
  add_all(list, SmallTypes{});
}

}  // namespace wick::gpu
