// cross_entropy and cross_entropy_gradient.
#include "kernels/loss.h"

namespace wick::gpu {
namespace {

template <class... T>
void add_for(KernelList& list, TypeList<T...>) {
  (add_kernel<CrossEntropy<T>, kAllFamilies>(list, "rows"), ...);
  (add_kernel<CrossEntropyGradientLaunch<T>, kAllFamilies>(list, "rows"), ...);
}

}  // namespace

template <>
void add_family<"loss">(KernelList& list) {
  add_for(list, FloatTypes{});
}

}  // namespace wick::gpu
