// Quotients and multiples of integers, rounded up. Freestanding: device compilers read this file too.
#pragma once
#include "wick/abi/marks.h"

namespace wick {

/// Integers of one signedness: in sums of a signed and an unsigned one, C++ makes -1 a large number.
template <class A, class B>
inline constexpr bool kSameSignedness = (A(-1) < A(0)) == (B(-1) < B(0));

/// a / b, rounded up, in C++'s common type of a and b. Requires a >= 0 and b > 0, and that a + b - 1
/// fits into that type.
template <class A, class B>
requires(kSameSignedness<A, B>) WICK_HD constexpr auto ceil_div(A a, B b) {
  return (a + b - 1) / b;
}

/// The least multiple of `to` that is not below n. Requires n >= 0 and to > 0, and that n + to - 1
/// fits into the common type.
template <class A, class B>
requires(kSameSignedness<A, B>) WICK_HD constexpr auto round_up(A n, B to) {
  return ceil_div(n, to) * to;
}

}  // namespace wick
