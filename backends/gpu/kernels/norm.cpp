// rms_norm, layer_norm and their gradients.
#include "kernels/norm.h"

namespace wick::gpu {

template <>
void add_family<"norm">(KernelList& list) {
  add_kernels<RmsNorm>(list, "rows", FloatTypes{});
  add_kernels<RmsNormResidual>(list, "rows", TypeList<bf16, f16, float, double>{});
  add_kernels<RmsNormGradient>(list, "rows", FloatTypes{});
  add_kernels<LayerNorm>(list, "rows", FloatTypes{});
  add_kernels<LayerNormGradient>(list, "rows", FloatTypes{});
}

}  // namespace wick::gpu
