// The text that hipRTC and NVRTC compile before each source of kernels, so that one source serves
// both without includes.
//
// Waves: warpSize is 32 on NVIDIA and on AMD's RDNA (gfx10 and later), 64 on AMD's GCN and CDNA
// (gfx9). The shuffles' width defaults to warpSize, as in HIP, and their mask is not read on AMD: all
// threads of the wave that reach a shuffle take part. A source that is written for groups of 32
// threads passes width 32 and is right on both; one that reduces a whole wave steps from
// warpSize / 2 downward.
#pragma once

namespace wick::gpu {

// Sources: HIP's release notes 7.0 (hipRTC no longer defines the integers outside of __hip_internal;
// earlier releases define the same types), HIP's header of warp functions since ROCm 6.2 (__shfl_sync
// takes 64-bit masks only; earlier releases have none), the vendors' headers of integers (64-bit
// integers are long long). The macros hide the functions of the newer header, which precede them.
inline constexpr char kKernelPreamble[] = R"(
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
#if defined(__HIPCC_RTC__)
typedef decltype(sizeof 0) size_t;
#define __shfl_sync(mask, ...) (static_cast<void>(mask), __shfl(__VA_ARGS__))
#define __shfl_up_sync(mask, ...) (static_cast<void>(mask), __shfl_up(__VA_ARGS__))
#define __shfl_down_sync(mask, ...) (static_cast<void>(mask), __shfl_down(__VA_ARGS__))
#define __shfl_xor_sync(mask, ...) (static_cast<void>(mask), __shfl_xor(__VA_ARGS__))
#define __ballot_sync(mask, ...) (static_cast<void>(mask), __ballot(__VA_ARGS__))
#define __any_sync(mask, ...) (static_cast<void>(mask), __any(__VA_ARGS__))
#define __all_sync(mask, ...) (static_cast<void>(mask), __all(__VA_ARGS__))
#endif
)";

}  // namespace wick::gpu
