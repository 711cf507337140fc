// Pooling and fold: floats by their type, integers by the size of theirs.
#include "kernels/pool.h"

namespace wick::gpu {
namespace {

/// How elements of T are held: floats as themselves, integers as unsigned ones.
template <class T>
using Held = Either<kIsFloat<T>, T, Bits<sizeof(T)>>;

template <class... T>
void add_max(KernelList& list, TypeList<T...>) {
  (add_kernel<PoolLaunch<MaxPoolWindows, Held<T>>, kAllFamilies>(list, "windows",
                                                                 {kMaxPool, kDTypeOf<T>}),
   ...);
}
template <class... T>
void add_avg(KernelList& list, TypeList<T...>) {
  (add_kernel<PoolLaunch<AvgPoolWindows, T>, kAllFamilies>(list, "windows",
                                                           {kAvgPool, kDTypeOf<T>}),
   ...);
}
template <class... T>
void add_fold(KernelList& list, TypeList<T...>) {
  (add_kernel<FoldLaunch<Held<T>>, kAllFamilies>(list, "windows", {kFold, kDTypeOf<T>}), ...);
}

}  // namespace

template <>
void add_family<"pool">(KernelList& list) {
  add_max(list, NumericTypes{});
  add_avg(list, FloatTypes{});
  add_fold(list, NumericTypes{});
}

}  // namespace wick::gpu
