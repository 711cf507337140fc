// A block of rows of a state of ssd, token after token.
#include "dispatch/ssd.h"

#include "kernels/fold.h"
#include "kernels/kernels.h"
#include "kernels/token_numbers.h"
#include "scalar/unary.h"

namespace wick::cpu::WICK_ISA {
namespace {

/// h = decay h + factor b. Returns the sum of h c.
template <class C>
C advance(C decay, C factor, const C* b, const C* c, C* h, int64 n) {
  using L = Lanes<C>;
  return sum_each<C>(
      n, [&](auto at) __attribute__((always_inline)) {
        const L next = fma(L(factor), at(b), at(h) * L(decay));
        at.store(next, h);
        return next * at(c);
      });
}

/// The step size of a token.
template <class T, class C>
C step(const SsdRows& of, const char* dt) {
  const C raw = read_either<T>(dt, of.is_wide);
  if (!of.dt_bias) return raw;
  const C size = of_one(Softplus(), raw + *static_cast<const C*>(of.dt_bias), 1, 20);
  const C least = C(of.least_step), greatest = C(of.greatest_step);
  return size < least ? least : size > greatest ? greatest : size;
}

template <class T>
void rows(const SsdRows& of) {
  using C = Compute<T>;
  alignas(64) C wide[2][kMaxStateSize];
  C* const state = static_cast<C*>(of.state);
  const size_t bytes = size_t(of.rows * of.n) * sizeof(C);
  if (of.before)
    memcpy(state, of.before, bytes);
  else
    memset(state, 0, bytes);
  const C a = *static_cast<const C*>(of.a), d = of.d ? *static_cast<const C*>(of.d) : C(0);
  for (int64 t = 0; t < of.tokens; t++) {
    T* const y = reinterpret_cast<T*>(of.y.data + t * of.y.stride);
    if (t >= of.read) {
      for (int64 p = 0; p < of.rows; p++) y[p] = from_wide<T>(C(0));
      continue;
    }
    const T* const x = reinterpret_cast<const T*>(of.x.data + t * of.x.stride);
    load<T, C>(of.b.data + t * of.b.stride, 1, of.n, wide[0]);
    load<T, C>(of.c.data + t * of.c.stride, 1, of.n, wide[1]);
    const C dt = step<T, C>(of, of.dt.data + t * of.dt.stride);
    const C decay = C(__builtin_exp(double(dt * a)));
    for (int64 p = 0; p < of.rows; p++) {
      const C value = widen_one<C>(x + p);
      const C sum = advance(decay, dt * value, wide[0], wide[1], state + p * of.n, of.n);
      y[p] = from_wide<T>(of.d ? sum + d * value : sum);
    }
  }
}

}  // namespace

template <>
void add_family<"ssd">(Table& table) {
  for_each(FloatTypes{}, [&]<class T>() {
    static constexpr Ssd data{rows<T>};
    const Kernel kernel{.accepts = Ssd::accepts, .run = Ssd::run, .data = &data};
    table.add(Ssd::kOp, kDTypeOf<T>, kernel);
    if constexpr (!kSame<T, Compute<T>>)
      table.add(Ssd::kOp, kDTypeOf<T>, kDTypeOf<Compute<T>>, kernel);
  });
}

}  // namespace wick::cpu::WICK_ISA
