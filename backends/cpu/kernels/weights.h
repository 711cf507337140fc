// How products read weights: 32 neighbours of a row at a time, in lanes. A loader W has
//
//   kElements, kBytes                  of a block. Rows are whole blocks, but for the last one of floats
//   Scales                             of a row's next blocks
//   read_scales(blocks, n, scales)     reads those of n <= kMostBlocks blocks
//   load_run<r>(block, b, scales, w)   the weights of run r of the block, which is number b of those
#pragma once
#include "kernels/convert.h"
#include "scalar/blocks.h"

namespace wick::cpu::WICK_ISA {

inline constexpr int kRun = blocks::kRun, kRunLanes = kRun / Lanes<float>::kCount;
/// A run of weights.
using Run = Lanes<float>[kRunLanes];

inline constexpr int64 kMostElements = 1024;  // whose scales are read at once

template <class F>
struct BlockWeights {
  static constexpr int kElements = kBlockElements<F>, kBytes = kBlockBytes<F>;
  static constexpr int kGroups = kElements / F::kGroup, kMostBlocks = kMostElements / kElements;

  /// Of the blocks' groups.
  struct Scales {
    alignas(64) BlockScale of[kMostBlocks * kGroups];
  };
  static WICK_HD void read_scales(const uint8* block, int64 n, Scales& to) {
    BlockScale* group = to.of;
    for (int64 b = 0; b < n; b++, block += kBytes) {
#if defined(__F16C__)
      if constexpr (requires { F::kScaleBytes; }) {  // the block begins with both
        const __m128 fields =
            _mm_cvtph_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(block)));
        _mm_storel_pi(reinterpret_cast<__m64*>(group++), fields);
        continue;
      }
#endif
#pragma GCC unroll 16
      for (int g = 0; g < kGroups; g++) *group++ = F::scale_of(block, g);
    }
  }
  template <int run>
  static WICK_HD void load_run(const uint8* block, int64 b, const Scales& scales, Run& w) {
    const hn::ScalableTag<float> f32;
    // A product with the scale is exact, so that weights round at most once, as block_value does.
    const auto weights = [&scales](int64 g, Lanes<float> bits) __attribute__((always_inline)) {
      const Lanes<float> scale(scales.of[g].scale);
      if constexpr (F::kHasOffset) return fma(bits, scale, Lanes<float>(scales.of[g].offset));
      if constexpr (F::kBias == 0) return bits * scale;
      return fma(bits, scale, scale * Lanes<float>(float(-F::kBias)));
    };
#if defined(__AVX512F__)
    if constexpr (F::kBits == 4) {  // a register holds the weights of all bits
      const __m512 all = weights(b * kGroups + run, quants_of_all_bits()).v.raw;
      for (int i = 0; i < 2; i++)
        w[i] = hn::Vec<hn::ScalableTag<float>>{
            _mm512_maskz_permutexvar_ps(0xffff, low_bits<run, 31>(block, 16 * i).raw, all)};
      return;
    }
#endif
#pragma GCC unroll 8
    for (int i = 0; i < kRunLanes; i++) {
      const int e = i * Lanes<float>::kCount;
      w[i] = weights(b * kGroups + (run * kRun + e) / F::kGroup,
                     hn::ConvertTo(f32, bits_of<run>(block, e)));
    }
  }

 private:
  using Bits = hn::Vec<hn::ScalableTag<int32>>;

  /// A byte for each lane.
  static WICK_HD Bits bytes_at(const uint8* from) {
    const hn::ScalableTag<int32> i32;
    if constexpr (F::kBits == 8) {
      const hn::Rebind<int8, decltype(i32)> i8;
      return hn::PromoteTo(i32, hn::LoadU(i8, reinterpret_cast<const int8*>(from)));
    } else {
      const hn::Rebind<uint8, decltype(i32)> u8;
      return hn::PromoteTo(i32, hn::LoadU(u8, from));
    }
  }
  /// The quants of elements e ... of the block.
  static WICK_HD Bits octet_quants(const uint8* block, int e) {
    constexpr int kCount = Lanes<float>::kCount;
    const hn::ScalableTag<int32> i32;
    const hn::Rebind<int8, decltype(i32)> i8;
    alignas(16) Octet octets[kCount < 8 ? 1 : kCount / 8];
    for (Octet& octet : octets) octet = F::octet(block, e / 8 + int(&octet - octets));
    return hn::PromoteTo(i32, hn::LoadU(i8, reinterpret_cast<const int8*>(octets) + e % 8));
  }
  /// The quants of 0, 1 ... 15, without the bias.
  static WICK_HD Lanes<float> quants_of_all_bits() {
    const hn::ScalableTag<float> f32;
    if constexpr (kHasQuantTable<F>) {
      static constexpr QuantTable table = F::values();
      const hn::Rebind<int8, decltype(f32)> i8;
      const hn::Rebind<int32, decltype(f32)> i32;
      const auto* const quants = reinterpret_cast<const int8*>(table.words);
      return hn::ConvertTo(f32, hn::PromoteTo(i32, hn::LoadU(i8, quants)));
    } else {
      return hn::Iota(f32, 0);
    }
  }
  /// The quants that the bits of elements e ... index.
  template <int run>
  static WICK_HD Bits table_quants(const uint8* block, int e) {
    static constexpr QuantTable table = F::values();
    constexpr BlockBits low = F::low(run);
    static_assert(low.shift == 0 && F::kLowBytes == 16);
    const hn::ScalableTag<int32> i32;
    const hn::Rebind<uint8, decltype(i32)> u8;
    const hn::Rebind<int8, decltype(i32)> i8;
    const hn::Full128<uint8> u8x16;
    const auto bytes = hn::LoadU(u8, block + low.byte + e % 16);
    const auto index = e < 16 ? hn::And(bytes, hn::Set(u8, 15)) : hn::ShiftRight<4>(bytes);
    const auto quants = hn::LoadU(u8x16, reinterpret_cast<const uint8*>(table.words));
    return hn::PromoteTo(i32, hn::BitCast(i8, hn::TableLookupBytes(quants, index)));
  }
  /// (x >> shift) & mask, of bytes; of a mask above 15 not masked.
  template <int shift, int mask>
  static WICK_HD Bits bits(Bits x) {
    const hn::ScalableTag<int32> i32;
    if constexpr (shift > 0) x = hn::ShiftRight<shift>(x);
    if constexpr (mask < 16 && mask < (255 >> shift)) x = hn::And(x, hn::Set(i32, mask));
    return x;
  }
  /// The lower bits of elements e ... of run r, and what a mask above 15 leaves of the bits above.
  template <int run, int mask = (1 << F::kLowBits) - 1>
  static WICK_HD Bits low_bits(const uint8* block, int e) {
    constexpr BlockBits low = F::low(run);
    const Bits bytes = bytes_at(block + low.byte + e % F::kLowBytes);
    return e < F::kLowBytes ? bits<low.shift, mask>(bytes) : bits<4, mask>(bytes);
  }
  /// All bits of elements e ... of run r, or the quants that they index.
  template <int run>
  static WICK_HD Bits bits_of(const uint8* block, int e) {
    if constexpr (kHasOctets<F>) {
      return octet_quants(block, run * kRun + e);
    } else if constexpr (kHasQuantTable<F>) {
      return table_quants<run>(block, e);
    } else if constexpr (F::kBits == 8) {
      return bytes_at(block + F::low(run).byte + e);
    } else if constexpr (F::kHighBytes == 4) {
      constexpr BlockBits high = F::high(run);
      return with_fifth_bits(low_bits<run>(block, e), block + high.byte, e);
    } else if constexpr (F::kHighBytes == 32) {
      constexpr BlockBits high = F::high(run);
      constexpr int mask = (1 << (F::kBits - F::kLowBits)) - 1;
      const Bits above = bits<high.shift, mask>(bytes_at(block + high.byte + e));
      return hn::Or(low_bits<run>(block, e), hn::ShiftLeft<F::kLowBits>(above));
    } else {
      return low_bits<run>(block, e);
    }
  }
  /// Adds 16 to the elements e ... whose bit is set.
  static WICK_HD Bits with_fifth_bits(Bits x, const uint8* from, int e) {
    const hn::ScalableTag<int32> i32;
    uint32 all;
    memcpy(&all, from, sizeof all);
    const auto sixteen = hn::Set(i32, 16);
#if defined(__AVX512F__)
    return Bits{_mm512_mask_or_epi32(x.raw, __mmask16(all >> e), x.raw, sixteen.raw)};
#else
    const auto lane = hn::Shl(hn::Set(i32, 1), hn::Iota(i32, 0));
    const auto own = hn::And(hn::Set(i32, int32(all >> e)), lane);
    return hn::Or(x, hn::IfThenElseZero(hn::Eq(own, lane), sixteen));
#endif
  }
};

/// Weights of a float type, in blocks of a run.
template <class T>
struct FloatWeights {
  static constexpr int kElements = kRun, kBytes = kRun * sizeof(T);
  static constexpr int kMostBlocks = kMostElements / kElements;

  struct Scales {};
  static WICK_HD void read_scales(const uint8*, int64, Scales&) {}
  template <int>
  static WICK_HD void load_run(const uint8* block, int64, const Scales&, Run& w) {
    for (int i = 0; i < kRunLanes; i++)
      w[i] = load_lanes(reinterpret_cast<const T*>(block) + i * Lanes<float>::kCount);
  }
};

/// Calls f(first element, w) for every run of a block.
template <class W, int run = 0, class F>
WICK_HD void each_run(const uint8* block, int64 b, const typename W::Scales& scales, F f) {
  if constexpr (run * kRun < W::kElements) {
    Run w;
    W::template load_run<run>(block, b, scales, w);
    f(run * kRun, w);
    each_run<W, run + 1>(block, b, scales, f);
  }
}

}  // namespace wick::cpu::WICK_ISA
