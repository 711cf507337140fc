// Gather and scatter of every dtype, by the size of its elements, and scatter_add of the numeric
// ones; ids are i64.
#include "kernels/gather.h"

#include "kernels/last_ids.h"

namespace wick::gpu {
namespace {

/// One kernel for every dtype.
template <class... T>
void add_gather(KernelList& list, TypeList<T...>) {
  constexpr DType dtypes[] = {kDTypeOf<T>...};
  for (const DType dtype : dtypes) {
    add_kernel<MoveRowsLaunch<Moves::kFromIds>, kAllFamilies>(list, "rows", {kGather, dtype});
    add_kernel<MoveStridedLaunch<Moves::kFromIds>, kAllFamilies>(list, "strided", {kGather, dtype});
  }
}
template <class... T>
void add_scatter(KernelList& list, TypeList<T...>) {
  using Rows = ScatterLaunch<MoveRowsLaunch<Moves::kToIds>>;
  using Strided = ScatterLaunch<MoveStridedLaunch<Moves::kToIds>>;
  constexpr DType dtypes[] = {kDTypeOf<T>...};
  for (const DType dtype : dtypes) {
    const Signature signature{kScatter, dtype, kKernelAccumulates};  // the other elements stay
    add_kernel<Rows, kAllFamilies>(list, "rows", signature);
    add_kernel<Strided, kAllFamilies>(list, "strided", signature);
  }
}

/// Adds with atomics: the schedule orders the sums of floats; integers' sums need no order.
template <class T>
constexpr Signature atomic_sums() {
  return {kScatterAdd, kDTypeOf<T>,
          kKernelAccumulates | (is_floating(kDTypeOf<T>) ? uint32(kKernelUnordered) : 0)};
}
template <class... T>
void add_scatter_add(KernelList& list, TypeList<T...>) {
  (add_kernel<ScatterAddLaunch<T, AtomicAdd>, kAllFamilies>(list, "atomic", atomic_sums<T>()), ...);
}
template <class Sum, class... T>
void add_narrow_scatter_add(KernelList& list, TypeList<T...>) {
  (add_kernel<NarrowScatterAddLaunch<T, Sum, AtomicAdd>, kAllFamilies>(list, "atomic_in_scratch",
                                                                       atomic_sums<T>()),
   ...);
}

}  // namespace

template <>
void add_family<"gather">(KernelList& list) {
  add_gather(list, StoredTypes{});
  add_scatter(list, StoredTypes{});
  add_scatter_add(list, TypeList<uint32, int32, uint64, int64, float, double>{});
  add_narrow_scatter_add<uint32>(list, TypeList<uint8, int8, uint16, int16>{});
  add_narrow_scatter_add<float>(list, TypeList<f8e4m3, f8e5m2, bf16, f16>{});
}

}  // namespace wick::gpu
