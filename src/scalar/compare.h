// Formulas of comparison: two elements, a bool (of lanes: a mask). With NaN all are false but ne.
// See unary.h.
#pragma once
#include "scalar/math.h"
#include "wick/abi/ops.h"

namespace wick {

struct Eq {
  static constexpr OpId op = OpId::kEq;
  using Types = AllTypes;
  template <class T>
  WICK_HD auto operator()(T a, T b) const {
    return a == b;
  }
};

struct Ne {
  static constexpr OpId op = OpId::kNe;
  using Types = AllTypes;
  template <class T>
  WICK_HD auto operator()(T a, T b) const {
    return a != b;
  }
};

struct Lt {
  static constexpr OpId op = OpId::kLt;
  using Types = NumericTypes;
  template <class T>
  WICK_HD auto operator()(T a, T b) const {
    return a < b;
  }
};

struct Le {
  static constexpr OpId op = OpId::kLe;
  using Types = NumericTypes;
  template <class T>
  WICK_HD auto operator()(T a, T b) const {
    return a <= b;
  }
};

struct Gt {
  static constexpr OpId op = OpId::kGt;
  using Types = NumericTypes;
  template <class T>
  WICK_HD auto operator()(T a, T b) const {
    return a > b;
  }
};

struct Ge {
  static constexpr OpId op = OpId::kGe;
  using Types = NumericTypes;
  template <class T>
  WICK_HD auto operator()(T a, T b) const {
    return a >= b;
  }
};

/// Of one element.
struct IsNan {
  static constexpr OpId op = OpId::kIsNan;
  using Types = FloatTypes;
  template <class T>
  WICK_HD bool operator()(T x) const {
    return x != x;
  }
};

struct IsInf {
  static constexpr OpId op = OpId::kIsInf;
  using Types = FloatTypes;
  template <class T>
  WICK_HD bool operator()(T x) const {
    return x == x && x - x != T(0);
  }
};

struct IsFinite {
  static constexpr OpId op = OpId::kIsFinite;
  using Types = FloatTypes;
  template <class T>
  WICK_HD bool operator()(T x) const {
    return x - x == T(0);
  }
};

using Predicates = TypeList<IsNan, IsInf, IsFinite>;

using Comparisons = TypeList<Eq, Ne, Lt, Le, Gt, Ge>;

}  // namespace wick
