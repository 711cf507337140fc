// Products of block weights with a few rows of x on AVX2, for formats whose runs have 16 bytes of
// lower bits: the halves of a vector hold the bytes of runs r and r + 4 of a unit. One shift and
// one mask then unpack both runs, and a shuffle within halves spreads their two scales.
//
// Products are of words, or with one row of x and small quants of bytes:
//
//   sum of quants x = 256 (sum of quants high) + sum of quants low,  x = 256 high + low
//
// Included by linear_int16.cpp alone.
#pragma once
#include <immintrin.h>
#include <string.h>

#include <type_traits>

#include "kernels/linear_packed.h"
#include "kernels/linear_words.h"
#include "kernels/panel.h"

namespace wick::cpu::WICK_ISA {

#if defined(__AVX2__) && !defined(__AVX512F__)

/// The bytes of runs p and p + 4 of a unit.
template <class F, int p>
struct PairOfRuns {
  static constexpr bool is_large = kBlockElements<F> == kUnit;
  static constexpr int kApart = is_large ? 4 * F::kLowBytes : 4 * kBlockBytes<F>;
  const uint8* block;  // of the first
  __m256i lower;

  explicit WICK_HD PairOfRuns(const uint8* unit)
      : block(unit + (is_large ? 0 : p * kBlockBytes<F>)) {
    const uint8* const at = block + F::low(is_large ? p : 0).byte;
    lower = _mm256_inserti128_si256(_mm256_castsi128_si256(load_16(at)), load_16(at + kApart), 1);
  }
  /// The quants of the first 16 elements and of the last 16. Quants of tables have this bias.
  template <int bias>
  WICK_HD void quants(__m256i (&halves)[2]) const {
    const __m256i mask = _mm256_set1_epi8(15);
    halves[0] = _mm256_and_si256(lower, mask);
    halves[1] = _mm256_and_si256(_mm256_srli_epi16(lower, 4), mask);
    if constexpr (kHasQuantTable<F>) {
      static constexpr QuantTable table = F::values();
      const __m256i values = _mm256_add_epi8(_mm256_broadcastsi128_si256(load_16(table.words)),
                                             _mm256_set1_epi8(bias));
      for (__m256i& half : halves) half = _mm256_shuffle_epi8(values, half);
    } else if constexpr (F::kBits == 5) {
      const uint8* const high = block + F::high(0).byte;
      const __m256i bits = _mm256_blend_epi32(_mm256_set1_epi32(int(word_at(high))),
                                              _mm256_set1_epi32(int(word_at(high + kApart))), 0xf0);
      for (int i = 0; i < 2; i++) halves[i] = _mm256_or_si256(halves[i], fifth_bits(bits, i));
    }
  }

 private:
  /// 16 in the bytes of the elements of a half of each run whose bit is set. bits: each run's, in
  /// all lanes of its half.
  static WICK_HD __m256i fifth_bits(__m256i bits, int half) {
    const __m128i first = _mm_set_epi64x(0x0101010101010101, 0);
    const __m256i bytes = _mm256_shuffle_epi8(
        bits,
        _mm256_broadcastsi128_si256(half == 0 ? first : _mm_add_epi8(first, _mm_set1_epi8(2))));
    // A byte with the bit 128 is negative: its sign turns -16 into 16.
    const __m256i bit = _mm256_set1_epi64x(int64(0x8040201008040201)),
                  sixteen = _mm256_set1_epi64x(int64(0xf010101010101010));
    return _mm256_sign_epi8(sixteen, _mm256_and_si256(bytes, bit));
  }
};

/// The quants of two runs as words: the even elements of their first 16, the odd ones, the even
/// elements of their last 16, the odd ones.
template <class F, int p, bool has_bias>
struct PairWords {
  __m256i of[4];

  /// Quants of tables are unsigned, with the bias kByteBias, if has_bias, and signed if not; others
  /// are unsigned.
  explicit WICK_HD PairWords(const uint8* unit) {
    const PairOfRuns<F, p> runs(unit);
    if constexpr (F::kBits == 4 && !kHasQuantTable<F>) {
      const __m256i mask = _mm256_set1_epi16(15);
      of[0] = _mm256_and_si256(runs.lower, mask);
      of[1] = _mm256_and_si256(_mm256_srli_epi16(runs.lower, 8), mask);
      of[2] = _mm256_and_si256(_mm256_srli_epi16(runs.lower, 4), mask);
      of[3] = _mm256_srli_epi16(runs.lower, 12);
      return;
    }
    __m256i halves[2];
    runs.template quants<has_bias ? kByteBias<F> : 0>(halves);
    for (int i = 0; i < 2; i++) {
      if constexpr (kHasQuantTable<F> && !has_bias) {
        of[2 * i] = _mm256_srai_epi16(_mm256_slli_epi16(halves[i], 8), 8);
        of[2 * i + 1] = _mm256_srai_epi16(halves[i], 8);
      } else {
        of[2 * i] = _mm256_and_si256(halves[i], _mm256_set1_epi16(255));
        of[2 * i + 1] = _mm256_srli_epi16(halves[i], 8);
      }
    }
  }
  /// The sums of the products with the integers of x, of eight elements in a lane.
  WICK_HD __m256i times(const int16* x) const {
    const auto product = [&](int i) __attribute__((always_inline)) {
      return _mm256_madd_epi16(of[i],
                               _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + 16 * i)));
    };
    return _mm256_add_epi32(_mm256_add_epi32(product(0), product(1)),
                            _mm256_add_epi32(product(2), product(3)));
  }
};

