#include "kernels/softmax.h"

namespace wick::gpu {

template <>
void add_family<"softmax">(KernelList& list) {
  add_kernels<Softmax>(list, "rows", FloatTypes{});
  add_kernels<LogSumExp>(list, "rows", TypeList<float, double>{});
}

}  // namespace wick::gpu
