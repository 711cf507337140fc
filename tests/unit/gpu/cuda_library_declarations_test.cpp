// Our own declarations of cuBLASLt and cuDNN against the real headers, where those are installed in CUDA's
// folder: WICK_NVRTC_INCLUDE.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdio>

#include "alike.h"
#include "libraries/blas_lt.h"
#include "libraries/collectives.h"
#include "libraries/cudnn.h"

#define SAME(ours, theirs)                                                   \
  static_assert(wick::gpu::kAlike<decltype(Api::ours), decltype(&::theirs)>, \
                #theirs " is declared otherwise")

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>
namespace wick::gpu::blas_lt {
SAME(Create, cublasLtCreate);
SAME(MatmulDescCreate, cublasLtMatmulDescCreate);
SAME(MatmulDescDestroy, cublasLtMatmulDescDestroy);
SAME(MatmulDescSetAttribute, cublasLtMatmulDescSetAttribute);
SAME(MatrixLayoutCreate, cublasLtMatrixLayoutCreate);
SAME(MatrixLayoutDestroy, cublasLtMatrixLayoutDestroy);
SAME(MatrixLayoutSetAttribute, cublasLtMatrixLayoutSetAttribute);
SAME(MatmulPreferenceCreate, cublasLtMatmulPreferenceCreate);
SAME(MatmulPreferenceDestroy, cublasLtMatmulPreferenceDestroy);
SAME(MatmulPreferenceSetAttribute, cublasLtMatmulPreferenceSetAttribute);
SAME(MatmulAlgoGetHeuristic, cublasLtMatmulAlgoGetHeuristic);
SAME(Matmul, cublasLtMatmul);
static_assert(offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize) ==
              sizeof(cublasLtMatmulAlgo_t));
static_assert(offsetof(cublasLtMatmulHeuristicResult_t, state) ==
              sizeof(cublasLtMatmulAlgo_t) + sizeof(size_t));
static_assert(sizeof(cublasLtMatmulHeuristicResult_t) <= 256);
}  // namespace wick::gpu::blas_lt
TEST(CublasLtDeclarations, AreThoseOfTheHeader) {
  const wick::gpu::BlasLtNumbers& n = wick::gpu::kCublasLt;
  EXPECT_EQ(n.operation_plain, int(CUBLAS_OP_N));
  EXPECT_EQ(n.operation_transposed, int(CUBLAS_OP_T));
  EXPECT_EQ(n.compute_f32, int(CUBLAS_COMPUTE_32F));
  EXPECT_EQ(n.compute_tf32, int(CUBLAS_COMPUTE_32F_FAST_TF32));
  EXPECT_EQ(n.compute_f64, int(CUBLAS_COMPUTE_64F));
  EXPECT_EQ(n.desc_transpose_a, int(CUBLASLT_MATMUL_DESC_TRANSA));
  EXPECT_EQ(n.desc_transpose_b, int(CUBLASLT_MATMUL_DESC_TRANSB));
  EXPECT_EQ(n.desc_epilogue, int(CUBLASLT_MATMUL_DESC_EPILOGUE));
  EXPECT_EQ(n.desc_bias, int(CUBLASLT_MATMUL_DESC_BIAS_POINTER));
  EXPECT_EQ(n.epilogue_bias, int(CUBLASLT_EPILOGUE_BIAS));
  EXPECT_EQ(n.layout_batch_count, int(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT));
  EXPECT_EQ(n.layout_batch_step, int(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET));
  EXPECT_EQ(n.preference_workspace, int(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES));
  EXPECT_EQ(n.preference_reduction, int(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK));
  EXPECT_EQ(n.preference_alignment, int(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES));
  EXPECT_EQ(n.preference_alignment + 3, int(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES));
  EXPECT_EQ(n.algorithm_bytes, int(sizeof(cublasLtMatmulAlgo_t)));
  EXPECT_EQ(n.not_supported, int(CUBLAS_STATUS_NOT_SUPPORTED));
  std::puts("compared with cublasLt.h");
}
#else
TEST(CublasLtDeclarations, AreThoseOfTheHeader) {
  GTEST_SKIP() << "built without cuBLASLt's header: set WICK_NVRTC_INCLUDE";
}
#endif

