// Our own declarations of NVRTC and hipRTC against the real headers, where those are installed:
// WICK_NVRTC_INCLUDE, WICK_HIP_INCLUDE.
#include <gtest/gtest.h>

#include <cstdio>

#include "alike.h"
#include "runtime/kernel_compiler.h"

#define SAME(ours, theirs)                                                   \
  static_assert(wick::gpu::kAlike<decltype(Api::ours), decltype(&::theirs)>, \
                #theirs " is declared otherwise")

#if __has_include(<nvrtc.h>)
#include <nvrtc.h>
namespace wick::gpu::rtc {
SAME(GetErrorString, nvrtcGetErrorString);
SAME(Version, nvrtcVersion);
SAME(CreateProgram, nvrtcCreateProgram);
SAME(CompileProgram, nvrtcCompileProgram);
SAME(DestroyProgram, nvrtcDestroyProgram);
SAME(GetProgramLogSize, nvrtcGetProgramLogSize);
SAME(GetProgramLog, nvrtcGetProgramLog);
SAME(GetCodeSize, nvrtcGetCUBINSize);
SAME(GetCode, nvrtcGetCUBIN);
SAME(GetPTXSize, nvrtcGetPTXSize);
SAME(GetPTX, nvrtcGetPTX);
SAME(GetNumSupportedArchs, nvrtcGetNumSupportedArchs);
SAME(GetSupportedArchs, nvrtcGetSupportedArchs);
static_assert(kSuccess == int(NVRTC_SUCCESS) &&
              kErrorOutOfMemory == int(NVRTC_ERROR_OUT_OF_MEMORY));
static_assert(kErrorInvalidOption == int(NVRTC_ERROR_INVALID_OPTION));
static_assert(kErrorCompilation == int(NVRTC_ERROR_COMPILATION));
}  // namespace wick::gpu::rtc
TEST(NvrtcDeclarations, AreThoseOfTheHeader) { std::puts("compared with nvrtc.h"); }
#else
TEST(NvrtcDeclarations, AreThoseOfTheHeader) {
  GTEST_SKIP() << "built without NVRTC's header: set WICK_NVRTC_INCLUDE";
}
#endif

#if __has_include(<hip/hiprtc.h>)
#define __HIP_PLATFORM_AMD__
#include <hip/hiprtc.h>
namespace wick::gpu::rtc {
SAME(GetErrorString, hiprtcGetErrorString);
SAME(Version, hiprtcVersion);
SAME(CreateProgram, hiprtcCreateProgram);
SAME(CompileProgram, hiprtcCompileProgram);
SAME(DestroyProgram, hiprtcDestroyProgram);
SAME(GetProgramLogSize, hiprtcGetProgramLogSize);
SAME(GetProgramLog, hiprtcGetProgramLog);
SAME(GetCodeSize, hiprtcGetCodeSize);
SAME(GetCode, hiprtcGetCode);
static_assert(kSuccess == int(HIPRTC_SUCCESS) &&
              kErrorOutOfMemory == int(HIPRTC_ERROR_OUT_OF_MEMORY));
static_assert(kErrorInvalidOption == int(HIPRTC_ERROR_INVALID_OPTION));
static_assert(kErrorCompilation == int(HIPRTC_ERROR_COMPILATION));
}  // namespace wick::gpu::rtc
TEST(HiprtcDeclarations, AreThoseOfTheHeader) { std::puts("compared with hip/hiprtc.h"); }
#else
TEST(HiprtcDeclarations, AreThoseOfTheHeader) {
  GTEST_SKIP() << "built without HIP's headers: set WICK_HIP_INCLUDE";
}
#endif
