// Steps of reductions: where one begins, and how two parts become one. The combination is
// associative up to rounding; each device takes an order fixed by the shape. See unary.h for how a
// formula is written.
#pragma once
#include "scalar/math.h"
#include "wick/abi/ops/reduce.h"

namespace wick {

struct Sum {
  static constexpr Op op{"sum", "T:S", attributes<ReduceAttributes>};
  static constexpr bool kOfNothing = true;  // has a value for no elements
  using Types = AllTypes;
  /// The type that T is added up in: f32 for the narrower floats; i64 for integers and bool,
  /// unsigned here so that it wraps.
  template <class T>
  struct AccumulatorOf {
    using type = Compute<T>;
  };
  template <class T>
  static WICK_HD T identity() {
    return T(0);
  }
  template <class T>
  WICK_HD T operator()(T a, T b) const {
    return a + b;
  }
};
template <class T>
requires(!is_floating(kDTypeOf<T>)) struct Sum::AccumulatorOf<T> {
  using type = uint64;
};

/// NaN wins. Never asked of nothing: the op refuses empty reductions.
struct Max {
  static constexpr Op op{"max", "T:T", attributes<ReduceAttributes>};
  static constexpr bool kOfNothing = false;
  using Types = NumericTypes;
  template <class T>
  struct AccumulatorOf {
    using type = Compute<T>;
  };
  template <class T>
  static WICK_HD T identity() {
    if constexpr (kSame<T, float>)
      return -__builtin_bit_cast(float, 0x7f800000u);
    else if constexpr (kSame<T, double>)
      return -__builtin_bit_cast(double, uint64(0x7ff) << 52);
    else if constexpr (T(-1) > T(0))
      return T(0);
    else
      return T(T(1) << (8 * sizeof(T) - 1));
  }
  template <class T>
  WICK_HD T operator()(T a, T b) const {
    return select(a != a, a, select(b != b, b, select(a < b, b, a)));
  }
};

/// The smallest; a NaN wins (see Max).
struct Min {
  static constexpr Op op{"min", "T:T", attributes<ReduceAttributes>};
  static constexpr bool kOfNothing = false;
  using Types = NumericTypes;
  template <class T>
  struct AccumulatorOf {
    using type = Compute<T>;
  };
  template <class T>
  static WICK_HD T identity() {
    if constexpr (kSame<T, float> || kSame<T, double>)
      return -Max::identity<T>();
    else
      return T(~Max::identity<T>());
  }
  template <class T>
  WICK_HD T operator()(T a, T b) const {
    return select(a != a, a, select(b != b, b, select(b < a, b, a)));
  }
};

struct Prod {
  static constexpr Op op{"prod", "T:S", attributes<ReduceAttributes>};
  static constexpr bool kOfNothing = true;
  using Types = AllTypes;
  template <class T>
  using AccumulatorOf = Sum::AccumulatorOf<T>;
  template <class T>
  static WICK_HD T identity() {
    return T(1);
  }
  template <class T>
  WICK_HD T operator()(T a, T b) const {
    return a * b;
  }
};

// Any and All are of truths, which are bytes of 0 and 1: NaN is true, as every number but 0.

struct Any {
  static constexpr Op op{"any", "T:B", attributes<ReduceAttributes>};
  static constexpr bool kOfNothing = true;
  using Types = AllTypes;
  template <class T>
  static WICK_HD T identity() {
    return T(0);
  }
  template <class T>
  WICK_HD T operator()(T a, T b) const {
    return T(a | b);
  }
};

struct All {
  static constexpr Op op{"all", "T:B", attributes<ReduceAttributes>};
  static constexpr bool kOfNothing = true;
  using Types = AllTypes;
  template <class T>
  static WICK_HD T identity() {
    return T(1);
  }
  template <class T>
  WICK_HD T operator()(T a, T b) const {
    return T(a & b);
  }
};

template <class R, class T>
using Accumulator = typename R::template AccumulatorOf<T>::type;

/// The type of R's result: T, but i64 for sums and products of integers and bool, u64 of u64.
template <class R, class T>
struct ReducedOf {
  using type = T;
};
template <class R, class T>
requires((kSame<R, Sum> || kSame<R, Prod>)&&!is_floating(kDTypeOf<T>)) struct ReducedOf<R, T> {
  using type = int64;
};
template <class R>
requires(kSame<R, Sum> || kSame<R, Prod>) struct ReducedOf<R, uint64> {
  using type = uint64;
};
template <class R, class T>
using Reduced = typename ReducedOf<R, T>::type;

/// The reductions of numbers, and those of truths.
using NumberReductions = TypeList<Sum, Max, Min, Prod>;
using TruthReductions = TypeList<Any, All>;

}  // namespace wick
