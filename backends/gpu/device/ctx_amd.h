// The implementation of ctx.h for AMD, on clang's builtins alone.
#pragma once
#include "device/ctx.h"

// The host pass calls these in a kernel's stub; wick launches kernels another way
// (runtime/rt_rocm.cpp).
using size_t = decltype(sizeof 0);
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
extern "C" int hipLaunchKernel(const void*, dim3, dim3, void**, size_t, void*);
extern "C" unsigned __hipPushCallConfiguration(dim3, dim3, size_t = 0, void* = nullptr);
extern "C" int __hipPopCallConfiguration(dim3*, dim3*, size_t*, void*);

namespace wick::gpu {

#if defined(WICK_MATRIX_NONE) || !defined(WICK_DEVICE_PASS)
using DeviceMatrix = NoMatrix;
#elif defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__) || \
    defined(__gfx9_4_generic__)
using DeviceMatrix = MatrixGfx9;
#elif defined(__GFX11__)
using DeviceMatrix = MatrixGfx11;
#elif defined(__GFX12__)
using DeviceMatrix = MatrixGfx12;
#else
using DeviceMatrix = NoMatrix;
#endif
/// Whether an instruction adds f32 to memory and flushes subnormals to 0. gfx942's keeps them; gfx906 and gfx10 have none.
#if defined(__gfx908__) || defined(__gfx90a__) || defined(__GFX11__) || defined(__GFX12__)
inline constexpr bool kAddsFlush = true;
#else
inline constexpr bool kAddsFlush = false;
#endif
/// The size of shared memory that a launch adds to the kernel's own.
template <class K>
inline constexpr int kDynamicBytes = 0;

template <int wave_, int threads_, class M>
struct Ctx {
  static constexpr int kWave = wave_, kThreads = threads_, kWaves = threads_ / wave_;
  using Matrix = M;
  ErrorRecord* record;

