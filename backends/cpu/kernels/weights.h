// How products read weights: 32 neighbours of a row at a time, in lanes. A loader W has
//
//   kElements, kBytes                  of a block; only the last block of a float row is partial
//   Scales                             of a row's next blocks
//   read_scales(blocks, n, scales)     reads the scales of n <= kMaxBlocks blocks
//   load_run<r>(block, b, scales, w)   the weights of run r of the block, the b-th of the n
#pragma once
#include "kernels/convert.h"
#include "kernels/quants.h"

namespace wick::cpu::WICK_ISA {

inline constexpr int kRun = blocks::kRun, kRunLanes = kRun / Lanes<float>::kCount;
/// A run of weights.
using Run = Lanes<float>[kRunLanes];

inline constexpr int64 kMaxElements = 1024;  // whose scales are read at once

template <class F>
struct BlockWeights {
  static constexpr int kElements = kBlockElements<F>, kBytes = kBlockBytes<F>;
  static constexpr int kGroups = kElements / F::kGroup, kMaxBlocks = kMaxElements / kElements;

  /// The scales of the blocks' groups.
  struct Scales {
    alignas(64) BlockScale of[kMaxBlocks * kGroups];
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
      const __m512 all = weights(b * kGroups + run, Quants<F, int32>::of_all_bits()).v.raw;
      for (int i = 0; i < 2; i++)
        w[i] = hn::Vec<hn::ScalableTag<float>>{_mm512_maskz_permutexvar_ps(
            0xffff, Quants<F, int32>::template low_bits<run, 31>(block, 16 * i).raw, all)};
      return;
    }
#endif
#pragma GCC unroll 8
    for (int i = 0; i < kRunLanes; i++) {
      const int e = i * Lanes<float>::kCount;
      w[i] = weights(b * kGroups + (run * kRun + e) / F::kGroup,
                     hn::ConvertTo(f32, Quants<F, int32>::template of<run>(block, e)));
    }
  }
};

/// Weights of a float type, in blocks of a run.
template <class T>
struct FloatWeights {
  static constexpr int kElements = kRun, kBytes = kRun * sizeof(T);
  static constexpr int kMaxBlocks = kMaxElements / kElements;

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
