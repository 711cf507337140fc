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

  DType dtype;
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

/// The functions of a Kernel, on the product that the call describes.
struct MatmulFunctions {
  const char* (*accepts)(const Product& p);  // nullptr: accepts every product
  int64 (*scratch_bytes)(const Product& p, const MatmulParts& parts);  // nullptr: none
  Status (*run)(const Product& p, const MatmulParts& parts, const Call& call);
};
/// A Kernel's data: its functions, and our kernels for its dtype.
struct MatmulData {
  const MatmulFunctions& functions;
  const MatmulParts& parts;
};
/// A Kernel that builds the Product of each call and passes it to data.functions.
Kernel matmul_kernel(const char* name, const MatmulData& data, uint32 flags);

extern const MatmulFunctions kOwnMatmul;
/// Accepts a vector times a matrix: our kernels read the matrix once, in place, bound by memory.
extern const MatmulFunctions kThinMatmul;
/// Accepts what kThinMatmul accepts, and products so small that oneDNN's overhead shows.
extern const MatmulFunctions kSmallMatmul;
extern const MatmulFunctions kOneDnnMatmul;    // f32 and bf16
extern const MatmulFunctions kOpenBlasMatmul;  // f64

/// False under WICK_CPU_LIBS=off: our kernels run everything.
bool libraries_allowed();

}  // namespace wick::cpu
