// linear_attention.
#include "kernels/linear_attention.h"

namespace wick::gpu {

template <>
void add_family<"linear_attention">(KernelList& list) {
  add_kernels<LinearAttention>(list, "groups", FloatTypes{});
}

}  // namespace wick::gpu