  WICK_DEVICE int thread() const { return __builtin_amdgcn_workitem_id_x(); }
  WICK_DEVICE int lane() const { return thread() % kWave; }
  /// Marked as uniform, so that it may live in scalar registers.
  WICK_DEVICE int wave() const { return __builtin_amdgcn_readfirstlane(thread() / kWave); }
  WICK_DEVICE Grid block() const {
    return {int(__builtin_amdgcn_workgroup_id_x()), int(__builtin_amdgcn_workgroup_id_y()),
            int(__builtin_amdgcn_workgroup_id_z())};
  }
  WICK_DEVICE void sync() const {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  }
  /// gfx906, gfx908 and gfx12 wait for loads nevertheless: the first two have barriers that cannot back off for an
  /// exception; on gfx12 attention of D 96 waited for its values early with a barrier that clang does not recognize.
  WICK_DEVICE void sync_shared() const {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
    // Clang 19 waits for all loads before gfx11's barriers, for the sake of fences of global memory, but not before
    // those that it does not recognize.
#if defined(__GFX11__)
    asm volatile("s_barrier" ::: "memory");
#else
    __builtin_amdgcn_s_barrier();
#endif
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
  }
  template <class T>
  WICK_DEVICE T shuffle(T v, int source) const {
    return each_word(v, [&](int word) { return __builtin_amdgcn_ds_bpermute(4 * source, word); });
  }
  template <int mask, class T>
  WICK_DEVICE T shuffle_xor(T v) const {
    static_assert(0 < mask && mask < kWave);
    return each_word(v, [&](int word) { return word_xor<mask>(word); });
  }
  WICK_DEVICE uint64 ballot(bool b) const {
    if constexpr (kWave == 64)
      return __builtin_amdgcn_ballot_w64(b);
    else
      return __builtin_amdgcn_ballot_w32(b);
  }
  /// The number of bits that are 1.
  static WICK_DEVICE int count_bits(uint64 v) { return __builtin_popcountll(v); }
  /// 2^x. Error: 2 ulp; a result below 2^-126 may be 0. Source: CDNA3 ISA, RDNA3 ISA, V_EXP_F32.
  static WICK_DEVICE float exp2(float x) { return __builtin_amdgcn_exp2f(x); }
  /// 1 / x. Error: 2 ulp; subnormal results and operands may count as 0. Source: V_RCP_F32.
  static WICK_DEVICE float reciprocal(float x) { return __builtin_amdgcn_rcpf(x); }
  /// The larger one; if one is NaN, the other.
  static WICK_DEVICE float larger(float a, float b) { return __builtin_fmaxf(a, b); }
  /// x, whose value the compiler cannot know: it computes values that depend on x after this.
  static WICK_DEVICE int opaque(int x) {
    asm volatile("" : "+v"(x));
    return x;
  }
  /// See ctx_nvidia.h. Not needed here.
  static WICK_DEVICE int in_one_register(int x) { return x; }
  /// Keeps loads from shared memory where they are written, before or after this.
  static WICK_DEVICE void keep_order() {
    asm volatile("" ::: "memory");
    __builtin_amdgcn_sched_barrier(0);
  }
  /// See ctx.h.
  using Words = int __attribute__((ext_vector_type(4)));
  /// See ctx.h.
  static constexpr bool kCopiesAsync = false;
  /// Adds to *p, in memory of the card. Returns the old value. T: 32- and 64-bit integers and floats. Device passes are
  /// compiled with -munsafe-fp-atomics, without which clang adds floats by compare and swap.
  template <class T>
  static WICK_DEVICE T atomic_add(T* p, T v) {
    // No subnormals occur for addends this large: their sums are multiples of 2^-123.
    if constexpr (kSame<T, float> && kAddsFlush)
      if (!(__builtin_fabsf(v) >= 0x1p-100f)) return add_by_swaps(p, v);
    return __hip_atomic_fetch_add(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  }
  /// Stores the larger of *p and the value. Returns the old value. T: u32 and u64.
  template <class T>
  static WICK_DEVICE T atomic_max(T* p, T v) {
    return __hip_atomic_fetch_max(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  }
  /// Stores desired if the old value is expected. Returns the old value.
  static WICK_DEVICE uint32 compare_and_swap(uint32* p, uint32 expected, uint32 desired) {
    __hip_atomic_compare_exchange_strong(p, &expected, desired, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                         __HIP_MEMORY_SCOPE_AGENT);
    return expected;
  }
  /// Records an error, unless there is one already; the host reads the record when it next
  /// synchronizes. op: the op's id.
  WICK_DEVICE void fail(StatusCode code, uint64 op, int64 position, int64 value,
                        int64 limit) const {
    if (compare_and_swap(&record->code, 0, uint32(code)) != 0) return;
    record->op = op, record->position = position, record->value = value, record->limit = limit;
  }

 private:
  /// v with f of each of its words.
  template <class T, class F>
  static WICK_DEVICE T each_word(T v, const F& f) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
    if constexpr (sizeof(T) == 4) {
      return __builtin_bit_cast(T, f(__builtin_bit_cast(int, v)));
    } else {
      const uint64 bits = __builtin_bit_cast(uint64, v);
      const uint64 low = uint32(f(int(bits))), high = uint32(f(int(bits >> 32)));
      return __builtin_bit_cast(T, high << 32 | low);
    }
  }
  /// The word of a lane that DPP selects within 16 lanes, at the price of an ALU instruction.
  template <int control>
  static WICK_DEVICE int by_dpp(int word) {
    return __builtin_amdgcn_mov_dpp(word, control, 0xf, 0xf, true);
  }
  /// The word of lane() ^ mask. Sources: CDNA3 ISA and RDNA3 ISA, DPP_CTRL, DS_SWIZZLE_B32 and V_PERMLANEX16_B32.
  template <int mask>
  WICK_DEVICE int word_xor(int word) const {
#if defined(__GFX9__)
    constexpr int kQuad = 0b11'10'01'00, kMirror = 0x140, kHalfMirror = 0x141, kRotate8 = 0x128;
    if constexpr (mask >= 32)
      return __builtin_amdgcn_ds_bpermute(4 * (lane() ^ mask), word);
    else if constexpr (mask >= 16)
      return __builtin_amdgcn_ds_swizzle(word, mask << 10 | 0x1f);
    else if constexpr (mask >= 12)  // the mirror is lane ^ 15
      return word_xor<mask ^ 15>(by_dpp<kMirror>(word));
    else if constexpr (mask >= 8)
      return word_xor<mask ^ 8>(by_dpp<kRotate8>(word));
    else if constexpr (mask >= 4)  // lane ^ 7
      return word_xor<mask ^ 7>(by_dpp<kHalfMirror>(word));
    else if constexpr (mask > 0)
      return by_dpp<(kQuad ^ mask * 0b01'01'01'01)>(word);
    else
      return word;
#else
    static_assert(mask < 32, "waves have 32 lanes");
    constexpr int kXor = 0x160;
    // A digit for each of 16 lanes: its source in the other half of the wave.
    constexpr uint64 kSources = 0xfedcba9876543210u ^ uint64(mask & 15) * 0x1111111111111111u;
    if constexpr (mask < 16) {
      return by_dpp<(kXor | mask)>(word);
    } else {
      int other =
          __builtin_amdgcn_permlanex16(word, word, int(kSources), int(kSources >> 32), true, false);
      // Clang 19 would move the exchange into a branch that uses it, where the lanes that it reads may be inactive.
      asm volatile("" : "+v"(other));
      return other;
    }
#endif
  }
  static WICK_DEVICE float add_by_swaps(float* p, float v) {
    float seen = __hip_atomic_load(p, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    while (v != 0) {
      const uint32 expected = __builtin_bit_cast(uint32, seen);
      const uint32 old = compare_and_swap(reinterpret_cast<uint32*>(p), expected,
                                          __builtin_bit_cast(uint32, seen + v));
      seen = __builtin_bit_cast(float, old);
      if (old == expected) break;
    }
    return seen;
  }
};

template <class K>
inline constexpr int kDeviceThreads = K::threads(kDeviceWave);

/// The waves that a SIMD shall hold at least: K::kLeastWaves, of kernels that are known to need few registers less. The
/// compiler then counts those of matrix accumulators too, which CDNA's waves share with the others.
template <class K>
constexpr int least_waves() {
#if defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__) || defined(__gfx9_4_generic__)
  if constexpr (requires {
                  requires K::kLeastWaves >
                  0;
                })
    return K::kLeastWaves;
#endif
  return 1;
}

/// The entry point of every kernel: creates the context and the shared memory, and calls K::run.
template <class K>
WICK_KERNEL __attribute__((amdgpu_flat_work_group_size(kDeviceThreads<K>, kDeviceThreads<K>),
                           amdgpu_waves_per_eu(least_waves<K>()))) void
entry([[maybe_unused]] typename K::Args args, [[maybe_unused]] ErrorRecord* record) {
#if defined(WICK_DEVICE_PASS)
  using C = Ctx<kDeviceWave, kDeviceThreads<K>, DeviceMatrix>;
  __attribute__((shared)) typename K::template Shared<C> shared;
  static_assert(sizeof shared <= 64 << 10);
  K::run(C{record}, shared, args);
#endif
}

}  // namespace wick::gpu
