// Reduction steps: the identity, and the combination of two partial results. Combination is
// associative up to rounding; each device uses an order fixed by the shape. See unary.h for how
// formulas are written.
#pragma once
#include "scalar/math.h"
#include "wick/abi/ops/reduce.h"

namespace wick {

struct Sum {
  static constexpr Op op{"sum", "T:S", attributes<ReduceAttributes>};
  static constexpr bool kOfNothing = true;  // whether reducing zero elements is defined
  using Types = AllTypes;
  /// The accumulator type of T: f32 for narrower floats; 64-bit for integers and bool, unsigned
  /// here so that overflow wraps.
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

/// The sum of the squares, which are rounded one by one: a Sum of term(x).
struct SumOfSquares : Sum {
  static constexpr Op op{"sum_of_squares", "T:T", attributes<ReduceAttributes>};
  using Types = TypeList<float, double>;
  template <class T>
  static WICK_HD T term(T x) {
    return x * x;
  }
};

/// The maximum; NaN if any element is NaN. The op rejects empty reductions.
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

/// The minimum; NaN if any element is NaN. The op rejects empty reductions.
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

// Any and All reduce truth values, stored as bytes 0 and 1. Every number but 0 is true, including
// NaN.

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

/// The result type of R: T, except that sums and products of integers and bool are i64, and u64 for
/// u64.
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

/// Reductions of numbers, and of truth values.
using NumberReductions = TypeList<Sum, Max, Min, Prod>;
using TruthReductions = TypeList<Any, All>;

}  // namespace wick
