// Matrix products: own kernels for every float, oneDNN and OpenBLAS where they are faster.
#pragma once
#include "drive/chunk.h"
#include "drive/walk.h"
#include "wick/abi/backend.h"
#include "wick/abi/ops/matmul.h"

namespace wick::cpu {

/// c[m, n] = sum over k of a[m, k] · b[k, n], for every place in `batch`. Strides are in elements.
struct Product {
  explicit Product(const Call& call);

  DType dtype;
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

/// The functions of a Kernel, on the product that the call describes.
struct MatmulFunctions {
  const char* (*accepts)(const Product& p);  // nullptr: takes every product
  int64 (*scratch_bytes)(const Product& p, const MatmulParts& parts);  // nullptr: none
  Status (*run)(const Product& p, const MatmulParts& parts, const Call& call);
};
/// A Kernel's data: its functions, and the own kernels of its dtype.
struct MatmulData {
  const MatmulFunctions& functions;
  const MatmulParts& parts;
};
/// A Kernel that builds the Product of each call and passes it to data.functions.
Kernel matmul_kernel(const char* name, const MatmulData& data, uint32 flags);

extern const MatmulFunctions kOwnMatmul;
/// Takes a vector by a matrix: our kernels read the matrix once, as it lies, bound by memory.
extern const MatmulFunctions kThinMatmul;
/// Takes what kThinMatmul takes, and products so small that oneDNN's overhead shows.
extern const MatmulFunctions kSmallMatmul;
extern const MatmulFunctions kOneDnnMatmul;    // f32 and bf16
extern const MatmulFunctions kOpenBlasMatmul;  // f64

/// False under WICK_CPU_LIBS=off: own kernels serve everything.
bool libraries_allowed();

}  // namespace wick::cpu
