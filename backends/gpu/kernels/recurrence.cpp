// causal_conv1d and linear_scan.
#include "kernels/recurrence.h"

namespace wick::gpu {

template <>
void add_family<"recurrence">(KernelList& list) {
  add_kernels<CausalConv1d>(list, "channels", FloatTypes{});
  add_kernels<LinearScan>(list, "channels", FloatTypes{});
}

}  // namespace wick::gpu
