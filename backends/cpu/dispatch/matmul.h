// Matrix products: own kernels for every float, oneDNN and OpenBLAS where they are faster.
#pragma once
#include "dispatch/chunk.h"
#include "dispatch/walk.h"
#include "wick/abi/backend.h"
#include "wick/abi/ops/matmul.h"

namespace wick::cpu {

/// c[m, n] = sum over k of a[m, k] · b[k, n], for every place in `batch`. Strides are in elements.
struct Product {
  explicit Product(const Call& call);

  int64 m, n, k;
  int64 a_m, a_k, b_k, b_n, c_m, c_n;
  Space<3> batch;  // of a, b and c; broadcast operands stand still
  const char* a;
  const char* b;
  char* c;

  int64 multiplications() const { return batch.numel * m * n * k; }
};

/// One output tile, or one strip of outputs, over the whole of K.
struct Tile {
  const void* a;
  const void* b;
  void* c;
  int64 m, n, k;
  int64 a_m, a_k, b_k, b_n, c_m, c_n;
  void* buffer;  // as many bytes as MatmulParts::buffer_bytes says
};

inline constexpr int64 kFewRows = 4;  // of a: b is then read once, as it lies, instead of packed

/// The own kernels of one dtype and instruction set.
struct MatmulParts {
  int64 size;            // of an element
  int64 wide_size;       // of what is computed in
  int64 tile_m, tile_n;  // that `tile` takes at most
  int64 strip_n;         // outputs that `strip` takes at most
  int64 (*buffer_bytes)(int64 m, int64 n, int64 k);
  void (*tile)(const Tile&);
  /// m <= kFewRows, and b_k or b_n is 1; a holds what is computed in, a_k is 1.
  void (*strip)(const Tile&);
  Load load;  // of a, for `strip`
};

/// Accepts a vector times a matrix: our kernels read the matrix once, in place, bound by memory.
const char* accepts_thin(const Kernel* kernel, const Call* call, const DeviceInfo* device);
/// Accepts what accepts_thin accepts, and products so small that oneDNN's overhead shows.
const char* accepts_small(const Kernel* kernel, const Call* call, const DeviceInfo* device);
Status run_matmul(const Kernel* kernel, const Call* call);
int64 matmul_scratch(const Kernel* kernel, const Call* call, const DeviceInfo* device);

/// False under WICK_CPU_LIBS=off: own kernels serve everything.
bool libraries_allowed();

// onednn.cpp: f32 and bf16.
const char* accepts_onednn(const Kernel* kernel, const Call* call, const DeviceInfo* device);
Status run_onednn(const Kernel* kernel, const Call* call);
int64 onednn_scratch(const Kernel* kernel, const Call* call, const DeviceInfo* device);

// openblas.cpp: f64.
const char* accepts_openblas(const Kernel* kernel, const Call* call, const DeviceInfo* device);
Status run_openblas(const Kernel* kernel, const Call* call);

}  // namespace wick::cpu
