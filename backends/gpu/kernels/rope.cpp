// rope and its inverse, every pair form in one kernel.
#include "kernels/rope.h"

namespace wick::gpu {

template <>
void add_family<"rope">(KernelList& list) {
  add_kernels<RopeLaunch>(list, "pairs", FloatTypes{});
}

}  // namespace wick::gpu
