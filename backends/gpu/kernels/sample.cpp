// sample.
#include "kernels/sample.h"

namespace wick::gpu {

template <>
void add_family<"sample">(KernelList& list) {
  add_kernels<Sample>(list, "block_a_row", FloatTypes{});
}

}  // namespace wick::gpu
