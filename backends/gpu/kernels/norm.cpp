// rms_norm and rms_norm_gradient.
#include "kernels/norm.h"

namespace wick::gpu {

template <>
void add_family<"norm">(KernelList& list) {
  add_kernels<RmsNorm>(list, "rows", FloatTypes{});
  add_kernels<RmsNormGradient>(list, "rows", FloatTypes{});
}

}  // namespace wick::gpu
