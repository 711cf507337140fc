// scatter_add of floats in a fixed order. Comes after gather.cpp's in the table: where any order
// will do, atomics are faster.
#include "kernels/sorted_add.h"

namespace wick::gpu {
namespace {

constexpr Signature sorted_sums(DType dtype) { return {kScatterAdd, dtype, kKernelAccumulates}; }

template <class... T>
void add_sorted(KernelList& list, TypeList<T...>) {
  (add_kernel<ScatterAddLaunch<T, SortedAdd>, kAllFamilies>(list, "sorted",
                                                            sorted_sums(kDTypeOf<T>)),
   ...);
}
template <class... T>
void add_narrow_sorted(KernelList& list, TypeList<T...>) {
  (add_kernel<NarrowScatterAddLaunch<T, float, SortedAdd>, kAllFamilies>(list, "sorted_in_scratch",
                                                                         sorted_sums(kDTypeOf<T>)),
   ...);
}

}  // namespace

template <>
void add_family<"gather_sorted">(KernelList& list) {
  add_sorted(list, TypeList<float, double>{});
  add_narrow_sorted(list, TypeList<f8e4m3, f8e5m2, bf16, f16>{});
}

}  // namespace wick::gpu
