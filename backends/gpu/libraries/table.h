// Which calls a library serves under WICK_GPU_LIBS=auto: those for which it was measured to be faster than
// wick's kernels.
#pragma once
#include "libraries/vendor_library.h"

namespace wick::gpu {

/// The size of a call. A convolution counts as the product that it is: rows are channels of the result,
/// columns its places in all images, inner the elements of a window.
struct LibrarySizes {
  int64 rows, columns, inner, batches;
};

/// A library serves calls at least this large.
struct LibraryRule {
  const char* library;
  const char* architecture;  // those that begin with it; "" all
  LibraryWork work;
  DType dtype;
  int64 least_side;  // of rows and columns, the smaller
  int64 least_inner;
  int64 least_terms;  // rows x columns x inner x batches
};

inline constexpr int64 kMega = int64(1) << 20;

// Measured by bench/libraries.cpp on an H100 (sm_90) with cuBLASLt 13.1 and cuDNN 9.14; other NVIDIA cards
// take the same rules. No AMD card was at hand: rocBLAS's sizes are estimates.
inline constexpr LibraryRule kLibraryRules[] = {
    {"cublaslt", "sm_", LibraryWork::kProduct, DType::kBf16, 16, 32, 16 * kMega},
    {"cublaslt", "sm_", LibraryWork::kProduct, DType::kBf16, 8, 32, 128 * kMega},
    {"cublaslt", "sm_", LibraryWork::kProduct, DType::kF16, 16, 32, 16 * kMega},
    {"cublaslt", "sm_", LibraryWork::kProduct, DType::kF16, 8, 32, 128 * kMega},
    {"cublaslt", "sm_", LibraryWork::kProduct, DType::kF32, 16, 32, 16 * kMega},
    {"cublaslt", "sm_", LibraryWork::kProduct, DType::kF64, 32, 32, 2 * kMega},
    {"cublaslt", "sm_", LibraryWork::kProduct, DType::kF64, 8, 32, 16 * kMega},
    {"cudnn", "sm_", LibraryWork::kConvolution, DType::kBf16, 64, 512, 2048 * kMega},
    {"cudnn", "sm_", LibraryWork::kInputGradient, DType::kBf16, 3, 64, 2048 * kMega},
    {"cudnn", "sm_", LibraryWork::kWeightGradient, DType::kBf16, 64, 64, 2048 * kMega},
    {"cudnn", "sm_", LibraryWork::kConvolution, DType::kF16, 64, 512, 2048 * kMega},
    {"cudnn", "sm_", LibraryWork::kInputGradient, DType::kF16, 3, 64, 2048 * kMega},
    {"cudnn", "sm_", LibraryWork::kWeightGradient, DType::kF16, 64, 64, 2048 * kMega},
    {"cudnn", "sm_", LibraryWork::kConvolution, DType::kF32, 64, 128, 2048 * kMega},
    {"cudnn", "sm_", LibraryWork::kInputGradient, DType::kF32, 256, 64, 2048 * kMega},
    {"cudnn", "sm_", LibraryWork::kWeightGradient, DType::kF32, 512, 64, 2048 * kMega},
    {"cudnn", "sm_", LibraryWork::kConvolution, DType::kF64, 256, 512, 2048 * kMega},
    {"cudnn", "sm_", LibraryWork::kWeightGradient, DType::kF64, 256, 64, 2048 * kMega},
    {"rocblas", "gfx", LibraryWork::kProduct, DType::kBf16, 128, 64, 32 * kMega},
    {"rocblas", "gfx", LibraryWork::kProduct, DType::kF16, 128, 64, 32 * kMega},
    {"rocblas", "gfx", LibraryWork::kProduct, DType::kF32, 128, 64, 32 * kMega},
    {"rocblas", "gfx", LibraryWork::kProduct, DType::kF64, 128, 64, 32 * kMega},
};

}  // namespace wick::gpu
