// Kernels for the formulas of src/scalar: what elementwise.cpp and binary.cpp share.
#pragma once
#include "kernels/elementwise.h"
#include "scalar/cast.h"

namespace wick::gpu {

template <class F, class T, int arity>
struct FormulaSignature {
  // Every element is read by the thread that writes it, before that.
  static constexpr Signature signature{F::op, kDTypeOf<T>, kKernelInPlace};
};

/// What the code of F for T has as elements: integers of T's size that it computes in, so that i32
/// and u32 are one kernel where F wraps.
template <class F, class T>
using CodeElement = Either<kIsFloat<T> || sizeof(T) != sizeof(ComputeIn<F, T>), T, ComputeIn<F, T>>;

template <int arity, class F, class T>
void add_formula_of(KernelList& list) {
  using S = FormulaSignature<F, T, arity>;
  using Map = MapOf<F, CodeElement<F, T>, arity>;
  // f8 is not worth three forms: converting it costs more than finding it.
  if constexpr (kIsFloat<T> && sizeof(T) == 1)
    add_strided_map<S, Map>(list);
  else
    add_map<S, Map>(list);
}
template <int arity, class F, class... T>
void add_formula(KernelList& list, TypeList<T...>) {
  (add_formula_of<arity, F, T>(list), ...);
}
template <int arity, class... F>
void add_formulas(KernelList& list, TypeList<F...>) {
  (add_formula<arity, F>(list, typename F::Types{}), ...);
}

}  // namespace wick::gpu
