// The implementation of ctx.h for NVIDIA.
#pragma once
#include "device/ctx.h"

namespace wick::gpu {

#if defined(WICK_DEVICE_PASS) && __CUDA_ARCH__ >= 800 && !defined(WICK_MATRIX_NONE)
using DeviceMatrix = MatrixSm80;
#else
using DeviceMatrix = NoMatrix;
#endif

template <int wave_, int threads_, class M>
struct Ctx {
  static constexpr int kWave = wave_, kThreads = threads_, kWaves = threads_ / wave_;
  using Matrix = M;
  ErrorRecord* record;

  WICK_DEVICE int thread() const { return threadIdx.x; }
  WICK_DEVICE int lane() const { return threadIdx.x % kWave; }
  WICK_DEVICE int wave() const {
    return threadIdx.x / kWave;
  }  // not by a shuffle: it may be called in a branch
  WICK_DEVICE Grid block() const { return {int(blockIdx.x), int(blockIdx.y), int(blockIdx.z)}; }
  WICK_DEVICE void sync() const { __syncthreads(); }
  WICK_DEVICE void sync_shared() const { __syncthreads(); }
  template <class T>
  WICK_DEVICE T shuffle(T v, int source) const {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
    return __shfl_sync(~0u, v, source);
  }
  template <int mask, class T>
  WICK_DEVICE T shuffle_xor(T v) const {
    static_assert((sizeof(T) == 4 || sizeof(T) == 8) && 0 < mask && mask < kWave);
    return __shfl_xor_sync(~0u, v, mask);
  }
  WICK_DEVICE uint64 ballot(bool b) const { return __ballot_sync(~0u, b); }
  /// The number of bits that are 1.
  static WICK_DEVICE int count_bits(uint64 v) { return __popcll(v); }
  /// 2^x. Error: 2 ulp; a result below 2^-126 may be 0. Source: PTX ISA 9.7.3, ex2.approx.ftz.
  static WICK_DEVICE float exp2(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
  }
  /// 1 / x. Error: 2 ulp; subnormal results and operands may count as 0. Source: rcp.approx.ftz.
  static WICK_DEVICE float reciprocal(float x) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
  }
  /// The larger one; if one is NaN, the other.
  static WICK_DEVICE float larger(float a, float b) { return fmaxf(a, b); }
  /// See ctx_amd.h. Not needed here.
  static WICK_DEVICE int opaque(int x) { return x; }
  /// See ctx_amd.h. Not needed here.
  static WICK_DEVICE void keep_order() {}
  /// x, of elements that would else have registers of their own until it is used.
  static WICK_DEVICE int in_one_register(int x) {
    asm volatile("" : "+r"(x));
    return x;
  }
  /// See ctx.h.
  struct alignas(16) Words {
    int32 w[4];
  };
  /// See ctx.h.
  static constexpr bool kCopiesAsync = !kSame<M, NoMatrix>;
  static WICK_DEVICE void copy_async(void* to, const void* from, bool inside) {
    asm volatile(
        "cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(uint32(__cvta_generic_to_shared(to))),
        "l"(from), "r"(inside ? 16 : 0)
        : "memory");
  }
  /// See ctx.h.
  static constexpr int64 kPrefetchBytes = 16 << 10;
  static WICK_DEVICE void prefetch(const void* from, int64 bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    uint32 units;
    asm("mov.u32 %0, %%nsmid;" : "=r"(units));
    if (blockIdx.x >= 2 * units) return;  // later blocks have nothing to wait for
    const uint64 first = (reinterpret_cast<uint64>(from) + 15) & ~uint64(15);
    const uint64 end = (reinterpret_cast<uint64>(from) + uint64(bytes)) & ~uint64(15);
    if (first < end)
      asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(first),
                   "r"(uint32(end - first)));
#else
    (void)from, (void)bytes;
#endif
  }
  static WICK_DEVICE void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
  template <int groups>
  static WICK_DEVICE void wait_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(groups) : "memory");
  }
  /// Adds to *p. Returns the old value. T: 32- and 64-bit integers and floats.
  template <class T>
  static WICK_DEVICE T atomic_add(T* p, T v) {
    if constexpr (sizeof(T) == 8 && T(1) / T(2) == T(0)) {  // signed and unsigned add up alike
      return T(
          atomicAdd(reinterpret_cast<unsigned long long*>(p), static_cast<unsigned long long>(v)));
    } else if constexpr (kSame<T, float>) {
      // The hardware's atomic addition flushes subnormals to 0. None occur for addends this large:
      // their sums are multiples of 2^-123.
      if (fabsf(v) >= 0x1p-100f) return atomicAdd(p, v);
      return add_by_swaps(p, v);
    } else {
      return atomicAdd(p, v);
    }
  }
  /// Stores the larger of *p and the value. Returns the old value. T: u32 and u64.
  template <class T>
  static WICK_DEVICE T atomic_max(T* p, T v) {
    if constexpr (sizeof(T) == 8)
      return T(
          atomicMax(reinterpret_cast<unsigned long long*>(p), static_cast<unsigned long long>(v)));
    else
      return atomicMax(p, v);
  }
  /// Stores desired if the old value is expected. Returns the old value.
  static WICK_DEVICE uint32 compare_and_swap(uint32* p, uint32 expected, uint32 desired) {
    return atomicCAS(p, expected, desired);
  }
  /// Records an error, unless there is one already; the host reads the record when it next
  /// synchronizes. op: the op's id.
  WICK_DEVICE void fail(StatusCode code, uint64 op, int64 position, int64 value,
                        int64 limit) const {
    if (compare_and_swap(&record->code, 0, uint32(code)) != 0) return;
    record->op = op, record->position = position, record->value = value, record->limit = limit;
  }

 private:
  static WICK_DEVICE float add_by_swaps(float* p, float v) {
    uint32* const bits = reinterpret_cast<uint32*>(p);
    uint32 seen = *static_cast<volatile uint32*>(bits), expected = 0;
    if (v == 0) return __uint_as_float(seen);
    do {
      expected = seen;
      seen = compare_and_swap(bits, expected, __float_as_uint(__uint_as_float(expected) + v));
    } while (seen != expected);
    return __uint_as_float(seen);
  }
};

