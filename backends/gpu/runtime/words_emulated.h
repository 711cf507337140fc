// The words of HIP and CUDA for kernels that the emulator compiles at run time: built-in variables,
// barriers, wave operations, atomics, mathematics. This file is not included: its text precedes the
// kernel's source (source_emulated.cpp).
//
// A thread of a block is a fiber, and a block's fibers run in one thread of the system, whose
// thread-local memory is the block's shared memory.
#pragma once
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <type_traits>
#include <utility>

#include "runtime/source_kernel.h"

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

namespace wick::words {

struct Thread {
  const gpu::emu::SourceThread* from;
  uint3 thread_index, block_index;
  dim3 block_size, grid_size;

  int number() const { return from->thread; }
  int lane() const { return from->thread & (from->wave - 1); }
};
/// The tag keeps it out of .tbss, which is shared memory.
struct Current {
  const Thread* thread;
  int tag;
};
static thread_local Current current = {nullptr, 1};
inline const Thread& here() { return *current.thread; }

// In check mode the compiler calls a function before each access to memory, as it does for the thread
// sanitizer; what follows the accesses itself must not be watched.
#if defined(WICK_WATCHED)
#if defined(__clang__)
#define WICK_UNWATCHED __attribute__((disable_sanitizer_instrumentation))
#else
#define WICK_UNWATCHED __attribute__((no_sanitize_thread))
#endif
WICK_UNWATCHED inline void access(const void* data, int bytes, bool writes) {
  const Thread* const thread = current.thread;
  if (thread && thread->from->watch)
    thread->from->operations->access(*thread->from, data, bytes, writes);
}
WICK_UNWATCHED inline void order(char how) {
  const Thread* const thread = current.thread;
  if (thread && thread->from->watch) thread->from->operations->order(*thread->from, how);
}
#else
#define WICK_UNWATCHED
inline void order(char) {}
#endif

/// Restores the running thread when it goes on after others have run.
struct Resume {
  const Thread* thread = current.thread;
  ~Resume() { current.thread = thread; }
};

struct SourceLine {
  const char* file;
  int line;
};

inline unsigned long long lanes_here() {
  return here().from->operations->lanes(here().from->block, here().number());
}
[[noreturn]] inline void refuse(const char* reason, SourceLine at) {
  here().from->operations->refuse(here().from->block, here().number(), reason, at.file, at.line);
  __builtin_unreachable();
}
template <class Lane>
void meet(unsigned long long mask, Lane& mine, void (*together)(void**, unsigned long long),
          SourceLine at) {
  const Resume resume;
  order('w');
  here().from->operations->meet(here().from->block, here().number(), mask, &mine, together, at.file,
                                at.line);
}

/// Moves a value from lane `source` of the wave. Lanes that do not take part have no value: all bits
/// are 1 then, NaN in floats.
template <class T>
T move(unsigned long long mask, T value, int source, SourceLine at) {
  static_assert(std::is_trivially_copyable_v<T>);
  struct Lane {
    T in, out;
    int source;
  } mine{value, value, source};
  const auto together = [](void** lanes, unsigned long long which) {
    for (unsigned long long rest = which; rest; rest &= rest - 1) {
      Lane& lane = *static_cast<Lane*>(lanes[__builtin_ctzll(rest)]);
      if (which >> lane.source & 1)
        lane.out = static_cast<Lane*>(lanes[lane.source])->in;
      else
        memset(static_cast<void*>(&lane.out), 0xff, sizeof(T));
    }
  };
  meet(mask, mine, together, at);
  return mine.out;
}

/// The first lane of a segment of `width` lanes; width 0: the wave.
inline int segment(int& width, SourceLine at) {
  const int wave = here().from->wave;
  if (width == 0) width = wave;
  if (width < 1 || width > wave || (width & (width - 1)) != 0)
    refuse("shuffles in a width that is no power of two within the wave", at);
  return here().lane() & ~(width - 1);
}
template <class T>
T from_lane(unsigned long long mask, T value, int source, int width, SourceLine at) {
  const int first = segment(width, at);
  return move(mask, value, first + (source & (width - 1)), at);
}
template <class T>
T from_below(unsigned long long mask, T value, unsigned distance, int width, SourceLine at) {
  const int first = segment(width, at), source = here().lane() - int(distance);
  return move(mask, value, source < first ? here().lane() : source, at);
}
template <class T>
T from_above(unsigned long long mask, T value, unsigned distance, int width, SourceLine at) {
  const int first = segment(width, at), source = here().lane() + int(distance);
  return move(mask, value, source >= first + width ? here().lane() : source, at);
}
template <class T>
T across(unsigned long long mask, T value, int bits, int width, SourceLine at) {
  const int first = segment(width, at), source = here().lane() ^ bits;
  return move(mask, value, source >= first + width ? here().lane() : source, at);
}
inline unsigned long long vote(unsigned long long mask, bool yes, SourceLine at) {
  struct Lane {
    bool in;
    unsigned long long out;
  } mine{yes, 0};
  const auto together = [](void** lanes, unsigned long long which) {
    unsigned long long votes = 0;
    for (unsigned long long rest = which; rest; rest &= rest - 1) {
      const int l = __builtin_ctzll(rest);
      votes |= static_cast<unsigned long long>(static_cast<Lane*>(lanes[l])->in) << l;
    }
    for (unsigned long long rest = which; rest; rest &= rest - 1)
      static_cast<Lane*>(lanes[__builtin_ctzll(rest)])->out = votes;
  };
  meet(mask, mine, together, at);
  return mine.out;
}

/// Replaces *p by change(*p) at once. Returns the old value.
template <class T, class F>
WICK_UNWATCHED T atomic_change(T* p, F change) {
  order('a');
  T old, changed;
  __atomic_load(p, &old, __ATOMIC_RELAXED);
  do {
    changed = change(old);
  } while (!__atomic_compare_exchange(p, &old, &changed, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return old;
}

/// Dynamic shared memory that a source declares outside of its functions: a pointer that every thread
/// sets before it runs.
struct DynamicName {
  void (*set)(void* memory);
  const DynamicName* next;
  static inline const DynamicName* first = nullptr;
  explicit DynamicName(void (*set)(void*)) : set(set), next(first) { first = this; }
};
inline void* dynamic_shared() { return here().from->shared; }

template <class A>
constexpr gpu::emu::SourceParameter parameter() {
  if constexpr (!std::is_pointer_v<A>) {
    return {int(sizeof(A)), 0, 0, false};
  } else {
    using E = std::remove_pointer_t<A>;
    constexpr bool writes = !std::is_const_v<E>;
    if constexpr (std::is_floating_point_v<E>)
      return {int(sizeof(A)), 'f', int(sizeof(E)), writes};
    else if constexpr (std::is_integral_v<E>)
      return {int(sizeof(A)), std::is_signed_v<E> ? 'i' : 'u', int(sizeof(E)), writes};
    else
      return {int(sizeof(A)), '?', 1, writes};
  }
}

template <class F>
struct Signature;
template <class... A>
struct Signature<void (*)(A...)> {
  static_assert((std::is_trivially_copyable_v<A> && ...), "a kernel's parameters are plain values");
  static constexpr int kCount = sizeof...(A);
  static constexpr int kBytes[kCount + 1] = {int(sizeof(A))...};
  static constexpr gpu::emu::SourceParameter kParameters[kCount + 1] = {parameter<A>()...};
  template <size_t... i>
  static void call(void (*f)(A...), const void* const* arguments, std::index_sequence<i...>) {
    f(*static_cast<const A*>(arguments[i])...);
  }
  template <void (*f)(A...)>
  WICK_UNWATCHED static void run(const void* const* arguments, const gpu::emu::SourceThread& from) {
    const unsigned t = unsigned(from.thread), x = from.block_size[0], y = from.block_size[1];
    const Thread thread{&from,
                        {t % x, t / x % y, t / x / y},
                        {from.block_index[0], from.block_index[1], from.block_index[2]},
                        {x, y, from.block_size[2]},
                        {from.grid_size[0], from.grid_size[1], from.grid_size[2]}};
    current.thread = &thread;
    for (const DynamicName* name = DynamicName::first; name; name = name->next)
      name->set(from.shared);
    call(f, arguments, std::make_index_sequence<sizeof...(A)>());
    current.thread = nullptr;
  }
};
template <class F, F f>
constexpr gpu::emu::SourceKernel source_kernel(const char* name) {
  return {gpu::emu::kSourceKernelVersion, name,
          Signature<F>::kCount,           Signature<F>::kBytes,
          Signature<F>::kParameters,      &Signature<F>::template run<f>,
          [] { current.tag = 1; }};
}

}  // namespace wick::words

#if defined(WICK_WATCHED)
extern "C" {
#define WICK_ACCESS(bytes)                                                                  \
  WICK_UNWATCHED void __tsan_read##bytes(void* p) { wick::words::access(p, bytes, false); } \
  WICK_UNWATCHED void __tsan_write##bytes(void* p) { wick::words::access(p, bytes, true); } \
  WICK_UNWATCHED void __tsan_unaligned_read##bytes(void* p) {                               \
    wick::words::access(p, bytes, false);                                                   \
  }                                                                                         \
  WICK_UNWATCHED void __tsan_unaligned_write##bytes(void* p) {                              \
    wick::words::access(p, bytes, true);                                                    \
  }
WICK_ACCESS(1)
WICK_ACCESS(2)
WICK_ACCESS(4)
WICK_ACCESS(8)
WICK_ACCESS(16)
#undef WICK_ACCESS
WICK_UNWATCHED void __tsan_read_range(void* p, unsigned long bytes) {
  wick::words::access(p, int(bytes), false);
}
WICK_UNWATCHED void __tsan_write_range(void* p, unsigned long bytes) {
  wick::words::access(p, int(bytes), true);
}
WICK_UNWATCHED void __tsan_vptr_update(void*, void*) {}
WICK_UNWATCHED void __tsan_vptr_read(void*) {}
WICK_UNWATCHED void __tsan_func_entry(void*) {}
WICK_UNWATCHED void __tsan_func_exit(void*) {}
WICK_UNWATCHED void __tsan_init() {}
}
#endif

