// SIMD loops and reductions over n elements of a row. They access nothing past n.
#pragma once
#include "kernels/convert.h"

namespace wick::cpu::WICK_ISA {

WICK_HD int64 smaller(int64 a, int64 b) { return a < b ? a : b; }

/// n <= kChunk elements in the compute type C: in place if T is C, else converted into buffer.
template <class T, class C>
WICK_HD const C* fetch(const T* from, int64 n, C* buffer) {
  if constexpr (kSame<T, C>) {
    return from;
  } else {
    load<T, C>(from, 1, n, buffer);
    return buffer;
  }
}
/// Where to write n <= kChunk results: in place if T is C, else buffer, from which put() converts
/// them into the row.
template <class T, class C>
WICK_HD C* place(T* to, C* buffer) {
  if constexpr (kSame<T, C>)
    return to;
  else
    return buffer;
}
template <class T, class C>
WICK_HD void put(const C* from, T* to, int64 n) {
  if constexpr (!kSame<T, C>) store<T, C>(from, to, 1, n);
}

/// A position in a row for all lanes; FirstLanes: for the first `count` lanes.
struct Lane {
  int64 i;
  template <class C>
  WICK_HD Lanes<C> operator()(const C* row, C = C(0)) const {
    return Lanes<C>::load(row + i);
  }
  template <class C>
  WICK_HD void store(Lanes<C> x, C* row) const {
    x.store(row + i);
  }
};
struct FirstLanes {
  int64 i, count;
  /// The other lanes are `rest`.
  template <class C>
  WICK_HD Lanes<C> operator()(const C* row, C rest = C(0)) const {
    alignas(64) C lanes[Lanes<C>::kCount];
    Lanes<C>(rest).store(lanes);
    memcpy(lanes, row + i, size_t(count) * sizeof(C));
    return Lanes<C>::load(lanes);
  }
  template <class C>
  WICK_HD void store(Lanes<C> x, C* row) const {
    alignas(64) C lanes[Lanes<C>::kCount];
    x.store(lanes);
    memcpy(row + i, lanes, size_t(count) * sizeof(C));
  }
};

/// Calls f(position) for every register of n elements.
template <class C, class F>
WICK_HD void each(int64 n, F f) {
  int64 i = 0;
  for (; i + Lanes<C>::kCount <= n; i += Lanes<C>::kCount) f(Lane{i});
  if (i < n) f(FirstLanes{i, n - i});
}

/// Combines the halves of a register until 128 bits are left.
template <class V, class F>
WICK_HD auto to_128_bits(V v, F combine) {
  if constexpr (sizeof(V) == 16) {
    return v;
  } else {
    const hn::Half<hn::DFromV<V>> half;
    return to_128_bits(combine(hn::LowerHalf(half, v), hn::UpperHalf(half, v)), combine);
  }
}
/// The sum of the lanes.
template <class C>
WICK_HD C sum_across(Lanes<C> x) {
  const auto low = to_128_bits(
      x.v, [](auto a, auto b) __attribute__((always_inline)) { return hn::Add(a, b); });
  alignas(16) C lanes[16 / sizeof(C)];
  hn::StoreU(low, hn::DFromV<decltype(low)>(), lanes);
  if constexpr (sizeof(C) == 4)
    return (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
  else
    return lanes[0] + lanes[1];
}
/// The sums of the lanes of four vectors, in 16 bytes.
WICK_HD void sum_across_four(const Lanes<float> (&x)[4], float* to) {
  const hn::ScalableTag<float> one;
  const hn::Repartition<double, decltype(one)> two;
  const auto pairs = [&](int i) __attribute__((always_inline)) {  // 0 1 0 1 of every 16 bytes
    return hn::Add(hn::InterleaveLower(one, x[i].v, x[i + 1].v),
                   hn::InterleaveUpper(one, x[i].v, x[i + 1].v));
  };
  const auto a = hn::BitCast(two, pairs(0)), b = hn::BitCast(two, pairs(2));
  const auto fours = hn::Add(hn::BitCast(one, hn::InterleaveLower(two, a, b)),
                             hn::BitCast(one, hn::InterleaveUpper(two, a, b)));
  const auto low = to_128_bits(
      fours, [](auto p, auto q) __attribute__((always_inline)) { return hn::Add(p, q); });
  hn::StoreU(low, hn::DFromV<decltype(low)>(), to);
}
/// The maximum of the lanes.
template <class C>
WICK_HD C largest_across(Lanes<C> x) {
  const auto low = to_128_bits(
      x.v, [](auto a, auto b) __attribute__((always_inline)) { return hn::Max(a, b); });
  alignas(16) C lanes[16 / sizeof(C)];
  hn::StoreU(low, hn::DFromV<decltype(low)>(), lanes);
  C y = lanes[0];
  for (size_t i = 1; i < 16 / sizeof(C); i++) y = y < lanes[i] ? lanes[i] : y;
  return y;
}

/// The sum of f(position). Four accumulators hide the addition's latency of 3 to 4 cycles; chains
/// of eight additions keep the rounding error small.
template <class C, class F>
WICK_HD C sum_each(int64 n, F f) {
  using L = Lanes<C>;
  constexpr int64 step = L::kCount, chain = 8;
  L total(C(0));
  int64 i = 0;
  while (i + 4 * step <= n) {
    L a = f(Lane{i}), b = f(Lane{i + step}), c = f(Lane{i + 2 * step}), d = f(Lane{i + 3 * step});
    i += 4 * step;
    for (int64 k = 1; k < chain && i + 4 * step <= n; k++, i += 4 * step) {
      a = a + f(Lane{i});
      b = b + f(Lane{i + step});
      c = c + f(Lane{i + 2 * step});
      d = d + f(Lane{i + 3 * step});
    }
    total = total + ((a + b) + (c + d));
  }
  L rest(C(0));
  for (; i + step <= n; i += step) rest = rest + f(Lane{i});
  if (i < n) rest = rest + f(FirstLanes{i, n - i});
  return sum_across(total + rest);
}

template <class C>
WICK_HD C lowest() {
  if constexpr (kSame<C, float>)
    return -__builtin_inff();
  else
    return -__builtin_inf();
}

/// The largest of n values and `first`. NaN may be ignored: callers get it from the exponentials.
template <class C>
WICK_HD C largest(const C* x, int64 n, C first) {
  using L = Lanes<C>;
  constexpr int64 step = L::kCount;
  L a(first), b(first);
  int64 i = 0;
  for (; i + 2 * step <= n; i += 2 * step) {
    a = larger(a, L::load(x + i));
    b = larger(b, L::load(x + i + step));
  }
  for (; i + step <= n; i += step) a = larger(a, L::load(x + i));
  if (i < n) b = larger(b, FirstLanes{i, n - i}(x, lowest<C>()));
  return largest_across(larger(a, b));
}

}  // namespace wick::cpu::WICK_ISA
