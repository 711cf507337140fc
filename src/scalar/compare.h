// Comparisons: two elements give a bool, or a mask for SIMD lanes. With NaN, all but ne are false.
// See unary.h.
#pragma once
#include "scalar/math.h"
#include "wick/abi/op.h"

namespace wick {

struct Eq {
  static constexpr Op op{"eq", "TT:B"};
  using Types = AllTypes;
  template <class T>
  WICK_HD auto operator()(T a, T b) const {
    return a == b;
  }
};

struct Ne {
  static constexpr Op op{"ne", "TT:B"};
  using Types = AllTypes;
  template <class T>
  WICK_HD auto operator()(T a, T b) const {
    return a != b;
  }
};

struct Lt {
  static constexpr Op op{"lt", "TT:B"};
  using Types = NumericTypes;
  template <class T>
  WICK_HD auto operator()(T a, T b) const {
    return a < b;
  }
};

struct Le {
  static constexpr Op op{"le", "TT:B"};
  using Types = NumericTypes;
  template <class T>
  WICK_HD auto operator()(T a, T b) const {
    return a <= b;
  }
};

struct Gt {
  static constexpr Op op{"gt", "TT:B"};
  using Types = NumericTypes;
  template <class T>
  WICK_HD auto operator()(T a, T b) const {
    return a > b;
  }
};

struct Ge {
  static constexpr Op op{"ge", "TT:B"};
  using Types = NumericTypes;
  template <class T>
  WICK_HD auto operator()(T a, T b) const {
    return a >= b;
  }
};

/// Whether an element is NaN.
struct IsNan {
  static constexpr Op op{"isnan", "T:B"};
  using Types = FloatTypes;
  template <class T>
  WICK_HD bool operator()(T x) const {
    return x != x;
  }
};

struct IsInf {
  static constexpr Op op{"isinf", "T:B"};
  using Types = FloatTypes;
  template <class T>
  WICK_HD bool operator()(T x) const {
    return x == x && x - x != T(0);
  }
};

struct IsFinite {
  static constexpr Op op{"isfinite", "T:B"};
  using Types = FloatTypes;
  template <class T>
  WICK_HD bool operator()(T x) const {
    return x - x == T(0);
  }
};

using Predicates = TypeList<IsNan, IsInf, IsFinite>;

using Comparisons = TypeList<Eq, Ne, Lt, Le, Gt, Ge>;

}  // namespace wick
