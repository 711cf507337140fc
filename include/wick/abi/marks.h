// Function annotations and fixed-width integers shared by all compilers. Freestanding: the device
// compilers (clang for AMD, hipRTC, nvcc, NVRTC) read this file too, so it includes no header.
#pragma once

#if defined(__HIP__) || defined(__CUDACC__)
/// Compiles the function for both host and device.
#define WICK_HD __attribute__((host, device))
#elif defined(WICK_ISA)
/// Host code that is compiled once per instruction set (backends/cpu) is always inlined: the linker
/// could otherwise keep a weak copy built with wider instructions for all of them.
#define WICK_HD inline __attribute__((always_inline))
#else
#define WICK_HD
#endif

/// Precedes a table, `uint16 kTable[] = {...};`, that code for every device reads. In device code
/// it is global memory, once in each object.
// nvcc's host pass may not read a __device__ variable, so that only the device pass has one.
#if defined(__CUDA_ARCH__)
#define WICK_TABLE static constexpr __attribute__((device))
#else  // clang makes a constexpr array that HIP's device code reads a device's
#define WICK_TABLE inline constexpr
#endif

#if defined(__HIP_DEVICE_COMPILE__) || defined(__CUDA_ARCH__)
/// Defined when the current compiler pass generates device code.
#define WICK_DEVICE_PASS
#endif

namespace wick {

// Identical to the <cstdint> types when the compiler defines them.
using int8 = signed char;
using uint8 = unsigned char;
using int16 = short;
using uint16 = unsigned short;
using int32 = int;
using uint32 = unsigned;
#if defined(__INT64_TYPE__)
using int64 = __INT64_TYPE__;
using uint64 = __UINT64_TYPE__;
#else
using int64 = long long;
using uint64 = unsigned long long;
#endif

/// A list of types. Iterate on the host with `for_each(List{}, [&]<class T>() {...})`.
template <class... T>
struct TypeList {
  static constexpr int kSize = sizeof...(T);
};

template <class A, class B>
struct JoinedOf;
template <class... A, class... B>
struct JoinedOf<TypeList<A...>, TypeList<B...>> {
  using type = TypeList<A..., B...>;
};
/// The concatenation of two lists.
template <class A, class B>
using Joined = typename JoinedOf<A, B>::type;

template <class... T, class F>
constexpr void for_each(TypeList<T...>, F&& f) {
  (f.template operator()<T>(), ...);
}

/// A string literal as a template argument: template <Text name> f(); f<"x">().
template <int n>
struct Text {
  char chars[n];
  constexpr Text(const char (&text)[n]) {
    for (int i = 0; i < n; i++) chars[i] = text[i];
  }
};

template <class A, class B>
inline constexpr bool kSame = false;
template <class A>
inline constexpr bool kSame<A, A> = true;

}  // namespace wick
