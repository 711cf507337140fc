// Our own declarations of rocBLAS, MIOpen and hipBLASLt against the real headers, where those are installed:
// WICK_HIP_INCLUDE.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdio>

#include "alike.h"
#include "libraries/blas_lt.h"
#include "libraries/collectives.h"
#include "libraries/miopen.h"
#include "libraries/rocblas.h"

#define SAME(ours, theirs)                                                   \
  static_assert(wick::gpu::kAlike<decltype(Api::ours), decltype(&::theirs)>, \
                #theirs " is declared otherwise")

#if __has_include(<rocblas/rocblas.h>)
#define __HIP_PLATFORM_AMD__
#include <rocblas/rocblas.h>
namespace wick::gpu::rocblas {
SAME(create_handle, rocblas_create_handle);
SAME(set_stream, rocblas_set_stream);
SAME(set_atomics_mode, rocblas_set_atomics_mode);
SAME(status_to_string, rocblas_status_to_string);
SAME(get_version_string, rocblas_get_version_string);
SAME(gemm, rocblas_gemm_strided_batched_ex);
static_assert(kNotImplemented == int(rocblas_status_not_implemented));
static_assert(kOperationNone == int(rocblas_operation_none));
static_assert(kOperationTranspose == int(rocblas_operation_transpose));
static_assert(kAtomicsNotAllowed == int(rocblas_atomics_not_allowed));
}  // namespace wick::gpu::rocblas
TEST(RocblasDeclarations, AreThoseOfTheHeader) { std::puts("compared with rocblas.h"); }
#else
TEST(RocblasDeclarations, AreThoseOfTheHeader) {
  GTEST_SKIP() << "built without rocBLAS's header: set WICK_HIP_INCLUDE";
}
#endif

#if __has_include(<miopen/miopen.h>)
#define __HIP_PLATFORM_AMD__
#include <miopen/miopen.h>
namespace wick::gpu::miopen {
SAME(GetErrorString, miopenGetErrorString);
SAME(GetVersion, miopenGetVersion);
SAME(Create, miopenCreate);
SAME(SetStream, miopenSetStream);
SAME(CreateTensorDescriptor, miopenCreateTensorDescriptor);
SAME(DestroyTensorDescriptor, miopenDestroyTensorDescriptor);
SAME(Set4dTensorDescriptorEx, miopenSet4dTensorDescriptorEx);
SAME(CreateConvolutionDescriptor, miopenCreateConvolutionDescriptor);
SAME(DestroyConvolutionDescriptor, miopenDestroyConvolutionDescriptor);
SAME(InitConvolutionDescriptor, miopenInitConvolutionDescriptor);
SAME(SetConvolutionGroupCount, miopenSetConvolutionGroupCount);
SAME(SetConvolutionAttribute, miopenSetConvolutionAttribute);
static_assert(kAlike<GetSolutions, decltype(&miopenConvolutionForwardGetSolution)>);
static_assert(kAlike<GetSolutions, decltype(&miopenConvolutionBackwardDataGetSolution)>);
static_assert(kAlike<GetSolutions, decltype(&miopenConvolutionBackwardWeightsGetSolution)>);
static_assert(kAlike<Immediate, decltype(&miopenConvolutionForwardImmediate)>);
static_assert(kAlike<Immediate, decltype(&miopenConvolutionBackwardDataImmediate)>);
static_assert(kAlike<Immediate, decltype(&miopenConvolutionBackwardWeightsImmediate)>);
static_assert(sizeof(Solution) == sizeof(miopenConvSolution_t));
static_assert(offsetof(Solution, id) == offsetof(miopenConvSolution_t, solution_id));
static_assert(offsetof(Solution, algorithm) == offsetof(miopenConvSolution_t, algorithm));
static_assert(kConvolution == int(miopenConvolution));
static_assert(kAttributeDeterministic == int(MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC));
static_assert(kNotImplemented == int(miopenStatusNotImplemented));
static_assert(kUnsupportedOp == int(miopenStatusUnsupportedOp));
}  // namespace wick::gpu::miopen
TEST(MiopenDeclarations, AreThoseOfTheHeader) { std::puts("compared with miopen.h"); }
#else
TEST(MiopenDeclarations, AreThoseOfTheHeader) {
  GTEST_SKIP() << "built without MIOpen's header: set WICK_HIP_INCLUDE";
}
#endif

#if __has_include(<hipblaslt/hipblaslt.h>) && __has_include(<hipblas-common/hipblas-common.h>)
#define __HIP_PLATFORM_AMD__
#include <hipblaslt/hipblaslt.h>
namespace wick::gpu::blas_lt {
SAME(MatmulAlgoGetHeuristic, hipblasLtMatmulAlgoGetHeuristic);
SAME(Matmul, hipblasLtMatmul);
}  // namespace wick::gpu::blas_lt
TEST(HipblasLtDeclarations, AreThoseOfTheHeader) {
  const wick::gpu::BlasLtNumbers& n = wick::gpu::kHipblasLt;
  EXPECT_EQ(n.operation_plain, int(HIPBLAS_OP_N));
  EXPECT_EQ(n.operation_transposed, int(HIPBLAS_OP_T));
  EXPECT_EQ(n.compute_f32, int(HIPBLAS_COMPUTE_32F));
  EXPECT_EQ(n.compute_f64, int(HIPBLAS_COMPUTE_64F));
  EXPECT_EQ(n.desc_transpose_a, int(HIPBLASLT_MATMUL_DESC_TRANSA));
  EXPECT_EQ(n.desc_transpose_b, int(HIPBLASLT_MATMUL_DESC_TRANSB));
  EXPECT_EQ(n.desc_epilogue, int(HIPBLASLT_MATMUL_DESC_EPILOGUE));
  EXPECT_EQ(n.desc_bias, int(HIPBLASLT_MATMUL_DESC_BIAS_POINTER));
  EXPECT_EQ(n.epilogue_bias, int(HIPBLASLT_EPILOGUE_BIAS));
  EXPECT_EQ(n.layout_batch_count, int(HIPBLASLT_MATRIX_LAYOUT_BATCH_COUNT));
  EXPECT_EQ(n.layout_batch_step, int(HIPBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET));
  EXPECT_EQ(n.preference_workspace, int(HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES));
  EXPECT_EQ(n.algorithm_bytes, int(sizeof(hipblasLtMatmulAlgo_t)));
  EXPECT_EQ(n.not_supported, int(HIPBLAS_STATUS_NOT_SUPPORTED));
  std::puts("compared with hipblaslt.h");
}
#else
TEST(HipblasLtDeclarations, AreThoseOfTheHeader) {
  GTEST_SKIP() << "built without hipBLASLt's header: set WICK_HIP_INCLUDE";
}
#endif

#if __has_include(<rccl/rccl.h>)
#define __HIP_PLATFORM_AMD__
#include <rccl/rccl.h>
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
TEST(RcclDeclarations, AreThoseOfTheHeader) { std::puts("compared with rccl.h"); }
#else
TEST(RcclDeclarations, AreThoseOfTheHeader) {
  GTEST_SKIP() << "built without RCCL's header, which is not in the folder of the others";
}
#endif
