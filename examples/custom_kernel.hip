// The kernels of custom_kernel.cpp, which compiles this text at run time. To compile them ahead, for
// the card (rocminfo names it):
//
//   hipcc --genco --offload-arch=gfx1100 custom_kernel.hip -o custom_kernel.hsaco
//
// For several cards, give several --offload-arch; the file then holds code for each.
#if defined(__HIP__) && !defined(__HIPCC_RTC__)  // compilers at run time know the words
#include <hip/hip_runtime.h>
#endif

// y = (x + sqrt(x^2 + b)) / 2
extern "C" __global__ void __launch_bounds__(256)
    squareplus(const float* x, float* y, float b, long long n) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = (x[i] + sqrtf(x[i] * x[i] + b)) / 2;
}

// x *= scale, with n elements in rows of `columns` and one scale a column
extern "C" __global__ void __launch_bounds__(256)
    scale_columns(float* x, const float* scale, long long columns, long long n) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= scale[i % columns];
}
