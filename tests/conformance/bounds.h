// Whether a result is near enough to the reference.
#pragma once
#include "row.h"

namespace wick::conformance {

struct Comparison {
  bool passed = true;
  int64_t wrong = 0;           // how many elements are
  int64_t first_wrong = -1;    // the first one's position
  double first_error = 0;      // its error, in the unit of the tolerance
  bool first_at_edge = false;  // whether the edge's bound was the one that it missed
  double worst = 0;            // the largest error of all, in the unit of the tolerance
  double worst_at_edge = 0;    // in ulp
  std::string why;             // for a result that is wrong as a whole: its shape or dtype
};

/// The terms that both sides are held to.
struct Terms {
  Tolerance tolerance;
  std::optional<Edge> edge = {};
  std::vector<bool> at_edge = {};  // elements that the edge's bound holds for; empty: none
  bool signed_zero = false;
  const Result* or_else = nullptr;  // another result that an element may agree with instead
};

Comparison compare(const Array& got, const Result& expected, const Terms& terms);

/// The bound that holds for a result of so many terms.
double bound_of(const Tolerance& tolerance, int64_t terms);
/// "2 ulp", "8 u sum|x| + 1 ulp".
std::string describe(const Tolerance& tolerance);
/// A value, to all of its digits.
std::string number(Real x);

}  // namespace wick::conformance
