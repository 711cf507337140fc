// Choices between two elements, by their size.
#include "wick/abi/ops/where.h"
#include "kernels/compare.h"

namespace wick::gpu {
namespace {

template <class T>
void add_where_of(KernelList& list) {
  constexpr Signature signature{kWhere, kDTypeOf<T>};
  using Map = WhereOf<sizeof(T)>;
  add_kernel<MixedRowsLaunch<Map>, kAllFamilies>(list, "rows", signature);
  add_kernel<MixedStridedLaunch<Map>, kAllFamilies>(list, "strided", signature);
}
template <class... T>
void add_where(KernelList& list, TypeList<T...>) {
  (add_where_of<T>(list), ...);
}

}  // namespace

template <>
void add_family<"where">(KernelList& list) {
  add_where(list, AllTypes{});
}

}  // namespace wick::gpu
