// Gather and scatter of every dtype, by the size of its elements, and scatter_add of the numeric
// ones; ids are i64.
#include "kernels/gather.h"

namespace wick::gpu {
namespace {

/// One kernel for every dtype.
template <Moves moves, class... T>
void add_moves(KernelList& list, const Op& op, TypeList<T...>) {
  // What no id names stays.
  constexpr uint32 flags = moves == Moves::kToIds ? uint32(kKernelAccumulates) : 0;
  constexpr DType dtypes[] = {kDTypeOf<T>...};
  for (const DType dtype : dtypes) {
    add_kernel<MoveRowsLaunch<moves>, kAllFamilies>(list, "rows", {op, dtype, flags});
    add_kernel<MoveStridedLaunch<moves>, kAllFamilies>(list, "strided", {op, dtype, flags});
  }
}

template <class... T>
void add_scatter_add(KernelList& list, TypeList<T...>) {
  (add_kernel<ScatterAddLaunch<T>, kAllFamilies>(list, "atomic"), ...);
}

template <class Sum, class... T>
void add_narrow_scatter_add(KernelList& list, TypeList<T...>) {
  (add_kernel<NarrowScatterAddLaunch<T, Sum>, kAllFamilies>(list, "atomic_in_scratch"), ...);
}

}  // namespace

template <>
void add_family<"gather">(KernelList& list) {
  add_moves<Moves::kFromIds>(list, kGather, StoredTypes{});
  add_moves<Moves::kToIds>(list, kScatter, StoredTypes{});
  add_scatter_add(list, TypeList<uint32, int32, uint64, int64, float, double>{});
  add_narrow_scatter_add<uint32>(list, TypeList<uint8, int8, uint16, int16>{});
  add_narrow_scatter_add<float>(list, TypeList<f8e4m3, f8e5m2, bf16, f16>{});
}

}  // namespace wick::gpu
