// (x1 cos - x2 sin, x2 cos + x1 sin) over the pairs of one head.
#include "dispatch/rope.h"

#include "kernels/fold.h"
#include "kernels/kernels.h"

namespace wick::cpu::WICK_ISA {
namespace {

template <class C>
void rotate(const C* x1, const C* x2, const C* cos, const C* sin, C sign, C* y1, C* y2, int64 n) {
  using L = Lanes<C>;
  each<C>(
      n, [&](auto at) __attribute__((always_inline)) {
        const L a = at(x1), b = at(x2), c = at(cos), s = at(sin) * L(sign);
        at.store(a * c - b * s, y1);
        at.store(b * c + a * s, y2);
      });
}

/// Pairs half of the head apart.
template <class T>
void apart(const void* from, const void* cosines, const void* sines, int sign, void* to,
           int64 pairs) {
  using C = Compute<T>;
  const T* x = static_cast<const T*>(from);
  T* y = static_cast<T*>(to);
  const C* cos = static_cast<const C*>(cosines);
  const C* sin = static_cast<const C*>(sines);
  alignas(64) C first[kChunk], second[kChunk];
  for (int64 i = 0; i < pairs; i += kChunk) {
    const int64 n = smaller(kChunk, pairs - i);
    T *const y1 = y + i, *const y2 = y + pairs + i;
    rotate(fetch(x + i, n, first), fetch(x + pairs + i, n, second), cos + i, sin + i, C(sign),
           place(y1, first), place(y2, second), n);
    put(first, y1, n);
    put(second, y2, n);
  }
}

/// Neighbours are a pair.
template <class T>
void interleaved(const void* from, const void* cosines, const void* sines, int sign, void* to,
                 int64 pairs) {
  using C = Compute<T>;
  const T* x = static_cast<const T*>(from);
  T* y = static_cast<T*>(to);
  const C* cos = static_cast<const C*>(cosines);
  const C* sin = static_cast<const C*>(sines);
  alignas(64) C first[kChunk], second[kChunk];
  for (int64 i = 0; i < pairs; i += kChunk) {
    const int64 n = smaller(kChunk, pairs - i);
    load<T, C>(x + 2 * i, 2, n, first);
    load<T, C>(x + 2 * i + 1, 2, n, second);
    rotate(first, second, cos + i, sin + i, C(sign), first, second, n);
    store<T, C>(first, y + 2 * i, 2, n);
    store<T, C>(second, y + 2 * i + 1, 2, n);
  }
}

}  // namespace

template <>
void add_family<"rope">(Table& table) {
  add_floats(table, []<class T>() { return Rope{apart<T>, interleaved<T>}; });
}

}  // namespace wick::cpu::WICK_ISA
