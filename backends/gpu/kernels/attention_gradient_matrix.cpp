// sdpa_gradient of f16 and bf16 on matrix units.
#include "kernels/attention_gradient_tiles.h"

namespace wick::gpu {

void add_matrix_attention_gradient(KernelList& list) {
  add_kernel<SdpaGradientTilesLaunch<bf16>, kMatrixFamilies>(list, "tiles");
  add_kernel<SdpaGradientTilesLaunch<f16>, kMatrixFamilies>(list, "tiles");
  add_kernel<SdpaGradientTilesLaunch<bf16, true>, kMatrixFamilies>(list, "tiles");
  add_kernel<SdpaGradientTilesLaunch<f16, true>, kMatrixFamilies>(list, "tiles");
}

}  // namespace wick::gpu