#if __has_include(<cudnn.h>)
#undef CUDNN_WARN_DEPRECATED
#include <cudnn.h>
namespace wick::gpu::cudnn {
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
SAME(GetVersion, cudnnGetVersion);
SAME(GetErrorString, cudnnGetErrorString);
SAME(Create, cudnnCreate);
SAME(SetStream, cudnnSetStream);
SAME(CreateTensorDescriptor, cudnnCreateTensorDescriptor);
SAME(DestroyTensorDescriptor, cudnnDestroyTensorDescriptor);
SAME(SetTensor4dDescriptorEx, cudnnSetTensor4dDescriptorEx);
SAME(CreateFilterDescriptor, cudnnCreateFilterDescriptor);
SAME(DestroyFilterDescriptor, cudnnDestroyFilterDescriptor);
SAME(SetFilter4dDescriptor, cudnnSetFilter4dDescriptor);
SAME(CreateConvolutionDescriptor, cudnnCreateConvolutionDescriptor);
SAME(DestroyConvolutionDescriptor, cudnnDestroyConvolutionDescriptor);
SAME(SetConvolution2dDescriptor, cudnnSetConvolution2dDescriptor);
SAME(SetConvolutionGroupCount, cudnnSetConvolutionGroupCount);
SAME(SetConvolutionMathType, cudnnSetConvolutionMathType);
SAME(GetConvolutionForwardAlgorithm_v7, cudnnGetConvolutionForwardAlgorithm_v7);
SAME(GetConvolutionBackwardDataAlgorithm_v7, cudnnGetConvolutionBackwardDataAlgorithm_v7);
SAME(GetConvolutionBackwardFilterAlgorithm_v7, cudnnGetConvolutionBackwardFilterAlgorithm_v7);
SAME(ConvolutionForward, cudnnConvolutionForward);
SAME(ConvolutionBackwardData, cudnnConvolutionBackwardData);
SAME(ConvolutionBackwardFilter, cudnnConvolutionBackwardFilter);
static_assert(sizeof(Algorithm) == sizeof(cudnnConvolutionFwdAlgoPerf_t));
static_assert(sizeof(Algorithm) == sizeof(cudnnConvolutionBwdDataAlgoPerf_t));
static_assert(sizeof(Algorithm) == sizeof(cudnnConvolutionBwdFilterAlgoPerf_t));
static_assert(offsetof(Algorithm, workspace_bytes) ==
              offsetof(cudnnConvolutionFwdAlgoPerf_t, memory));
static_assert(offsetof(Algorithm, determinism) ==
              offsetof(cudnnConvolutionFwdAlgoPerf_t, determinism));
static_assert(offsetof(Algorithm, math) == offsetof(cudnnConvolutionFwdAlgoPerf_t, mathType));
static_assert(kCrossCorrelation == int(CUDNN_CROSS_CORRELATION) && kNchw == int(CUDNN_TENSOR_NCHW));
static_assert(kTensorOpMath == int(CUDNN_TENSOR_OP_MATH) && kFmaMath == int(CUDNN_FMA_MATH));
static_assert(kAllowConversion == int(CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION));
static_assert(kDeterministic == int(CUDNN_DETERMINISTIC));
}  // namespace wick::gpu::cudnn
TEST(CudnnDeclarations, AreThoseOfTheHeader) { std::puts("compared with cudnn.h"); }
#else
TEST(CudnnDeclarations, AreThoseOfTheHeader) {
  GTEST_SKIP() << "built without cuDNN's header: set WICK_NVRTC_INCLUDE";
}
#endif

#if __has_include(<nccl.h>)
#include <nccl.h>
namespace wick::gpu::nccl {
SAME(GetVersion, ncclGetVersion);
SAME(GetErrorString, ncclGetErrorString);
SAME(GetUniqueId, ncclGetUniqueId);
SAME(CommDestroy, ncclCommDestroy);
SAME(CommAbort, ncclCommAbort);
SAME(CommGetAsyncError, ncclCommGetAsyncError);
SAME(AllReduce, ncclAllReduce);
SAME(ReduceScatter, ncclReduceScatter);
SAME(AllGather, ncclAllGather);
SAME(Broadcast, ncclBroadcast);
SAME(Send, ncclSend);
SAME(Recv, ncclRecv);
SAME(GroupStart, ncclGroupStart);
SAME(GroupEnd, ncclGroupEnd);
// ncclCommInitRank takes a struct.
static_assert(sizeof(UniqueId) == sizeof(ncclUniqueId));
static_assert(kSuccess == int(ncclSuccess));
static_assert(kInt8 == int(ncclInt8) && kUint8 == int(ncclUint8) && kInt32 == int(ncclInt32) &&
              kUint32 == int(ncclUint32) && kInt64 == int(ncclInt64) &&
              kUint64 == int(ncclUint64) && kFloat16 == int(ncclFloat16) &&
              kFloat32 == int(ncclFloat32) && kFloat64 == int(ncclFloat64) &&
              kBfloat16 == int(ncclBfloat16));
static_assert(kSum == int(ncclSum) && kMax == int(ncclMax) && kMin == int(ncclMin) &&
              kAvg == int(ncclAvg));
}  // namespace wick::gpu::nccl
TEST(NcclDeclarations, AreThoseOfTheHeader) { std::puts("compared with nccl.h"); }
#else
TEST(NcclDeclarations, AreThoseOfTheHeader) {
  GTEST_SKIP() << "built without NCCL's header, which is not in the folder of the others";
}
#endif
