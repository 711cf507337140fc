// AdamW over n elements; see AdamWAttributes for the formula.
#include "dispatch/optimizer.h"

#include "kernels/fold.h"
#include "kernels/kernels.h"

namespace wick::cpu::WICK_ISA {
namespace {

template <class C>
void step(const AdamWAttributes& a, const C* gradient, C* parameter, C* mean, C* square, int64 n) {
  using L = Lanes<C>;
  const L beta1(C(a.beta1)), rest1(C(1 - a.beta1)), beta2(C(a.beta2)), rest2(C(1 - a.beta2)),
      decay(C(1 - a.rate * a.weight_decay)), rate(C(a.rate)), eps(C(a.eps)),
      mean_scale(C(a.mean_scale)), square_scale(C(a.square_scale));
  each<C>(
      n, [&](auto at) __attribute__((always_inline)) {
        const L g = at(gradient);
        const L m = at(mean) * beta1 + g * rest1;
        const L s = at(square) * beta2 + g * g * rest2;
        at.store(m, mean);
        at.store(s, square);
        const L update = m * mean_scale / (sqrt(s * square_scale) + eps);
        at.store(at(parameter) * decay - update * rate, parameter);
      });
}

template <class T>
void adamw(const AdamWAttributes& attributes, const void* gradient, void* parameter, void* mean,
           void* square, int64 n) {
  using C = Compute<T>;
  const T* const g = static_cast<const T*>(gradient);
  T* const state[3] = {static_cast<T*>(parameter), static_cast<T*>(mean), static_cast<T*>(square)};
  if constexpr (kSame<T, C>) return step(attributes, g, state[0], state[1], state[2], n);
  alignas(64) C wide[4][kChunk];
  for (int64 i = 0; i < n; i += kChunk) {
    const int64 count = smaller(kChunk, n - i);
    load<T, C>(g + i, 1, count, wide[3]);
    for (int k = 0; k < 3; k++) load<T, C>(state[k] + i, 1, count, wide[k]);
    step(attributes, wide[3], wide[0], wide[1], wide[2], count);
    for (int k = 0; k < 3; k++) store<T, C>(wide[k], state[k] + i, 1, count);
  }
}

template <class T>
constexpr AdamW kAdamWOf = {sizeof(T), adamw<T>};

}  // namespace

template <>
void add_family<"optimizer">(Table& table) {
  for_each(FloatTypes{}, [&]<class T>() {
    constexpr DType t = kDTypeOf<T>;
    table.add(kAdamW, t,
              {.accepts = accepts_unit_strides,
               .run = run_adamw,
               .data = &kAdamWOf<T>,
               .flags = kKernelAccumulates});
  });
}

}  // namespace wick::cpu::WICK_ISA
