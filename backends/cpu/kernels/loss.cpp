// One row of cross_entropy and of its gradient.
#include "dispatch/loss.h"

#include "kernels/kernels.h"
#include "kernels/rows.h"

namespace wick::cpu::WICK_ISA {
namespace {

template <class T>
void cross_entropy(const void* from, int64 target, void* loss, void* l, int64 n) {
  using C = Statistic<T>;
  const T* x = static_cast<const T*>(from);
  const C m = largest_of(x, n);
  const double rest = __builtin_log(exponentials_of(x, m, static_cast<T*>(nullptr), n));
  *static_cast<C*>(loss) = C(rest - (double(widen_one<C>(x + target)) - double(m)));
  *static_cast<C*>(l) = C(double(m) + rest);
}

/// g = gloss exp(x - l).
template <class C>
void weighted_exponentials(const C* x, C l, C gloss, C* g, int64 n) {
  using L = Lanes<C>;
  each<C>(
      n, [&](auto at)
             __attribute__((always_inline)) { at.store(exp(at(x) - L(l)) * L(gloss), g); });
}

template <class T>
void cross_entropy_gradient(const void* from, int64 target, const void* log_sum,
                            const void* upstream, void* to, int64 n) {
  using C = Statistic<T>;
  const T* x = static_cast<const T*>(from);
  T* g = static_cast<T*>(to);
  const C l = *static_cast<const C*>(log_sum), gloss = *static_cast<const C*>(upstream);
  alignas(64) C buffer[kChunk];
  chunks(
      n, [&](int64 i, int64 count) __attribute__((always_inline)) {
        C* const values = place(g + i, buffer);
        weighted_exponentials(fetch(x + i, count, buffer), l, gloss, values, count);
        if (target >= i && target < i + count) values[target - i] -= gloss;
        put(values, g + i, count);
      });
}

}  // namespace

template <>
void add_family<"loss">(Table& table) {
  add_floats(table, []<class T>() { return CrossEntropy{cross_entropy<T>}; });
  add_floats(table, []<class T>() { return CrossEntropyGradient{cross_entropy_gradient<T>}; });
}

}  // namespace wick::cpu::WICK_ISA
