// One row of softmax and of logsumexp.
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

template <class C>
void logsumexp(const void* from, void* to, int64 n) {
  const C* x = static_cast<const C*>(from);
  const C m = largest_of(x, n);
  // Does not subtract an infinite maximum: inf - inf is NaN.
  const C shift = m - m == 0 ? m : C(0);
  const double sum = exponentials_of(x, shift, static_cast<C*>(nullptr), n);
  *static_cast<C*>(to) = C(double(shift) + __builtin_log(sum));
}

}  // namespace

template <>
void add_family<"softmax">(Table& table) {
  add_floats(table, []<class T>() { return Softmax{softmax<T>}; });
  for_each(TypeList<float, double>{}, [&]<class T>() {
    static constexpr LogSumExp data{logsumexp<T>};
    table.add(LogSumExp::kOp, kDTypeOf<T>,
              {.accepts = LogSumExp::accepts, .run = LogSumExp::run, .data = &data});
  });
}

}  // namespace wick::cpu::WICK_ISA
