// Products of block weights with a few rows of x on AVX2, for formats whose runs have 32 bytes of
// lower bits: a run's quants and integers of x are two vectors of 16 bits, of its even and of its
// odd elements, because words have bytes of two neighbours; quants of 8 bits widen in order, to its
// first 16 and its last 16. linear_pairs.h has the other formats.
//
// Included by linear_int16.cpp alone.
#pragma once
#include <immintrin.h>

#include "kernels/linear_packed.h"
#include "kernels/panel.h"

namespace wick::cpu::WICK_ISA {

#if defined(__AVX2__) && !defined(__AVX512F__)

WICK_HD __m128i load_16(const void* from) {
  return _mm_loadu_si128(static_cast<const __m128i*>(from));
}
WICK_HD __m256i load_32(const uint8* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}
/// x >> shift or, if it is negative, x << -shift, of words.
template <int shift>
WICK_HD __m256i moved(__m256i x) {
  if constexpr (shift > 0) return _mm256_srli_epi16(x, shift);
  if constexpr (shift < 0) return _mm256_slli_epi16(x, -shift);
  return x;
}

/// A run's quants: of 8 bits signed, others unsigned and times quant_factor.
struct RunWords {
  __m256i of_first, of_second;  // by the vectors of x

  /// Of run r of the block.
  template <class F, int r>
  static WICK_HD RunWords of(const uint8* block) {
    constexpr BlockBits low = F::low(r);
    if constexpr (kSame<F, Q4_K> || kSame<F, Q2_K>) {
      const __m256i bytes = load_32(block + low.byte);
      const __m256i mask = _mm256_set1_epi16(((1 << F::kLowBits) - 1) << low.shift);
      return {_mm256_and_si256(bytes, mask), _mm256_and_si256(moved<8>(bytes), mask)};
    } else if constexpr (F::kBits == 8) {
      return {_mm256_cvtepi8_epi16(load_16(block + low.byte)),
              _mm256_cvtepi8_epi16(load_16(block + low.byte + 16))};
    } else {
      constexpr BlockBits high = F::high(r);
      constexpr int kMask = (1 << F::kBits) - (1 << F::kLowBits);
      const __m256i lower = _mm256_and_si256(moved<low.shift>(load_32(block + low.byte)),
                                             _mm256_set1_epi8((1 << F::kLowBits) - 1));
      const __m256i upper = _mm256_and_si256(
          moved<high.shift - F::kLowBits>(load_32(block + high.byte)), _mm256_set1_epi8(kMask));
      return of_bytes(_mm256_or_si256(lower, upper));
    }
  }
  /// The sums of the products with the integers of x, of four elements in a lane.
  WICK_HD __m256i times(const int16* x) const {
    const auto at = [x](int i) { return load_32(reinterpret_cast<const uint8*>(x + i)); };
    return _mm256_add_epi32(_mm256_madd_epi16(of_first, at(0)),
                            _mm256_madd_epi16(of_second, at(16)));
  }

