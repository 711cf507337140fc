// Matrix products: our kernels for every float dtype, oneDNN and OpenBLAS where they are faster.
#pragma once
#include "dispatch/chunk.h"
#include "dispatch/walk.h"
#include "wick/abi/backend.h"
#include "wick/abi/ops/matmul.h"

namespace wick::cpu {

/// c[m, n] = sum over k of a[m, k] · b[k, n], for every index of `batch`. Strides in elements.
struct Product {
  explicit Product(const Call& call);

  int64 m, n, k;
  int64 a_m, a_k, b_k, b_n, c_m, c_n;
  Space<3> batch;  // of a, b and c; a broadcast operand has stride 0
  const char* a;
  const char* b;
  char* c;

  int64 multiplications() const { return batch.numel * m * n * k; }
};

/// One tile or strip of outputs, over all of K.
struct Tile {
  const void* a;
  const void* b;
  void* c;
  int64 m, n, k;
  int64 a_m, a_k, b_k, b_n, c_m, c_n;
  void* buffer;  // of MatmulParts::buffer_bytes bytes
};

inline constexpr int64 kFewRows = 4;  // up to this many rows of a, b is read once, unpacked

/// Our kernels for one dtype and instruction set.
struct MatmulParts {
  int64 size;            // bytes per element
  int64 wide_size;       // bytes per value of the compute type
  int64 tile_m, tile_n;  // the largest `tile`
  int64 strip_n;         // the most outputs of `strip`
  int64 (*buffer_bytes)(int64 m, int64 n, int64 k);
  void (*tile)(const Tile&);
  /// Requires m <= kFewRows, b_k or b_n of 1, and a in the compute type with a_k of 1.
  void (*strip)(const Tile&);
  Load load;  // of a, for `strip`
};

/// Accepts a vector times a matrix: our kernels read the matrix once, in place, bound by memory.
const char* accepts_thin(const Kernel* kernel, const Call* call, const DeviceInfo* device);
/// Accepts what accepts_thin accepts, and products so small that oneDNN's overhead shows.
const char* accepts_small(const Kernel* kernel, const Call* call, const DeviceInfo* device);
Status run_matmul(const Kernel* kernel, const Call* call);
int64 matmul_scratch(const Kernel* kernel, const Call* call, const DeviceInfo* device);

/// False under WICK_CPU_LIBS=off: our kernels run everything.
bool libraries_allowed();

// onednn.cpp: f32 and bf16.
const char* accepts_onednn(const Kernel* kernel, const Call* call, const DeviceInfo* device);
Status run_onednn(const Kernel* kernel, const Call* call);
int64 onednn_scratch(const Kernel* kernel, const Call* call, const DeviceInfo* device);

// openblas.cpp: f64.
const char* accepts_openblas(const Kernel* kernel, const Call* call, const DeviceInfo* device);
Status run_openblas(const Kernel* kernel, const Call* call);

}  // namespace wick::cpu
