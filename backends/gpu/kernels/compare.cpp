// The formulas of scalar/compare.h, of which a kernel has them all.
#include "kernels/compare.h"

#include "scalar/cast.h"

namespace wick::gpu {
namespace {

/// One kernel for all formulas.
template <class F, class T>
void add_comparison_of(KernelList& list) {
  constexpr Signature signature{F::op, kDTypeOf<T>};
  // f8 is not worth two forms: converting it costs more than finding it.
  if constexpr (!(kIsFloat<T> && sizeof(T) == 1))
    add_kernel<MixedRowsLaunch<CompareOf<T>>, kAllFamilies>(list, "rows", signature);
  using Strided = Either<kSame<Compute<T>, float>, CompareFloats, CompareOf<T>>;
  add_kernel<MixedStridedLaunch<Strided>, kAllFamilies>(list, "strided", signature);
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
