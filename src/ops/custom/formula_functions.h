// The functions that a formula may call: the formulas of src/scalar, and a few built from them.
// Freestanding.
#pragma once
#include "scalar/binary.h"
#include "scalar/compare.h"
#include "scalar/unary.h"

namespace wick::formula {

/// Stands in for Op in functions that are not ops of a backend.
struct Name {
  const char* name;
  const char* operands;
};

struct Min : Minimum {
  static constexpr Name op{"min", "TT:T"};
};

struct Max : Maximum {
  static constexpr Name op{"max", "TT:T"};
};

/// As the op clamp: returns high if low is larger; NaN if any argument is NaN.
struct Clamp {
  static constexpr Name op{"clamp", "TTT:T"};
  using Types = NumericTypes;
  template <class T>
  WICK_HD T operator()(T x, T low, T high) const {
    return Minimum()(Maximum()(x, low), high);
  }
};

/// As the op hypot: scales by the larger operand, so that no square overflows or underflows.
struct Hypot {
  static constexpr Name op{"hypot", "TT:T"};
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T a, T b) const {
    const T x = abs(a), y = abs(b), scale = Maximum()(x, y);
    const T finite = select(scale - scale == T(0), scale, T(1));
    const T safe = select(finite == T(0), T(1), finite);
    return sqrt(Square()(x / safe) + Square()(y / safe)) * safe;
  }
};

/// As the op logaddexp: log(e^a + e^b).
struct Logaddexp {
  static constexpr Name op{"logaddexp", "TT:T"};
  using Types = FloatTypes;
  template <class T>
  WICK_HD T operator()(T a, T b) const {
    const T largest = Maximum()(a, b), shift = select(largest - largest == T(0), largest, T(0));
    return log(exp(a - shift) + exp(b - shift)) + shift;
  }
};

using Composed = TypeList<Min, Max, Clamp, Hypot, Logaddexp>;

}  // namespace wick::formula