// Outside of the kernel, since nvcc lets no kernel call a host function, not even in a constant.
template <class K>
inline constexpr int kDeviceThreads = K::threads(kDeviceWave);

/// The number of blocks that must fit on a multiprocessor, which limits a thread's registers.
template <class K>
constexpr int resident_blocks() {
  if constexpr (requires { K::kResidentBlocks; })
    return K::kResidentBlocks;
  else
    return 1;
}
// The number of threads that a multiprocessor holds; the compiler rejects larger requests.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 750
inline constexpr int kResidentThreads = 1024;
#elif defined(__CUDA_ARCH__) && (__CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 870 || \
                                 __CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1200)
inline constexpr int kResidentThreads = 1536;
#else
inline constexpr int kResidentThreads = 2048;
#endif
template <class K>
inline constexpr int kMaxBlocks = kResidentThreads / kDeviceThreads<K>;
template <class K>
inline constexpr int kDeviceBlocks = resident_blocks<K>() < kMaxBlocks<K> ? resident_blocks<K>()
                                                                          : kMaxBlocks<K>;

/// Shared memory beyond 48 KiB is dynamic: its size is the launch's. At most 99 KiB, which every card
/// with matrix units has (CUDA C++ Programming Guide, "Compute Capabilities").
inline constexpr int kMaxStaticBytes = 48 << 10, kMaxDynamicBytes = 99 << 10;
template <class K>
constexpr int dynamic_bytes() {
  constexpr int threads = K::threads(kDeviceWave);
  if constexpr (requires { requires K::kUsesMatrix; }) {
    constexpr int bytes =
        sizeof(typename K::template Shared<Ctx<kDeviceWave, threads, MatrixSm80>>);
    static_assert(bytes <= kMaxDynamicBytes);
    return bytes > kMaxStaticBytes ? bytes : 0;
  }
  return 0;
}
template <class K>
inline constexpr int kDynamicBytes = dynamic_bytes<K>();

/// From this architecture on a kernel may start while the one before still runs, and waits for its results.
inline constexpr int kOverlapArch = 90;

/// Lets the next kernel start, then waits until the kernels before have finished.
template <class K, class C>
WICK_DEVICE void begin(const C& ctx, const typename K::Args& args) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
  if constexpr (requires { K::prefetch(ctx, args); }) K::prefetch(ctx, args);
  asm volatile("griddepcontrol.wait;" ::: "memory");
#else
  (void)ctx, (void)args;
#endif
}

/// The entry point of every kernel: creates the context and the shared memory, and calls K::run.
template <class K>
WICK_KERNEL void __launch_bounds__(kDeviceThreads<K>, kDeviceBlocks<K>)
    entry(typename K::Args args, ErrorRecord* record) {
#if defined(WICK_DEVICE_PASS)
  using C = Ctx<kDeviceWave, kDeviceThreads<K>, DeviceMatrix>;
  using Shared = typename K::template Shared<C>;
  begin<K>(C{record}, args);
  if constexpr (sizeof(Shared) > kMaxStaticBytes) {
    static_assert(sizeof(Shared) == kDynamicBytes<K>, "the host launches with another size");
    extern __shared__ uint4 dynamic_memory[];
    K::run(C{record}, *reinterpret_cast<Shared*>(dynamic_memory), args);
  } else {
    __shared__ Shared shared;
    K::run(C{record}, shared, args);
  }
#endif
}

}  // namespace wick::gpu
