// The formulas of scalar/unary.h: adding one to its lists is all there is to do.
#include "scalar/unary.h"
#include "kernels/elementwise.h"
#include "kernels/kernels.h"

namespace wick::cpu::WICK_ISA {
namespace {

/// A formula with numbers beside its operand: `numbers` is a NumberAttributes.
template <class F, class C>
void apply_numbers(const void* x, const void* numbers, void* y, int64 n) {
  using L = Lanes<C>;
  constexpr int step = L::kCount;
  const auto& given = *static_cast<const NumberAttributes*>(numbers);
  const L a(C(given.a)), b(C(given.b));
  const C* from = static_cast<const C*>(x);
  C* to = static_cast<C*>(y);
  int64 i = 0;
  for (; i + step <= n; i += step) F{}(L::load(from + i), a, b).store(to + i);
  alignas(64) C last[step] = {};
  memcpy(last, from + i, size_t(n - i) * sizeof(C));
  F{}(L::load(last), a, b).store(last);
  memcpy(to + i, last, size_t(n - i) * sizeof(C));
}

template <class F, class T>
constexpr Elementwise kWithNumbers = {
    apply_numbers<F, Compute<T>>, {reading<T, Compute<T>>(), {}, {}}, writing<T, Compute<T>>()};

}  // namespace

template <>
void add_family<"unary">(Table& table) {
  for_each(Unary{}, [&]<class F>() {
    for_each(typename F::Types{}, [&]<class T>() {
      table.add(F::op, kDTypeOf<T>,
                {.run = run_unary, .data = &kElementwise<F, T, 1>, .flags = kKernelInPlace});
    });
  });
  for_each(UnaryWithNumbers{}, [&]<class F>() {
    for_each(typename F::Types{}, [&]<class T>() {
      table.add(F::op, kDTypeOf<T>,
                {.run = run_unary, .data = &kWithNumbers<F, T>, .flags = kKernelInPlace});
    });
  });
}

}  // namespace wick::cpu::WICK_ISA
