// rms_norm and rms_norm_gradient.
#include "kernels/norm.h"

namespace wick::gpu {
namespace {

template <class... T>
void add_for(KernelList& list, TypeList<T...>) {
  (add_kernel<RmsNorm<T>, kAllFamilies>(list, "rows"), ...);
  (add_kernel<RmsNormGradient<T>, kAllFamilies>(list, "rows"), ...);
}

}  // namespace

template <>
void add_family<"norm">(KernelList& list) {
  add_for(list, FloatTypes{});
}

}  // namespace wick::gpu
