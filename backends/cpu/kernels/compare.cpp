// The formulas of scalar/compare.h: adding one to its lists is all there is to do.
#include "scalar/compare.h"
#include "kernels/elementwise.h"
#include "kernels/kernels.h"

namespace wick::cpu::WICK_ISA {
namespace {

/// The type in which T is compared; a bool's is its byte.
template <class T>
struct ComparedOf {
  using type = Compute<T>;
};
template <>
struct ComparedOf<bool> {
  using type = uint8;
};
template <class T>
using Compared = typename ComparedOf<T>::type;

/// A loop over scalars, which the compiler vectorizes.
template <class F, class C>
void compare(const void* a, const void* b, void* y, int64 n) {
  const C* x0 = static_cast<const C*>(a);
  const C* x1 = static_cast<const C*>(b);
  uint8* to = static_cast<uint8*>(y);
  for (int64 i = 0; i < n; i++) to[i] = F{}(x0[i], x1[i]);
}

template <class F, class T>
constexpr Elementwise kComparison = {compare<F, Compared<T>>,
                                     {reading<T, Compared<T>>(), reading<T, Compared<T>>(), {}},
                                     copy_access<1>()};

template <class F, class C>
void ask(const void* a, const void*, void* y, int64 n) {
  const C* x = static_cast<const C*>(a);
  uint8* to = static_cast<uint8*>(y);
  for (int64 i = 0; i < n; i++) to[i] = F{}(x[i]);
}

template <class F, class T>
constexpr Elementwise kPredicate = {
    ask<F, Compute<T>>, {reading<T, Compute<T>>(), {}, {}}, copy_access<1>()};

}  // namespace

template <>
void add_family<"compare">(Table& table) {
  for_each(Comparisons{}, [&]<class F>() {
    for_each(typename F::Types{}, [&]<class T>() {
      table.add(F::op, kDTypeOf<T>, {.run = run_binary, .data = &kComparison<F, T>});
    });
  });
  for_each(Predicates{}, [&]<class F>() {
    for_each(typename F::Types{}, [&]<class T>() {
      table.add(F::op, kDTypeOf<T>, {.run = run_unary, .data = &kPredicate<F, T>});
    });
  });
}

}  // namespace wick::cpu::WICK_ISA
