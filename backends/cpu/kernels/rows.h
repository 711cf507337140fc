// What kernels over one row share: a row is taken in chunks, which are converted where the dtype is
// narrow. Sums of chunks are added up in double.
#pragma once
#include "kernels/fold.h"

namespace wick::cpu::WICK_ISA {

/// What statistics of T are kept in, and what is computed in.
template <class T>
using Statistic = Compute<T>;

/// f(chunk's first element, its count), over n elements.
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

/// y = exp(x - m); returns their sum.
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
/// Sums the exponentials of a whole row. Keeps them where y holds the type that is computed in.
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
