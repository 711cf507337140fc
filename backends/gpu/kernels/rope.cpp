// rope and its inverse, every pair form in one kernel, and rope with the write of a cache.
#include "kernels/rope_into.h"

namespace wick::gpu {

template <>
void add_family<"rope">(KernelList& list) {
  add_kernels<RopeLaunch>(list, "pairs", FloatTypes{});
  add_kernels<RopeIntoLaunch>(list, "heads", FloatTypes{});
}

}  // namespace wick::gpu
