// cumsum, cumprod, cummax, cummin: kernels by the type of elements in registers, under every dtype.
#include "kernels/scan.h"

namespace wick::gpu {
namespace {

/// Floats up to f32 as f32; integers as i64, which has the bits of u64 (but not its order).
template <class T>
using Summed = Either<kIsFloat<T>, Compute<T>, int64>;
template <class T>
using Ordered = Either<kSame<T, uint64>, uint64, Summed<T>>;

template <class... T>
void add_scans(KernelList& list, TypeList<T...>) {
  (add_kernel<ScanLaunch<Sums<Summed<T>>>, kAllFamilies>(list, "tiles", {kCumsum, kDTypeOf<T>}),
   ...);
  (add_kernel<ScanLaunch<Products<Summed<T>>>, kAllFamilies>(list, "tiles",
                                                             {kCumprod, kDTypeOf<T>}),
   ...);
}
template <class... T>
void add_extremes(KernelList& list, TypeList<T...>) {
  (add_kernel<ScanLaunch<Extremes<Max, Ordered<T>>>, kAllFamilies>(list, "tiles",
                                                                   {kCummax, kDTypeOf<T>}),
   ...);
  (add_kernel<ScanLaunch<Extremes<Min, Ordered<T>>>, kAllFamilies>(list, "tiles",
                                                                   {kCummin, kDTypeOf<T>}),
   ...);
}

}  // namespace

template <>
void add_family<"scan">(KernelList& list) {
  add_scans(list, AllTypes{});
  add_extremes(list, NumericTypes{});
}

}  // namespace wick::gpu
