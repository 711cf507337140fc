// rocBLAS's products.
#pragma once
#include "libraries/vendor_library.h"

namespace wick::gpu {

namespace rocblas {

// Source of the numbers: the headers of ROCm 6 and 7.
inline constexpr int kSuccess = 0, kNotImplemented = 2;
inline constexpr int kOperationNone = 111, kOperationTranspose = 112;
inline constexpr int kAtomicsNotAllowed = 0;

struct Api {
  int (*create_handle)(void** handle);
  int (*set_stream)(void* handle, void* stream);
  int (*set_atomics_mode)(void* handle, int mode);
  const char* (*status_to_string)(int status);
  int (*get_version_string)(char* text, size_t bytes);
  int (*gemm)(void* handle, int transpose_a, int transpose_b, int m, int n, int k,
              const void* alpha, const void* a, int a_type, int lda, int64 stride_a, const void* b,
              int b_type, int ldb, int64 stride_b, const void* beta, const void* c, int c_type,
              int ldc, int64 stride_c, void* d, int d_type, int ldd, int64 stride_d, int batches,
              int compute_type, int algorithm, int32 solution, uint32 flags);
};

}  // namespace rocblas

/// Opens rocBLAS for the current device.
std::unique_ptr<VendorLibrary> open_rocblas(const DeviceInfo&, Failure*);

}  // namespace wick::gpu
