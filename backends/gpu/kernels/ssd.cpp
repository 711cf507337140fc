// ssd, with the state in registers.
#include "kernels/ssd.h"

namespace wick::gpu {

template <>
void add_family<"ssd">(KernelList& list) {
  add_kernels_for_either<SsdLaunch>(list, "registers", FloatTypes{});
}

}  // namespace wick::gpu
