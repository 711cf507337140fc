// cross_entropy and cross_entropy_gradient.
#include "kernels/loss.h"

namespace wick::gpu {

template <>
void add_family<"loss">(KernelList& list) {
  add_kernels<CrossEntropy>(list, "rows", FloatTypes{});
  add_kernels<CrossEntropyGradientLaunch>(list, "rows", FloatTypes{});
}

}  // namespace wick::gpu
