// Casts between every pair of dtypes, and copies of each, which are copies of bits.
#include "kernels/cast.h"
#include "kernels/transpose.h"
#include "wick/abi/ops/cast.h"

namespace wick::gpu {
namespace {

struct Same {
  template <class T>
  WICK_DEVICE T operator()(T x) const {
    return x;
  }
};
template <int bytes>
struct CopyMap : MapOf<Elements<Bits<bytes>>, Elements<Bits<bytes>>>, OneFunction<Same> {};

template <class T>
void add_copy(KernelList& list) {
  constexpr Signature signature{kCast, kDTypeOf<T>};
  add_kernel<RowsLaunch<CopyMap<sizeof(T)>>, kAllFamilies>(list, "rows", signature,
                                                           signature.dtype);
  add_kernel<TransposeLaunch<sizeof(T)>, kAllFamilies>(list, "tiles", signature, signature.dtype);
  add_strided_map<CopyMap<sizeof(T)>>(list, signature, signature.dtype);
}
template <class To, class From>
void add_cast(KernelList& list) {
  if constexpr (kSame<To, From>)
    add_copy<To>(list);
  else
    add_map<CastMap<To, AnyOfItsKind<From>>>(list, {kCast, kDTypeOf<From>}, kDTypeOf<To>);
}
template <class To, class... From>
void add_casts_to(KernelList& list, TypeList<From...>) {
  (add_cast<To, From>(list), ...);
}
template <class... To>
void add_casts(KernelList& list, TypeList<To...>) {
  (add_casts_to<To>(list, AllTypes{}), ...);
}

}  // namespace

template <>
void add_family<"cast">(KernelList& list) {
  add_casts(list, AllTypes{});
}

}  // namespace wick::gpu