/// The quants of two runs as bytes.
template <class F, int p>
struct PairBytes {
  __m256i halves[2];

  explicit WICK_HD PairBytes(const uint8* unit) {
    PairOfRuns<F, p>(unit).template quants<kPlaneBias<F>>(halves);
  }
  /// The sums of the products with the planes of x, of eight elements in a lane.
  WICK_HD __m256i times(const int16* x) const {
    // The sums of four products of a plane.
    const auto fours = [&](int plane) __attribute__((always_inline)) {
      const auto* const of_x = reinterpret_cast<const __m256i*>(x) + 2 * plane;
      return _mm256_add_epi16(_mm256_maddubs_epi16(halves[0], _mm256_loadu_si256(of_x)),
                              _mm256_maddubs_epi16(halves[1], _mm256_loadu_si256(of_x + 1)));
    };
    return _mm256_add_epi32(_mm256_madd_epi16(fours(0), _mm256_set1_epi16(256)),
                            _mm256_madd_epi16(fours(1), _mm256_set1_epi16(1)));
  }
};

/// Rows n, n + apart ... of the weights by all of x's, which are xs at most.
template <class F, int rows, int xs>
WICK_HD void pair_dots(const LinearTile& t, int64 n, int64 apart, L (&sums)[xs][rows]) {
  using S = Scales<F>;
  static_assert(S::kLanes == 8 && S::kParts == 1);
  constexpr bool kPlanes = kHasPlanes<F> && xs == 1;
  constexpr int kBias = kPlanes ? kPlaneBias<F> : F::kBias;
  constexpr bool kAddsOffsets = F::kHasOffset || kBias != 0;
  // Quants of tables without a bias take an instruction more, corrections take one for each x.
  constexpr bool kAddsCorrections = kCorrects<F> && xs == 1 && !kPlanes;
  constexpr int kUnitBytes = kUnitBlocks<F> * kBlockBytes<F>;
  const char* x[xs];
  for (int m = 0; m < xs; m++) x[m] = t.x + smaller(m, t.m - 1) * t.x_m;
  __m256 total[rows][xs], offsets[rows][xs];
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
    for (int m = 0; m < xs; m++) total[r][m] = offsets[r][m] = _mm256_setzero_ps();
  const int64 blocks = t.k / kBlockElements<F>;
  const uint8* next = static_cast<const uint8*>(t.w) + n * t.w_n;
  alignas(32) uint8 padded[rows][kUnitBytes];
  for (int64 unit = 0; unit * kUnitBlocks<F> < blocks; unit++, next += kUnitBytes) {
    const uint8* w = next;
    int64 stride = apart * t.w_n;  // of the rows
    const int64 ahead = rows == 1 ? 2048 : distance_in_quarter(n, unit * kUnitBytes, t.n, t.w_n);
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) fetch_ahead<kUnitBytes>(w + r * stride, ahead);
    if (const int64 left = blocks - unit * kUnitBlocks<F>; left < kUnitBlocks<F>) {
      memset(padded, 0, sizeof padded);
      for (int r = 0; r < rows; r++)
        memcpy(padded[r], w + r * stride, size_t(left * kBlockBytes<F>));
      w = padded[0], stride = kUnitBytes;
    }
    __m256 scales[rows][xs];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
      S of;
      of.read(w + r * stride, kUnitBlocks<F>);
#pragma GCC unroll 8
      for (int m = 0; m < xs; m++) {
        const float* const steps = steps_of<F>(x[m], t.k, unit);
        scales[r][m] = _mm256_mul_ps(of.scale[0].raw, _mm256_loadu_ps(steps));
        if constexpr (kAddsOffsets)
          offsets[r][m] = _mm256_fmadd_ps(F::kHasOffset ? of.offset[0].raw : of.scale[0].raw,
                                          _mm256_loadu_ps(steps + kUnitGroups<F>), offsets[r][m]);
      }
    }
    const auto add = [&]<int p>() __attribute__((always_inline)) {
#pragma GCC unroll 8
      for (int r = 0; r < rows; r++) {
        using Words = PairWords<F, p, kAddsCorrections>;
        const std::conditional_t<kPlanes, PairBytes<F, p>, Words> quants(w + r * stride);
#pragma GCC unroll 8
        for (int m = 0; m < xs; m++) {
          __m256i dots = quants.times(shorts_of(x[m]) + unit * kUnit + p * 2 * kRun);
          if constexpr (kAddsCorrections)
            dots = _mm256_add_epi32(
                dots,
                _mm256_loadu_si256(
                    reinterpret_cast<const __m256i*>(corrections_of<F>(x[m], t.k, unit)) + p));
          total[r][m] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(dots),
                                        _mm256_permute_ps(scales[r][m], p * 0x55), total[r][m]);
        }
      }
    };
    add.template operator()<0>();
    add.template operator()<1>();
    add.template operator()<2>();
    add.template operator()<3>();
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
    for (int m = 0; m < xs; m++) {
      __m256 all = total[r][m];
      if constexpr (kAddsOffsets) {
        const __m256 factor = _mm256_set1_ps(F::kHasOffset ? 1 : float(-kBias));
        all = _mm256_fmadd_ps(offsets[r][m], factor, all);
      }
      sums[m][r] = L(hn::Vec<hn::ScalableTag<float>>{all});
    }
}

#endif

}  // namespace wick::cpu::WICK_ISA
