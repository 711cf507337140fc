// Products of f64 on matrix units.
#include "kernels/matmul_doubles.h"

namespace wick::gpu {

void add_double_matmul(KernelList& list) {
  constexpr unsigned kAsync = kDoubleMatrixFamilies & (kSm80 | kEmulated);
  constexpr unsigned kOthers = kDoubleMatrixFamilies & ~kSm80;
  add_kernel<DoubleMatmulLaunch<kLargeAsyncDoubles>, kAsync>(list, "async_128");
  add_kernel<DoubleMatmulLaunch<kLargeDoubles>, kOthers>(list, "packed_128");
  add_kernel<DoubleMatmulLaunch<kSmallDoubles>, kDoubleMatrixFamilies>(list, "packed_64");
}

}  // namespace wick::gpu