// Functions and memory.
#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __shared__ thread_local
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))

// Built-in variables.
#define threadIdx (::wick::words::here().thread_index)
#define blockIdx (::wick::words::here().block_index)
#define blockDim (::wick::words::here().block_size)
#define gridDim (::wick::words::here().grid_size)
#define warpSize (::wick::words::here().from->wave)

// Where a word stands, for errors: the last parameters of words that wait for others.
#define WICK_PLACE const char *file = __builtin_FILE(), int line = __builtin_LINE()

inline void __syncthreads(WICK_PLACE) {
  const wick::words::Resume resume;
  const auto& from = *wick::words::here().from;
  wick::words::order('b');
  from.operations->barrier(from.block, from.thread, file, line);
}
WICK_UNWATCHED inline void __threadfence() {
  wick::words::order('a');
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
inline void __threadfence_block() { __threadfence(); }
inline void __syncwarp(unsigned long long mask = ~0ull, WICK_PLACE) {
  wick::words::vote(mask, false, {file, line});
}

template <class T>
T __shfl_sync(unsigned long long mask, T value, int source, int width = 0, WICK_PLACE) {
  return wick::words::from_lane(mask, value, source, width, {file, line});
}
template <class T>
T __shfl_up_sync(unsigned long long mask, T value, unsigned distance, int width = 0, WICK_PLACE) {
  return wick::words::from_below(mask, value, distance, width, {file, line});
}
template <class T>
T __shfl_down_sync(unsigned long long mask, T value, unsigned distance, int width = 0, WICK_PLACE) {
  return wick::words::from_above(mask, value, distance, width, {file, line});
}
template <class T>
T __shfl_xor_sync(unsigned long long mask, T value, int bits, int width = 0, WICK_PLACE) {
  return wick::words::across(mask, value, bits, width, {file, line});
}
inline unsigned long long __ballot_sync(unsigned long long mask, int yes, WICK_PLACE) {
  return wick::words::vote(mask, yes != 0, {file, line});
}
inline int __any_sync(unsigned long long mask, int yes, WICK_PLACE) {
  return wick::words::vote(mask, yes != 0, {file, line}) != 0;
}
inline int __all_sync(unsigned long long mask, int yes, WICK_PLACE) {
  return wick::words::vote(mask, yes == 0, {file, line}) == 0;
}
// HIP's, of the whole wave.
template <class T>
T __shfl(T value, int source, int width = 0, WICK_PLACE) {
  return wick::words::from_lane(~0ull, value, source, width, {file, line});
}
template <class T>
T __shfl_up(T value, unsigned distance, int width = 0, WICK_PLACE) {
  return wick::words::from_below(~0ull, value, distance, width, {file, line});
}
template <class T>
T __shfl_down(T value, unsigned distance, int width = 0, WICK_PLACE) {
  return wick::words::from_above(~0ull, value, distance, width, {file, line});
}
template <class T>
T __shfl_xor(T value, int bits, int width = 0, WICK_PLACE) {
  return wick::words::across(~0ull, value, bits, width, {file, line});
}
inline unsigned long long __ballot(int yes, WICK_PLACE) {
  return wick::words::vote(~0ull, yes != 0, {file, line});
}
inline int __any(int yes, WICK_PLACE) {
  return wick::words::vote(~0ull, yes != 0, {file, line}) != 0;
}
inline int __all(int yes, WICK_PLACE) {
  return wick::words::vote(~0ull, yes == 0, {file, line}) == 0;
}
#undef WICK_PLACE

// Atomics return the old value. Integers wrap.
#define WICK_ATOMIC(name, T, expression)                                                          \
  inline T name(T* p, T v) {                                                                      \
    return wick::words::atomic_change(p, [v](T old) -> T { return static_cast<T>(expression); }); \
  }
#define WICK_ATOMIC_INTEGERS(name, expression) \
  WICK_ATOMIC(name, unsigned, expression)      \
  WICK_ATOMIC(name, unsigned long long, expression)
#define WICK_ATOMIC_SIGNED(name, expression) \
  WICK_ATOMIC(name, int, expression)         \
  WICK_ATOMIC(name, long long, expression)
WICK_UNWATCHED inline int atomicAdd(int* p, int v) {
  wick::words::order('a');
  return __atomic_fetch_add(p, v, __ATOMIC_RELAXED);
}
WICK_UNWATCHED inline int atomicSub(int* p, int v) {
  wick::words::order('a');
  return __atomic_fetch_sub(p, v, __ATOMIC_RELAXED);
}
WICK_ATOMIC_INTEGERS(atomicAdd, old + v)
WICK_ATOMIC(atomicAdd, float, old + v)
WICK_ATOMIC(atomicAdd, double, old + v)
WICK_ATOMIC_INTEGERS(atomicSub, old - v)
WICK_ATOMIC_INTEGERS(atomicMax, old > v ? old : v)
WICK_ATOMIC_SIGNED(atomicMax, old > v ? old : v)
WICK_ATOMIC_INTEGERS(atomicMin, old < v ? old : v)
WICK_ATOMIC_SIGNED(atomicMin, old < v ? old : v)
WICK_ATOMIC_INTEGERS(atomicAnd, old& v)
WICK_ATOMIC(atomicAnd, int, old& v)
WICK_ATOMIC_INTEGERS(atomicOr, old | v)
WICK_ATOMIC(atomicOr, int, old | v)
WICK_ATOMIC_INTEGERS(atomicXor, old ^ v)
WICK_ATOMIC(atomicXor, int, old ^ v)
WICK_ATOMIC_INTEGERS(atomicExch, ((void)old, v))
WICK_ATOMIC(atomicExch, int, ((void)old, v))
WICK_ATOMIC(atomicExch, float, ((void)old, v))
WICK_ATOMIC(atomicInc, unsigned, old >= v ? 0u : old + 1)
WICK_ATOMIC(atomicDec, unsigned, old == 0 || old > v ? v : old - 1)
#define WICK_CAS(T)                                                                                \
  WICK_UNWATCHED inline T atomicCAS(T* p, T expected, T desired) {                                 \
    wick::words::order('a');                                                                       \
    __atomic_compare_exchange_n(p, &expected, desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED); \
    return expected;                                                                               \
  }
WICK_CAS(int)
WICK_CAS(unsigned)
WICK_CAS(unsigned long long)
#undef WICK_ATOMIC
#undef WICK_ATOMIC_INTEGERS
#undef WICK_ATOMIC_SIGNED
#undef WICK_CAS
#undef WICK_UNWATCHED

// Mathematics beyond <math.h>.
template <class A, class B>
requires(std::is_arithmetic_v<A>&& std::is_arithmetic_v<B>) constexpr auto min(A a, B b) {
  using T = std::common_type_t<A, B>;
  if constexpr (std::is_floating_point_v<T>)
    return T(fmin(T(a), T(b)));
  else
    return T(a) < T(b) ? T(a) : T(b);
}
template <class A, class B>
requires(std::is_arithmetic_v<A>&& std::is_arithmetic_v<B>) constexpr auto max(A a, B b) {
  using T = std::common_type_t<A, B>;
  if constexpr (std::is_floating_point_v<T>)
    return T(fmax(T(a), T(b)));
  else
    return T(a) > T(b) ? T(a) : T(b);
}
#if !defined(__GLIBC_PREREQ) || !__GLIBC_PREREQ(2, 42)  // glibc 2.42 has them
inline float rsqrtf(float x) { return 1 / sqrtf(x); }
inline double rsqrt(double x) { return 1 / sqrt(x); }
#endif
inline float rsqrt(float x) { return rsqrtf(x); }
inline float normcdff(float x) { return erfcf(x * -0.70710678118654752f) / 2; }
inline float __expf(float x) { return expf(x); }
inline float __logf(float x) { return logf(x); }
inline float __log2f(float x) { return log2f(x); }
inline float __log10f(float x) { return log10f(x); }
inline float __sinf(float x) { return sinf(x); }
inline float __cosf(float x) { return cosf(x); }
inline float __tanf(float x) { return tanf(x); }
inline float __powf(float x, float y) { return powf(x, y); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __frcp_rn(float x) { return 1 / x; }
inline float __fsqrt_rn(float x) { return sqrtf(x); }
inline float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
inline int __float2int_rn(float x) { return int(rintf(x)); }
inline int __float2int_rz(float x) { return int(x); }
inline float __int2float_rn(int x) { return float(x); }
inline int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
inline unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
inline float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
inline float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
inline long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
inline double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
inline int __clzll(long long x) {
  return x ? __builtin_clzll(static_cast<unsigned long long>(x)) : 64;
}
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __brev(unsigned x) {
  unsigned y = 0;
  for (int i = 0; i < 32; i++) y |= (x >> i & 1) << (31 - i);
  return y;
}
template <class T>
T __ldg(const T* p) {
  return *p;
}

// Vectors.
#define WICK_VECTORS(T, name)                                        \
  struct name##2 {                                                   \
    T x, y;                                                          \
  }                                                                  \
  __attribute__((aligned(2 * sizeof(T))));                           \
  struct name##4 {                                                   \
    T x, y, z, w;                                                    \
  }                                                                  \
  __attribute__((aligned(4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16))); \
  inline name##2 make_##name##2(T x, T y) { return {x, y}; }         \
  inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
#define WICK_VECTORS_3(T, name) \
  struct name##3 {              \
    T x, y, z;                  \
  };                            \
  inline name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }
WICK_VECTORS(float, float)
WICK_VECTORS(double, double)
WICK_VECTORS(int, int)
WICK_VECTORS(unsigned, uint)
WICK_VECTORS_3(float, float)
WICK_VECTORS_3(double, double)
WICK_VECTORS_3(int, int)
inline uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }
#undef WICK_VECTORS
#undef WICK_VECTORS_3
