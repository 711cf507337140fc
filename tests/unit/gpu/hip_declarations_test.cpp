// Our own declarations of HIP against real headers (of ROCm 5, 6 or 7), where the build was given
// some: WICK_HIP_INCLUDE.
#include <gtest/gtest.h>

#if __has_include(<hip/hip_runtime_api.h>)
#define __HIP_PLATFORM_AMD__
#include <hip/hip_runtime_api.h>
#if __has_include(<hip/hip_deprecated.h>)
#include <hip/hip_deprecated.h>
#define WICK_BOTH_LAYOUTS
#endif

#undef hipGetDeviceProperties  // a macro for the versioned one, which our table names itself

#include "alike.h"
#include "runtime/rt_rocm_hip.h"

namespace wick::gpu::hip {
namespace {

#define SAME(function)                                                  \
  static_assert(kAlike<decltype(Api::function), decltype(&::function)>, \
                #function " is declared otherwise")
SAME(hipGetDeviceCount);
SAME(hipGetDevice);
SAME(hipSetDevice);
SAME(hipDeviceGetName);
SAME(hipDeviceGetAttribute);
SAME(hipDeviceTotalMem);
SAME(hipMemGetInfo);
SAME(hipRuntimeGetVersion);
SAME(hipHostFree);
SAME(hipFree);
SAME(hipMemcpyAsync);
SAME(hipMemcpyPeerAsync);
SAME(hipMemsetAsync);
SAME(hipDeviceSynchronize);
SAME(hipStreamCreateWithFlags);
SAME(hipStreamDestroy);
SAME(hipStreamSynchronize);
SAME(hipStreamWaitEvent);
SAME(hipEventCreateWithFlags);
SAME(hipEventDestroy);
SAME(hipEventRecord);
SAME(hipEventQuery);
SAME(hipEventSynchronize);
SAME(hipModuleLoadData);
SAME(hipModuleUnload);
SAME(hipModuleGetFunction);
SAME(hipModuleLaunchKernel);
SAME(hipGetErrorName);
SAME(hipGetErrorString);
SAME(hipGetLastError);
SAME(hipDeviceGetPCIBusId);
SAME(hipStreamBeginCapture);
SAME(hipStreamEndCapture);
SAME(hipStreamIsCapturing);
SAME(hipGraphInstantiate);
SAME(hipGraphLaunch);
SAME(hipGraphDestroy);
SAME(hipGraphExecDestroy);
// The header overloads these two for pointers to other types, so the one meant is picked by its
// type.
[[maybe_unused]] constexpr hipError_t (*kMalloc)(void**, size_t) = &::hipMalloc;
[[maybe_unused]] constexpr hipError_t (*kHostMalloc)(void**, size_t, unsigned) = &::hipHostMalloc;
static_assert(kAlike<decltype(Api::hipMalloc), decltype(kMalloc)>);
static_assert(kAlike<decltype(Api::hipHostMalloc), decltype(kHostMalloc)>);
#undef SAME

static_assert(kSuccess == int(hipSuccess) && kErrorInvalidValue == int(hipErrorInvalidValue));
static_assert(kErrorOutOfMemory == int(hipErrorOutOfMemory) &&
              kErrorNoDevice == int(hipErrorNoDevice));
static_assert(kErrorInvalidImage == int(hipErrorInvalidImage) &&
              kErrorNoBinaryForGpu == int(hipErrorNoBinaryForGpu));
static_assert(kErrorNotFound == int(hipErrorNotFound) && kErrorNotReady == int(hipErrorNotReady));
static_assert(kAttributeIntegrated == int(hipDeviceAttributeIntegrated));
static_assert(kAttributeMultiprocessorCount == int(hipDeviceAttributeMultiprocessorCount));
static_assert(kAttributeMaxSharedMemoryPerBlock == int(hipDeviceAttributeMaxSharedMemoryPerBlock));
static_assert(kHostToDevice == int(hipMemcpyHostToDevice) &&
              kDeviceToHost == int(hipMemcpyDeviceToHost));
static_assert(kDeviceToDevice == int(hipMemcpyDeviceToDevice));
static_assert(kStreamNonBlocking == hipStreamNonBlocking &&
              kEventDisableTiming == hipEventDisableTiming);
static_assert(kCaptureRelaxed == int(hipStreamCaptureModeRelaxed));

#if defined(WICK_BOTH_LAYOUTS)  // ROCm 6 and newer
static_assert(offsetof(hipDeviceProp_tR0600, gcnArchName) == kArchNameOffsetR0600);
static_assert(offsetof(hipDeviceProp_tR0000, gcnArchName) == kArchNameOffsetR0000);
static_assert(sizeof(hipDeviceProp_tR0600) <= sizeof(Properties));
static_assert(sizeof(hipDeviceProp_tR0600::gcnArchName) == kArchNameSize);
#else  // ROCm 5
static_assert(offsetof(hipDeviceProp_t, gcnArchName) == kArchNameOffsetR0000);
static_assert(sizeof(hipDeviceProp_t) <= sizeof(Properties));
#endif

TEST(HipDeclarations, AreThoseOfTheHeaders) {
  std::printf("compared with the headers of HIP %d.%d\n", HIP_VERSION_MAJOR, HIP_VERSION_MINOR);
}

}  // namespace
}  // namespace wick::gpu::hip

#else

TEST(HipDeclarations, AreThoseOfTheHeaders) {
  GTEST_SKIP() << "built without HIP's headers: set WICK_HIP_INCLUDE";
}

#endif