 private:
  static WICK_HD RunWords of_bytes(__m256i bytes) {
    return {_mm256_and_si256(bytes, _mm256_set1_epi16(255)), moved<8>(bytes)};
  }
};

/// The scales of the groups of a run, for each lane of RunWords::times.
template <class F>
WICK_HD __m256 lanes_of_scales(const float* scales, int run) {
  if constexpr (kGroup<F> == kRun) return _mm256_broadcast_ss(scales + run);
  double two;
  memcpy(&two, scales + 2 * run, sizeof two);
  return _mm256_permutevar_ps(_mm256_castpd_ps(_mm256_set1_pd(two)),
                              _mm256_set_epi32(1, 1, 1, 1, 0, 0, 0, 0));
}

/// Rows n, n + apart ... of the weights by all of x's, which are xs at most.
template <class F, int rows, int xs>
WICK_HD void word_dots(const LinearTile& t, int64 n, int64 apart, L (&sums)[xs][rows]) {
  using S = Scales<F>;
  using Tag = typename S::Tag;
  constexpr bool kAddsOffsets = F::kHasOffset || F::kBias != 0;
  constexpr int kBlockRuns = kBlockElements<F> / kRun;
  constexpr int kUnitBytes = kUnitBlocks<F> * kBlockBytes<F>;
  const int16* x[xs];
  const float* steps[xs];
  for (int m = 0; m < xs; m++) {
    const char* const row = t.x + smaller(m, t.m - 1) * t.x_m;
    x[m] = shorts_of(row), steps[m] = steps_of<F>(row, t.k, 0);
  }
  __m256 total[rows][xs];
  typename S::Vector offsets[rows][xs];
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
    for (int m = 0; m < xs; m++) total[r][m] = _mm256_setzero_ps(), offsets[r][m] = hn::Zero(Tag());
  const uint8* const first = static_cast<const uint8*>(t.w) + n * t.w_n;
  const int64 blocks = t.k / kBlockElements<F>, units = units_of(t.k), stride = apart * t.w_n;
  const auto count_of = [blocks](int64 unit) {
    return int(smaller(blocks - unit * kUnitBlocks<F>, kUnitBlocks<F>));
  };
  // Scales are ready long before their use: multiplying a unit follows the read of the next scales.
  alignas(32) float scales[2][rows][xs][kUnitGroups<F>];
  const auto read_scales = [&](int64 unit) __attribute__((always_inline)) {
    const int64 ahead = rows == 1 ? 2048 : distance_in_quarter(n, unit * kUnitBytes, t.n, t.w_n);
#pragma GCC unroll 1
    for (int r = 0; r < rows; r++) {
      const uint8* const w = first + r * stride + unit * kUnitBytes;
      fetch_ahead<kUnitBytes>(w, ahead);
      S of;
      of.read(w, count_of(unit));
#pragma GCC unroll 8
      for (int m = 0; m < xs; m++) {
        const float* const of_unit = steps[m] + unit * kUnitGroups<F> * 2;
#pragma GCC unroll 2
        for (int i = 0; i < S::kParts; i++) {
          const Tag tag;
          hn::Store(hn::Mul(of.scale[i], hn::LoadU(tag, of_unit + i * S::kLanes)), tag,
                    scales[unit % 2][r][m] + i * S::kLanes);
          const auto by = hn::LoadU(tag, of_unit + kUnitGroups<F> + i * S::kLanes);
          if constexpr (kAddsOffsets)
            offsets[r][m] =
                hn::MulAdd(F::kHasOffset ? of.offset[i] : of.scale[i], by, offsets[r][m]);
        }
      }
    }
  };
  const auto multiply = [&](int64 unit) __attribute__((always_inline)) {
    const int count = count_of(unit);
    const uint8* const w = first + unit * kUnitBytes;
    // Run `run` of block b of each row.
    const auto add = [&]<int run>(int b) __attribute__((always_inline)) {
      const int of_unit = b * kBlockRuns + run;
#pragma GCC unroll 8
      for (int r = 0; r < rows; r++) {
        const RunWords words = RunWords::of<F, run>(w + r * stride + b * kBlockBytes<F>);
#pragma GCC unroll 8
        for (int m = 0; m < xs; m++) {
          const __m256i dots = words.times(x[m] + unit * kUnit + of_unit * kRun);
          total[r][m] =
              _mm256_fmadd_ps(_mm256_cvtepi32_ps(dots),
                              lanes_of_scales<F>(scales[unit % 2][r][m], of_unit), total[r][m]);
        }
      }
    };
    if (kBlockRuns > 1 || count == kUnitBlocks<F>) {
      [&]<int... run>(std::integer_sequence<int, run...>) __attribute__((always_inline)) {
        (add.template operator()<run % kBlockRuns>(run / kBlockRuns), ...);
      }
      (std::make_integer_sequence<int, kUnit / kRun>());
    } else {
#pragma GCC unroll 1
      for (int b = 0; b < count; b++) add.template operator()<0>(b);
    }
  };
  for (int64 unit = 0; unit <= units; unit++) {
    if (unit < units) read_scales(unit);
    if (unit > 0) multiply(unit - 1);
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
    for (int m = 0; m < xs; m++) {
      __m256 all = total[r][m];
      if constexpr (kAddsOffsets) {
        const __m256 factor = _mm256_set1_ps(F::kHasOffset ? 1 : float(-F::kBias));
        all = _mm256_fmadd_ps(offsets[r][m].raw, factor, all);
      }
      sums[m][r] = L(hn::Vec<hn::ScalableTag<float>>{all});
    }
}

#endif

}  // namespace wick::cpu::WICK_ISA
