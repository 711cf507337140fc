// The current compiler pass and its target architecture. No other file tests for them.
#pragma once
#include "wick/abi/marks.h"

#if defined(__HIP__)  // clang -x hip, hipRTC: one pass per target, one for the host
#define WICK_AMD
#elif defined(__CUDACC__)  // nvcc, NVRTC
#define WICK_NVIDIA
#else  // any host compiler
#define WICK_EMULATED
#endif
// WICK_INLINE marks a device function whose arguments must be registers, however long its body is.
// WICK_UNROLL precedes a loop whose arrays must be registers, however long its body is; WICK_ROLL one
// that would take registers from others if it were unrolled.
#if defined(WICK_EMULATED)
#define WICK_DEVICE
#define WICK_INLINE
#define WICK_UNROLL
#define WICK_ROLL
#else
#define WICK_KERNEL __attribute__((global))
#define WICK_DEVICE __attribute__((device))
#define WICK_INLINE __attribute__((device, always_inline)) inline
#define WICK_UNROLL _Pragma("unroll")
#define WICK_ROLL _Pragma("unroll 1")
#endif

namespace wick::gpu {

/// Architecture families with different kernels. A device belongs to one family; a kernel supports a
/// set of them.
enum Family : unsigned {
  kGfx9 = 1,    // gfx906, gfx908 (its bf16 MFMA is another instruction), gfx9-generic: wave 64, no
                // matrix kernels
  kCdna2 = 2,   // gfx90a: MFMA
  kCdna3 = 4,   // gfx942, gfx9-4-generic, gfx950: MFMA
  kRdna2 = 8,   // gfx101x and gfx103x: wave 32
  kRdna3 = 16,  // gfx11xx: WMMA
  kRdna4 = 32,  // gfx12xx: WMMA
  kSm75 = 64,   // Turing: no bf16 mma.sync
  kSm80 = 128,  // Ampere and up: mma.sync m16n8k16
  kEmulated = 256,
};
inline constexpr unsigned kAllFamilies = 511;
#if defined(WICK_MATRIX_NONE)
inline constexpr unsigned kMatrixFamilies = 0;
#else
inline constexpr unsigned kMatrixFamilies = kCdna2 | kCdna3 | kRdna3 | kRdna4 | kSm80 | kEmulated;
#endif
/// Those whose matrix units multiply f64.
inline constexpr unsigned kDoubleMatrixFamilies =
    kMatrixFamilies & (kCdna2 | kCdna3 | kSm80 | kEmulated);

/// The families that this pass compiles for; the host pass sees every kernel. WICK_MATRIX_NONE builds
/// a target without its matrix instructions, to run the kernels of cards that have none.
#if defined(WICK_EMULATED)
inline constexpr unsigned kPassFamilies = kEmulated;
#elif !defined(WICK_DEVICE_PASS)
inline constexpr unsigned kPassFamilies = kAllFamilies;
#elif defined(WICK_AMD)
#if defined(__gfx942__) || defined(__gfx950__) || defined(__gfx9_4_generic__)
inline constexpr unsigned kPassFamilies = kCdna3;
#elif defined(__gfx90a__)
inline constexpr unsigned kPassFamilies = kCdna2;
#elif defined(__GFX9__)
inline constexpr unsigned kPassFamilies = kGfx9;
#elif defined(__GFX10__)
inline constexpr unsigned kPassFamilies = kRdna2;
#elif defined(__GFX11__)
inline constexpr unsigned kPassFamilies = kRdna3;
#elif defined(__GFX12__)
inline constexpr unsigned kPassFamilies = kRdna4;
#else
#error "no family for this gfx target"
#endif
#elif __CUDA_ARCH__ >= 800
inline constexpr unsigned kPassFamilies = kSm80;
#else
inline constexpr unsigned kPassFamilies = kSm75;
#endif

#if defined(WICK_AMD) && defined(__GFX9__)
inline constexpr int kDeviceWave = 64;
#else  // the host pass instantiates no body
inline constexpr int kDeviceWave = 32;
#endif

}  // namespace wick::gpu
