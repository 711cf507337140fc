// sdpa of f16 and bf16 on matrix units.
#include "kernels/attention_tiles.h"

namespace wick::gpu {

void add_matrix_attention(KernelList& list) {
  add_kernel<SdpaTilesLaunch<bf16>, kMatrixFamilies>(list, "tiles");
  add_kernel<SdpaTilesLaunch<f16>, kMatrixFamilies>(list, "tiles");
  add_kernel<SdpaTilesLaunch<bf16, true>, kMatrixFamilies>(list, "tiles");
  add_kernel<SdpaTilesLaunch<f16, true>, kMatrixFamilies>(list, "tiles");
}

}  // namespace wick::gpu
