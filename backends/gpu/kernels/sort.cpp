// sort and topk: kernels by the size of elements, under every dtype.
#include "kernels/sort.h"

namespace wick::gpu {
namespace {

template <class... T>
void add_sorts(KernelList& list, TypeList<T...>) {
  (add_kernel<SortLaunch<T>, kAllFamilies>(list, "radix", {kSort, kDTypeOf<T>}), ...);
  (add_kernel<SortLaunch<T>, kAllFamilies>(list, "radix", {kTopk, kDTypeOf<T>}), ...);
}

}  // namespace

template <>
void add_family<"sort">(KernelList& list) {
  add_sorts(list, AllTypes{});
}

}  // namespace wick::gpu
