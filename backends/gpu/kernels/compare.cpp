// The formulas of scalar/compare.h: one kernel of each form and type has them all.
#include "scalar/compare.h"

#include "kernels/formulas.h"

namespace wick::gpu {
namespace {

template <class F, class T>
void add_comparison_of(KernelList& list) {
  constexpr Signature signature{F::op, kDTypeOf<T>};
  using Rows = FormulaOf<Comparisons, Elements<bool>, Elements<T>, 2>;
  using Strided = FormulaOf<Comparisons, Elements<bool>, StridedElements<T>, 2>;
  if constexpr (kHasRows<T>)
    add_map<Rows, Strided>(list, signature, signature.dtype);
  else
    add_strided_map<Strided>(list, signature, signature.dtype);
}
template <class F, class... T>
void add_comparison(KernelList& list, TypeList<T...>) {
  (add_comparison_of<F, T>(list), ...);
}
template <class... F>
void add_comparisons(KernelList& list, TypeList<F...>) {
  (add_comparison<F>(list, typename F::Types{}), ...);
}

}  // namespace

template <>
void add_family<"compare">(KernelList& list) {
  add_comparisons(list, Comparisons{});
}

}  // namespace wick::gpu
