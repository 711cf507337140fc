// cuBLASLt and hipBLASLt, two libraries of one interface that differ in their numbers.
#pragma once
#include "libraries/vendor_library.h"
#include "runtime/find_library.h"

namespace wick::gpu {

/// The numbers of a library's interface. Sources: the headers of CUDA 12 and 13 and of ROCm 6 and 7.
struct BlasLtNumbers {
  const char* title;   // "cuBLASLt"
  const char* prefix;  // of its functions: "cublasLt"
  int operation_plain, operation_transposed;
  int compute_f32, compute_tf32, compute_f64;
  int desc_transpose_a, desc_transpose_b;
  int desc_epilogue, desc_bias;
  int epilogue_bias;
  int layout_batch_count, layout_batch_step;
  int preference_workspace;
  int preference_reduction;  // -1: the library has no such preference
  int preference_alignment;  // of a; those of b, c and d follow. -1: it has none
  int algorithm_bytes;       // of its descriptor of an algorithm
  int not_supported;         // the status
};
extern const BlasLtNumbers kCublasLt;
extern const BlasLtNumbers kHipblasLt;

namespace blas_lt {

/// The functions used. 0 is success in both libraries.
struct Api {
  int (*Create)(void** handle);
  int (*MatmulDescCreate)(void** desc, int compute, int scale);
  int (*MatmulDescDestroy)(void* desc);
  int (*MatmulDescSetAttribute)(void* desc, int attribute, const void* value, size_t bytes);
  int (*MatrixLayoutCreate)(void** layout, int type, uint64 rows, uint64 columns, int64 leading);
  int (*MatrixLayoutDestroy)(void* layout);
  int (*MatrixLayoutSetAttribute)(void* layout, int attribute, const void* value, size_t bytes);
  int (*MatmulPreferenceCreate)(void** preference);
  int (*MatmulPreferenceDestroy)(void* preference);
  int (*MatmulPreferenceSetAttribute)(void* preference, int attribute, const void* value,
                                      size_t bytes);
  int (*MatmulAlgoGetHeuristic)(void* handle, void* desc, void* a, void* b, void* c, void* d,
                                void* preference, int asked, void* results, int* found);
  int (*Matmul)(void* handle, void* desc, const void* alpha, const void* a, void* a_layout,
                const void* b, void* b_layout, const void* beta, const void* c, void* c_layout,
                void* d, void* d_layout, const void* algorithm, void* workspace,
                size_t workspace_bytes, void* stream);
};

}  // namespace blas_lt

/// Opens the library for the current device.
std::unique_ptr<VendorLibrary> open_blas_lt(const BlasLtNumbers&, const Library&,
                                            const std::string& beside, Failure*);

}  // namespace wick::gpu
