// Casts between every pair of dtypes, and copies of each.
#include "kernels/cast.h"
#include "wick/abi/ops/cast.h"

namespace wick::gpu {
namespace {

/// One kernel for every other input dtype.
template <class Launch, class To>
void add_casts_to(KernelList& list, const char* form) {
  for (int from = 0; from < StoredTypes::kSize; from++)
    if (DType(from) != kDTypeOf<To> && is_computed(DType(from)))
      add_kernel<Launch, kAllFamilies>(list, form, {kCast, DType(from)}, kDTypeOf<To>);
}

template <class T>
struct CopySignature {
  static constexpr Signature signature{kCast, kDTypeOf<T>};
};

template <class... T>
void add_for(KernelList& list, TypeList<T...>) {
  (add_map<CopySignature<T>, CopyOf<sizeof(T)>>(list), ...);
  (add_casts_to<ContiguousCastLaunch<T>, T>(list, "contiguous"), ...);
  (add_casts_to<StridedCastLaunch<T>, T>(list, "strided"), ...);
}

}  // namespace

template <>
void add_family<"cast">(KernelList& list) {
  add_for(list, AllTypes{});
}

}  // namespace wick::gpu
