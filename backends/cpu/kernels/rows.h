// Helpers of the kernels over one row. They process a row in chunks, converted where the dtype is
// narrow, and add the chunks' sums in double.
#pragma once
#include "kernels/fold.h"

namespace wick::cpu::WICK_ISA {

/// The compute type of T, and the type of its statistics.
template <class T>
using Statistic = Compute<T>;

/// Calls f(first element, count) for every chunk of n elements.
template <class F>
WICK_HD void chunks(int64 n, F f) {
  for (int64 i = 0; i < n; i += kChunk) f(i, smaller(kChunk, n - i));
}

template <class T>
WICK_HD Statistic<T> largest_of(const T* x, int64 n) {
  using C = Statistic<T>;
  alignas(64) C buffer[kChunk];
  C m = lowest<C>();
  chunks(
      n, [&](int64 i, int64 count) __attribute__((always_inline)) {
        m = largest(fetch(x + i, count, buffer), count, m);
      });
  return m;
}

/// Writes y = exp(x - m). Returns their sum.
template <class C>
WICK_HD C exponentials(const C* x, C m, C* y, int64 n) {
  using L = Lanes<C>;
  return sum_each<C>(
      n, [&](auto at) __attribute__((always_inline)) {
        const L e = exp(at(x, lowest<C>()) - L(m));
        at.store(e, y);
        return e;
      });
}
/// Returns the sum of exp(x - m) over a whole row. Writes them to y, if given, where T is the
/// compute type.
template <class T>
WICK_HD double exponentials_of(const T* x, Statistic<T> m, T* y, int64 n) {
  using C = Statistic<T>;
  alignas(64) C buffer[kChunk];
  double sum = 0;
  chunks(
      n, [&](int64 i, int64 count) __attribute__((always_inline)) {
        C* const to = y ? place(y + i, buffer) : buffer;
        sum += double(exponentials(fetch(x + i, count, buffer), m, to, count));
      });
  return sum;
}

}  // namespace wick::cpu::WICK_ISA
