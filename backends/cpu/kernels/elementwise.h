// A formula of scalar/ over n elements, in SIMD lanes where the type has them.
#pragma once
#include "dispatch/elementwise.h"
#include "kernels/convert.h"

namespace wick::cpu::WICK_ISA {

/// Computes the formula in lanes. The tail goes through a buffer, so nothing past n is accessed.
template <class F, class C, int inputs>
WICK_HD void apply_lanes(const C* a, const C* b, C* y, int64 n) {
  using L = Lanes<C>;
  constexpr int step = L::kCount;
  const auto one = [](const C* x0, const C* x1, C* to) __attribute__((always_inline)) {
    if constexpr (inputs == 1)
      F{}(L::load(x0)).store(to);
    else
      F{}(L::load(x0), L::load(x1)).store(to);
  };
  int64 i = 0;
  for (; i + step <= n; i += step) one(a + i, inputs > 1 ? b + i : nullptr, y + i);
  if (i == n) return;
  alignas(64) C last[3][step] = {};
  const size_t bytes = size_t(n - i) * sizeof(C);
  memcpy(last[0], a + i, bytes);
  if constexpr (inputs > 1) memcpy(last[1], b + i, bytes);
  one(last[0], last[1], last[2]);
  memcpy(y + i, last[2], bytes);
}

template <class F, class C, int inputs>
WICK_HD void apply_any(const void* a, const void* b, void* y, int64 n) {
  const C* x0 = static_cast<const C*>(a);
  const C* x1 = static_cast<const C*>(b);
  C* to = static_cast<C*>(y);
  if constexpr (kHasLanes<C>) {
    apply_lanes<F, C, inputs>(x0, x1, to, n);
  } else if constexpr (inputs == 1) {
    for (int64 i = 0; i < n; i++) to[i] = F{}(x0[i]);
  } else {
    for (int64 i = 0; i < n; i++) to[i] = F{}(x0[i], x1[i]);
  }
}

template <class F, class T, int inputs>
constexpr Elementwise kElementwise = {
    [](const void* a, const void* b, void* y, int64 n) {
      apply_any<F, ComputeIn<F, T>, inputs>(a, b, y, n);
    },
    {reading<T, ComputeIn<F, T>>(), reading<T, ComputeIn<F, T>>(), {}},
    writing<T, ComputeIn<F, T>>()};

}  // namespace wick::cpu::WICK_ISA
