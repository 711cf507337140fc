// One row of softmax.
#include "dispatch/softmax.h"

#include "kernels/kernels.h"
#include "kernels/rows.h"

namespace wick::cpu::WICK_ISA {
namespace {

/// y = x · factor.
template <class C>
void scale(const C* x, C factor, C* y, int64 n) {
  each<C>(
      n, [&](auto at) __attribute__((always_inline)) { at.store(at(x) * Lanes<C>(factor), y); });
}

template <class T>
void softmax(const void* from, void* to, int64 n) {
  using C = Statistic<T>;
  const T* x = static_cast<const T*>(from);
  T* y = static_cast<T*>(to);
  alignas(64) C buffer[kChunk];
  const C m = largest_of(x, n);
  const C factor = C(1 / exponentials_of(x, m, kSame<T, C> ? y : nullptr, n));
  chunks(
      n, [&](int64 i, int64 count) __attribute__((always_inline)) {
        if constexpr (kSame<T, C>) {
          scale(y + i, factor, y + i, count);
        } else {
          exponentials(fetch(x + i, count, buffer), m, buffer, count);
          scale(buffer, factor, buffer, count);
          put(buffer, y + i, count);
        }
      });
}

}  // namespace

template <>
void add_family<"softmax">(Table& table) {
  add_floats(table, []<class T>() { return Softmax{softmax<T>}; });
}

}  // namespace wick::cpu::WICK_ISA
