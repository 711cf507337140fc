// sdpa_gradient of f16 and bf16 on matrix units.
#include "kernels/attention_gradient_tiles.h"

namespace wick::gpu {

void add_matrix_attention_gradient(KernelList& list) {
  constexpr unsigned kRdna = kMatrixFamilies & (kRdna3 | kRdna4);
  constexpr unsigned kOthers = kMatrixFamilies & ~kRdna,
                     kApart = kRdna | (kMatrixFamilies & kEmulated);
  add_kernel<SdpaGradientTilesLaunch<bf16, true>, kOthers>(list, "tiles");
  add_kernel<SdpaGradientTilesLaunch<f16, true>, kOthers>(list, "tiles");
  add_kernel<SdpaGradientTilesLaunch<bf16, false>, kApart>(list, "tiles_apart");
  add_kernel<SdpaGradientTilesLaunch<f16, false>, kApart>(list, "tiles_apart");
  add_kernel<SdpaGradientTilesLaunch<bf16, true, true>, kMatrixFamilies>(list, "tiles");
  add_kernel<SdpaGradientTilesLaunch<f16, true, true>, kMatrixFamilies>(list, "tiles");
}

}  // namespace wick::gpu
