// What wick asks of a vendor's library. blas_lt.cpp (cuBLASLt, hipBLASLt), rocblas.cpp, cudnn.cpp and
// miopen.cpp each implement it by functions that they look up in the opened file: nothing is linked.
#pragma once
#include <memory>
#include <string>

#include "runtime/failure.h"
#include "wick/abi/backend.h"
#include "wick/abi/ops/conv.h"

namespace wick::gpu {

/// The ops that libraries serve.
enum class LibraryWork : uint8 {
  kProduct,
  kLinearProduct,  // with a bias or a residual, or both, and an activation that wick adds
  kConvolution,
  kInputGradient,
  kWeightGradient
};
inline constexpr int kLibraryWorks = 5;
constexpr bool is_product(LibraryWork work) {
  return work == LibraryWork::kProduct || work == LibraryWork::kLinearProduct;
}

/// A matrix as BLAS has it: column by column, `leading` elements from one to the next.
struct BlasMatrix {
  const void* data;
  int64 leading;
  int64 batch_step;  // in elements
  bool transposed;   // the product takes the transpose of what is in memory
};

/// c = a b for every batch, plus bias[row] if there is a bias, plus the residual if there is one. c is [rows,
/// columns], a [rows, inner], b [inner, columns]; sums in f32, of f64 in f64.
struct BlasProduct {
  DType dtype;
  bool tf32;  // f32 operands may be rounded to TF32
  int64 rows, columns, inner, batches;
  BlasMatrix a, b, c;
  const void* bias;      // nullptr: none; only for libraries that add it
  const void* residual;  // lies as c; nullptr: none; only for libraries that add a bias
};

/// A convolution or one of its gradients: x [N, C, H, W], weight [O, C / groups, KH, KW], contiguous, and
/// y [N, O, OH, OW]. The output is contiguous.
struct LibraryConvolution {
  LibraryWork work;
  DType dtype;
  bool tf32;
  View x, weight, y;
  ConvAttributes attributes;
};

/// Where a library computes.
struct LibraryPlace {
  void* stream;  // the vendor's
  void* workspace;
  int64 workspace_bytes;
};

/// A library on one device, which is current in the thread for every call. Calls may come from several
/// threads.
class VendorLibrary {
 public:
  virtual ~VendorLibrary() = default;
  /// Name, version and file: "cuBLASLt 13.0.2 (/usr/local/cuda/lib64/libcublasLt.so.13)".
  virtual std::string describe() const = 0;

  /// Bytes of workspace for the call, or -1 if the library has no algorithm for it.
  virtual int64 workspace_bytes(const BlasProduct&) { return -1; }
  virtual int64 workspace_bytes(const LibraryConvolution&) { return -1; }
  /// Enqueues the call. kUnsupported: the library has no algorithm for it.
  virtual Failure run(const BlasProduct&, const LibraryPlace&) {
    return {StatusCode::kUnsupported, "products are not served"};
  }
  virtual Failure run(const LibraryConvolution&, const LibraryPlace&) {
    return {StatusCode::kUnsupported, "convolutions are not served"};
  }
};

/// A library of this module's vendor, not opened yet.
struct LibraryKind {
  const char* name;   // in WICK_GPU_LIBS and kernels' names: "cublaslt"
  const char* title;  // "cuBLASLt"
  bool serves_products;
  bool adds_bias;  // to a product, in its epilogue, and a residual
  bool serves_convolutions;
  bool has_tf32;       // can round f32 operands to TF32
  bool only_if_named;  // not part of WICK_GPU_LIBS=auto
  /// Opens it for a device, which is current. Returns nullptr with the reason in *failure.
  std::unique_ptr<VendorLibrary> (*open)(const DeviceInfo&, Failure* failure);
};

/// The module's libraries, in order of preference (vendors_cuda.cpp, vendors_rocm.cpp).
extern const LibraryKind* const kLibraries;
extern const int kNumLibraries;

}  // namespace wick::gpu
