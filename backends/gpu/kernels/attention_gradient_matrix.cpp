// sdpa_gradient of f16 and bf16 on matrix units.
#include "kernels/attention_gradient_tiles.h"

namespace wick::gpu {

void add_matrix_attention_gradient(KernelList& list) {
  constexpr unsigned kApart = kMatrixFamilies & (kRdna3 | kRdna4 | kEmulated);
  constexpr unsigned kOthers = kMatrixFamilies & ~kApart;
  add_kernel<SdpaGradientTilesLaunch<bf16, true>, kOthers>(list, "tiles");
  add_kernel<SdpaGradientTilesLaunch<f16, true>, kOthers>(list, "tiles");
  add_kernel<SdpaGradientTilesLaunch<bf16, false>, kApart>(list, "tiles_apart");
  add_kernel<SdpaGradientTilesLaunch<f16, false>, kApart>(list, "tiles_apart");
  add_kernel<SdpaGradientTilesLaunch<bf16, true, true>, kMatrixFamilies>(list, "tiles");
  add_kernel<SdpaGradientTilesLaunch<f16, true, true>, kMatrixFamilies>(list, "tiles");
}

}  // namespace wick::gpu
