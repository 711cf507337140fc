// Rows of x and scales of weights as the products of linear_int16.cpp read them, by units of 256
// elements.
#pragma once
#include <immintrin.h>
#include <string.h>

#include "kernels/fold.h"
#include "kernels/linear_bytes.h"
#include "kernels/quants.h"
#include "scalar/activation_steps.h"

namespace wick::cpu::WICK_ISA {

using L = Lanes<float>;
using I16 = hn::ScalableTag<int16>;
using I32 = hn::ScalableTag<int32>;
using Shorts = hn::Vec<I16>;
using Ints = hn::Vec<I32>;

inline constexpr int kRun = blocks::kRun, kRunParts = kRun / HWY_LANES(int16);
inline constexpr int kCount = L::kCount;

// Scales are read by units of 256 weights: a block or 8.
inline constexpr int kUnit = 256;
/// Elements that share a scale here: a run at most.
template <class F>
inline constexpr int kGroup = F::kGroup < kRun ? F::kGroup : kRun;
template <class F>
inline constexpr int kUnitGroups = kUnit / kGroup<F>;  // 8 or 16
template <class F>
inline constexpr int kUnitBlocks = kUnit / kBlockElements<F>;

WICK_HD L to_floats(Ints x) { return hn::ConvertTo(hn::ScalableTag<float>(), x); }

// ---- x

// A row of x: integers of 16 bits, whole or in planes of bytes; the units' corrections, if the
// format has some; for each unit the groups' steps, and their steps times the sums of the integers.
// Zeros stand beyond k.

/// Corrections of a unit: by lanes of the steps of linear_bytes.h or the pairs of linear_pairs.h.
template <class F>
inline constexpr int kCorrections = [] {
  if constexpr (kCorrects<F>)
    return kHasPairs<F> ? kUnit / 8 : ByteOrder<F>::kSteps * 16;
  else
    return 0;
}();

WICK_HD int64 units_of(int64 k) { return (k + kUnit - 1) / kUnit; }
template <class F>
WICK_HD int64 integer_bytes(int64 k) {
  return units_of(k) * (kUnit * int64(sizeof(int16)) + kCorrections<F> * int64(sizeof(int32)));
}
template <class F>
int64 x_bytes(int64 k) {
  return integer_bytes<F>(k) + units_of(k) * kUnitGroups<F> * 2 * int64(sizeof(float));
}
WICK_HD const int16* shorts_of(const char* row) { return reinterpret_cast<const int16*>(row); }
/// The upper bytes of a unit, in the order ByteOrder; the lower ones follow.
WICK_HD const int8* bytes_of(const char* row, int64 unit) {
  return reinterpret_cast<const int8*>(row) + unit * kUnit * 2;
}
template <class F>
WICK_HD const int32* corrections_of(const char* row, int64 k, int64 unit) {
  return reinterpret_cast<const int32*>(row + units_of(k) * kUnit * 2) + unit * kCorrections<F>;
}
/// The steps of a unit; its sums follow.
template <class F>
WICK_HD const float* steps_of(const char* row, int64 k, int64 unit) {
  return reinterpret_cast<const float*>(row + integer_bytes<F>(k)) + unit * kUnitGroups<F> * 2;
}

#if defined(__AVX512F__)
/// Writes the i-th 16 integers of a unit as bytes, and their corrections.
template <class F>
WICK_HD void pack_bytes(__m512i x, int i, int8* unit, int32* corrections) {
  using Order = ByteOrder<F>;
  const __m512i high =
      _mm512_maskz_srai_epi32(0xffff, _mm512_add_epi32(x, _mm512_set1_epi32(128)), 8);
  const __m512i low = _mm512_sub_epi32(x, _mm512_maskz_slli_epi32(0xffff, high, 8));
  const auto store = [](__m512i bytes, int8* to) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_maskz_cvtepi32_epi8(0xffff, bytes));
  };
  int8* const to = unit + Order::place(i) * 16;
  store(high, to);
  store(low, to + kUnit);
  if constexpr (kCorrects<F>) {
    // Sums of four neighbours, in every fourth lane.
    const __m512i pairs = _mm512_add_epi32(x, _mm512_maskz_srli_epi64(0xff, x, 32));
    const __m512i fours =
        _mm512_add_epi32(pairs, _mm512_maskz_shuffle_epi32(0xffff, pairs, _MM_PERM_BADC));
    const __m128i sums =
        _mm256_castsi256_si128(lower_half(_mm512_maskz_compress_epi32(0x1111, fours)));
    const __m128i correction = _mm_mullo_epi32(sums, _mm_set1_epi32(-kByteBias<F>));
    const int piece = Order::place(i), of_step = piece % (4 * Order::kParts);
    __m128i* const at = reinterpret_cast<__m128i*>(corrections + piece / (4 * Order::kParts) * 16 +
                                                   of_step % 4 * 4);
    _mm_storeu_si128(at, of_step < 4 ? correction : _mm_add_epi32(_mm_loadu_si128(at), correction));
  }
}
#endif

#if defined(__AVX2__) && !defined(__AVX512F__)
/// The even integers of each 16 bytes in the lower 8 bytes, then the odd ones.
WICK_HD __m256i parted(__m256i x) {
  return _mm256_shuffle_epi8(x, _mm256_broadcastsi128_si256(_mm_set_epi8(
                                    15, 14, 11, 10, 7, 6, 3, 2, 13, 12, 9, 8, 5, 4, 1, 0)));
}
/// Writes the even integers of a run in front of the odd ones.
WICK_HD void pack_words(const int16* run, int16* to) {
  const __m256i* const from = reinterpret_cast<const __m256i*>(run);
  const __m256i a = parted(_mm256_loadu_si256(from)), b = parted(_mm256_loadu_si256(from + 1));
  const auto store = [to](int i, __m256i x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to) + i, _mm256_permute4x64_epi64(x, 0xd8));
  };
  store(0, _mm256_unpacklo_epi64(a, b));
  store(1, _mm256_unpackhi_epi64(a, b));
}
/// Writes run r of a unit, and its corrections, where linear_pairs.h reads them: of a pair's four
/// vectors, a half of each.
template <class F>
WICK_HD void pack_pair(const int16* run, int r, int16* unit, int32* corrections) {
  const __m256i* const from = reinterpret_cast<const __m256i*>(run);
  __m128i* const to = reinterpret_cast<__m128i*>(unit) + r % 4 * 8 + r / 4;
  [[maybe_unused]] __m256i sums = _mm256_setzero_si256();
  for (int half = 0; half < 2; half++) {
    const __m256i both = _mm256_permute4x64_epi64(parted(_mm256_loadu_si256(from + half)), 0xd8);
    _mm_storeu_si128(to + half * 4, _mm256_castsi256_si128(both));
    _mm_storeu_si128(to + half * 4 + 2, _mm256_extracti128_si256(both, 1));
    if constexpr (kCorrects<F>)
      sums = _mm256_add_epi32(sums, _mm256_madd_epi16(both, _mm256_set1_epi16(-kByteBias<F>)));
  }
  if constexpr (kCorrects<F>)
    _mm_storeu_si128(
        reinterpret_cast<__m128i*>(corrections) + r % 4 * 2 + r / 4,
        _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1)));
}
/// Writes run r of a unit in planes: for a pair the upper bytes of the first 16 elements and of the
/// last 16, then the lower bytes.
WICK_HD void pack_planes(const int16* run, int r, int16* unit) {
  const __m256i* const from = reinterpret_cast<const __m256i*>(run);
  __m128i* const to = reinterpret_cast<__m128i*>(unit) + r % 4 * 8 + r / 4;
  for (int half = 0; half < 2; half++) {
    const __m256i x = _mm256_loadu_si256(from + half);
    const __m256i high = _mm256_srai_epi16(_mm256_add_epi16(x, _mm256_set1_epi16(128)), 8);
    const __m256i low = _mm256_sub_epi16(x, _mm256_slli_epi16(high, 8));
    const __m256i bytes = _mm256_permute4x64_epi64(_mm256_packs_epi16(high, low), 0xd8);
    _mm_storeu_si128(to + half * 2, _mm256_castsi256_si128(bytes));
    _mm_storeu_si128(to + half * 2 + 4, _mm256_extracti128_si256(bytes, 1));
  }
}
#endif

/// For how many rows of x, which are multiplied at once, a row is packed.
enum class Rows { kMany, kFew, kOne };

/// LinearParts::pack_x, or pack_few_x for the products of linear_bytes.h, linear_words.h or
/// linear_pairs.h, or pack_one_x.
template <class F, Rows rows>
bool pack_x(const float* x, int64 first, int64 n, int64 k, void* to_row) {
  constexpr int group = kGroup<F>, kParts = kRun / kCount, kGroupParts = group / kCount;
  constexpr bool is_few = rows != Rows::kMany;
  char* const row = static_cast<char*>(to_row);
  int16* const integers = reinterpret_cast<int16*>(row) + first;
  const hn::Rebind<int16, I32> half;
  if (first + n == k && k % kUnit != 0) {
    const int64 unit = k / kUnit;
    memset(row + unit * kUnit * 2, 0, kUnit * 2);
    if constexpr (kCorrects<F>)
      memset(const_cast<int32*>(corrections_of<F>(row, k, unit)), 0,
             kCorrections<F> * sizeof(int32));
    memset(const_cast<float*>(steps_of<F>(row, k, unit)), 0, kUnitGroups<F> * 2 * sizeof(float));
  }
  for (int64 e = 0; e < n; e += kRun) {
    const int64 unit = (first + e) / kUnit;
    const int in_unit = int((first + e) % kUnit);
    int16* to = integers + e;
#if defined(__AVX2__) && !defined(__AVX512F__)
    alignas(32) int16 run[kRun];
    if constexpr (is_few && kHasWords<F> && !kKeepsOrder<F>) to = run;
#endif
    L v[kParts], size(0.0f);
    Ints exponents = hn::Zero(I32());
    const Ints no_number = hn::Set(I32(), 0x7f800000);  // the exponent of infinities and NaN
    for (int i = 0; i < kParts; i++) {
      v[i] = L::load(x + e + i * kCount);
      size = larger(size, abs(v[i]));
      exponents = hn::Max(exponents, hn::And(hn::BitCast(I32(), v[i].v), no_number));
    }
    const float most = largest_across(size);
    if (!hn::AllTrue(I32(), hn::Lt(exponents, no_number))) return false;
    if (most > kMaxActivation || (most < kLeastActivation && most != 0)) return false;
    const L inverse(most == 0 ? 0 : kMaxSteps / most);
    const float step = most / kMaxSteps;
    float* const steps = const_cast<float*>(steps_of<F>(row, k, unit)) + in_unit / group;
    for (int g = 0; g < kRun / group; g++) {
      Ints sum = hn::Zero(I32());
      for (int i = g * kGroupParts; i < (g + 1) * kGroupParts; i++) {
        const Ints rounded = hn::NearestInt((v[i] * inverse).v);
        sum = hn::Add(sum, rounded);
#if defined(__AVX512F__)
        if constexpr (is_few) {
          pack_bytes<F>(rounded.raw, in_unit / 16 + i, const_cast<int8*>(bytes_of(row, unit)),
                        const_cast<int32*>(corrections_of<F>(row, k, unit)));
          continue;
        }
#endif
        hn::StoreU(hn::DemoteTo(half, rounded), half, to + i * kCount);
      }
      steps[g] = step;
      if constexpr (is_few) steps[g] /= float(quant_factor<F>(in_unit / group + g));
      steps[g + kUnitGroups<F>] = step * sum_across(to_floats(sum));
    }
#if defined(__AVX512F__)
    if constexpr (!is_few && Quants<F, int16>::kReorders)
      hn::StoreU(Quants<F, int16>::from_order(hn::LoadU(I16(), to)), I16(), to);
#endif
#if defined(__AVX2__) && !defined(__AVX512F__)
    if constexpr (rows == Rows::kOne && kHasPlanes<F>)
      pack_planes(run, in_unit / kRun, reinterpret_cast<int16*>(row) + unit * kUnit);
    else if constexpr (is_few && kHasPairs<F>)
      pack_pair<F>(run, in_unit / kRun, reinterpret_cast<int16*>(row) + unit * kUnit,
                   const_cast<int32*>(corrections_of<F>(row, k, unit)));
    else if constexpr (is_few && kHasWords<F> && !kKeepsOrder<F>)
      pack_words(run, integers + e);
#endif
  }
  return true;
}

// ---- scales

WICK_HD uint32 word_at(const uint8* from) {
  uint32 word;
  memcpy(&word, from, sizeof word);
  return word;
}
WICK_HD uint16 half_at(const uint8* from) {
  uint16 half;
  memcpy(&half, from, sizeof half);
  return half;
}
WICK_HD float f16_at(const uint8* from) {
#if defined(__F16C__)
  return _cvtsh_ss(half_at(from));
#else
  return blocks::f16_at(from);
#endif
}
WICK_HD __m128i eight_bytes(uint64 bytes) { return _mm_cvtsi64_si128((long long)bytes); }

#if defined(__AVX2__)
/// Of a block of q4_k or q5_k the 8 scales in 6 bits, then the 8 offsets.
WICK_HD __m128i six_bits_each(const uint8* block) {
  const __m128i all = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block));
  const __m128i low =
      _mm_shuffle_epi8(all, _mm_set_epi8(15, 14, 13, 12, 11, 10, 9, 8, 15, 14, 13, 12, 7, 6, 5, 4));
  const __m128i high =
      _mm_shuffle_epi8(all, _mm_set_epi8(11, 10, 9, 8, -1, -1, -1, -1, 7, 6, 5, 4, -1, -1, -1, -1));
  const __m128i moved = _mm_srlv_epi32(low, _mm_set_epi32(4, 0, 0, 0));
  return _mm_or_si128(
      _mm_and_si128(moved, _mm_set_epi32(0x0f0f0f0f, 0x3f3f3f3f, 0x0f0f0f0f, 0x3f3f3f3f)),
      _mm_and_si128(_mm_srli_epi16(high, 2), _mm_set1_epi8(0x30)));
}
/// The 16 scales of a block of q3_k.
WICK_HD __m128i scales_of_q3_k(const uint8* block) {
  const __m128i low = eight_bytes(word_at(block + 96) | uint64(word_at(block + 100)) << 32);
  const __m128i both = _mm_unpacklo_epi64(low, _mm_srli_epi16(low, 4));
  const __m128i high =
      _mm_srlv_epi32(_mm_set1_epi32(int(word_at(block + 104))), _mm_set_epi32(6, 4, 2, 0));
  const __m128i six = _mm_or_si128(_mm_and_si128(both, _mm_set1_epi8(15)),
                                   _mm_slli_epi16(_mm_and_si128(high, _mm_set1_epi8(3)), 4));
  return _mm_sub_epi8(six, _mm_set1_epi8(32));
}
#endif

/// The groups' scales, and their offsets if the format has them.
template <class F>
struct Scales {
  using Tag = hn::CappedTag<float, kUnitGroups<F>>;
  static constexpr int kLanes = HWY_MIN(kCount, kUnitGroups<F>), kParts = kUnitGroups<F> / kLanes;
  using Vector = hn::Vec<Tag>;
  Vector scale[kParts], offset[kParts];

  /// Reads the scales of a unit's `count` blocks.
  WICK_HD void read(const uint8* block, int count) {
    if constexpr (kSame<F, Q2_K>) {
      const __m128i both = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block));
      const __m128i four = _mm_set1_epi8(15);
      set<uint8>(scale, _mm_and_si128(both, four), f16_at(block + 80));
      set<uint8>(offset, _mm_and_si128(_mm_srli_epi16(both, 4), four), -f16_at(block + 82));
    } else if constexpr (kSame<F, Q6_K>) {
      set<int8>(scale, _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + 192)),
                f16_at(block + 208));
#if defined(__AVX2__)
    } else if constexpr (kSame<F, Q4_K> || kSame<F, Q5_K>) {
      const __m128i both = six_bits_each(block);
      // The factor of the offsets is negative.
      const __m128i halves = _mm_cvtsi32_si128(int(word_at(block) ^ 0x80000000));
      const __m128 factors = _mm_cvtph_ps(halves);
      set<uint8>(scale, both, factors[0]);
      set<uint8>(offset, _mm_srli_si128(both, 8), factors[1]);
    } else if constexpr (kSame<F, Q3_K>) {
      set<int8>(scale, scales_of_q3_k(block), f16_at(block + 108));
#endif
#if defined(__BMI2__)
    } else if constexpr (kSame<F, IQ4_XS>) {
      const uint64 lower = _pdep_u64(word_at(block + 4), 0x0f0f0f0f0f0f0f0f);
      const uint64 upper = _pdep_u64(half_at(block + 2), 0x3030303030303030);
      set<int8>(scale, _mm_sub_epi8(eight_bytes(lower | upper), _mm_set1_epi8(32)), f16_at(block));
#endif
#if defined(__AVX2__)
    } else if constexpr (kSame<F, MXFP4>) {
      if (count == kUnitBlocks<F>) {
        // Exponent b is byte b of the bytes that begin b bytes before it.
        const auto at = [block](int b) {
          return _mm_loadu_si128(
              reinterpret_cast<const __m128i*>(block + b * (kBlockBytes<F> - 1)));
        };
        const auto four = [at](int b) {
          return _mm_blend_epi16(_mm_blend_epi16(at(b), at(b + 2), 2),
                                 _mm_blend_epi16(at(b + 4), at(b + 6), 8), 12);
        };
        const __m128i exponents = _mm_blendv_epi8(four(1), four(0), _mm_set1_epi16(255));
        // (e - 1) << 23, or for the subnormal scales of e = 0 and 1 (e + 1) << 21: the larger.
        const __m256i e = _mm256_cvtepu8_epi32(exponents), one = _mm256_set1_epi32(1);
        const __m256i normal = _mm256_slli_epi32(_mm256_sub_epi32(e, one), 23);
        const __m256i small = _mm256_slli_epi32(_mm256_add_epi32(e, one), 21);
        scale[0] = Vector{_mm256_castsi256_ps(_mm256_max_epi32(normal, small))};
      } else {
        set_each(block, count);
      }
#endif
#if defined(__F16C__)
    } else if constexpr (requires { F::kScaleBytes; }) {
      if (count == kUnitBlocks<F>) {
#if defined(__AVX2__)
        if constexpr (F::kHasOffset) return set_both(block);
#endif
        set_halves(scale, block);
        if constexpr (F::kHasOffset) set_halves(offset, block + 2);
      } else {
        set_each(block, count);
      }
#endif
    } else {
      set_each(block, count);
    }
  }

 private:
  template <class Byte>
  static WICK_HD void set(Vector (&to)[kParts], __m128i bytes, float factor) {
    const hn::Rebind<Byte, Tag> narrow;
    const hn::Rebind<int32, Tag> i32;
    const hn::Full128<Byte> all;
    hn::Vec<decltype(all)> rest{bytes};
#pragma GCC unroll 4
    for (int i = 0; i < kParts; i++) {
      const hn::Vec<decltype(narrow)> part{rest.raw};
      to[i] = hn::Mul(hn::ConvertTo(Tag(), hn::PromoteTo(i32, part)), hn::Set(Tag(), factor));
      if constexpr (kParts > 1) rest = hn::ShiftRightBytes<kLanes % 16>(all, rest);
    }
  }
#if defined(__F16C__)
#if defined(__AVX2__)
  /// Scales and offsets that stand beside each other in f16, of 8 blocks.
  WICK_HD void set_both(const uint8* block) {
    static_assert(kParts == 1 && kLanes == 8);
    // The scales and offsets of blocks b, b + 1, b + 4 and b + 5. The i-th block's are lane i of
    // the 16 bytes that begin i lanes before them.
    const auto of_four = [block](int b) {
      const auto at = [&](int i) {
        const int from = b + i / 2 * 4 + i % 2;
        return _mm_loadu_si128(
            reinterpret_cast<const __m128i*>(block + from * kBlockBytes<F> - 4 * i));
      };
      return _mm256_cvtph_ps(
          _mm_blend_epi32(_mm_blend_epi32(at(0), at(1), 2), _mm_blend_epi32(at(2), at(3), 8), 12));
    };
    const __m256 a = of_four(0), b = of_four(2);
    scale[0] = Vector{_mm256_shuffle_ps(a, b, 0x88)};
    offset[0] = Vector{_mm256_shuffle_ps(a, b, 0xdd)};
  }
#endif
  /// f16 fields of 8 blocks.
  static WICK_HD void set_halves(Vector (&to)[kParts], const uint8* field) {
    static_assert(kParts == 1 && kLanes == 8);
    // Field b is word b of the bytes that begin b words before it.
    const auto at = [field](int b) {
      return _mm_loadu_si128(reinterpret_cast<const __m128i*>(field + b * (kBlockBytes<F> - 2)));
    };
    const __m128i a = _mm_blend_epi16(at(0), at(1), 2), b = _mm_blend_epi16(at(2), at(3), 8),
                  c = _mm_blend_epi16(at(4), at(5), 32), d = _mm_blend_epi16(at(6), at(7), 128);
    to[0] = Vector{_mm256_cvtph_ps(
        _mm_blend_epi16(_mm_blend_epi16(a, b, 12), _mm_blend_epi16(c, d, 192), 240))};
  }
#endif
  WICK_HD void set_each(const uint8* block, int count) {
    constexpr int kGroups = kUnitGroups<F> / kUnitBlocks<F>;
    alignas(64) float scales[kUnitGroups<F>] = {}, offsets[kUnitGroups<F>] = {};
    for (int b = 0; b < count; b++)
#pragma GCC unroll 16
      for (int g = 0; g < kGroups; g++) {
        const BlockScale of = F::scale_of(block + b * kBlockBytes<F>, g * kGroup<F> / F::kGroup);
        scales[b * kGroups + g] = of.scale, offsets[b * kGroups + g] = of.offset;
      }
    for (int i = 0; i < kParts; i++) {
      scale[i] = hn::LoadU(Tag(), scales + i * kLanes);
      if constexpr (F::kHasOffset) offset[i] = hn::LoadU(Tag(), offsets + i * kLanes);
    }
  }
};

#if defined(__AVX512F__)
/// The scales and offsets of a unit of 8 or 16 groups, in lanes. Formats whose groups are blocks
/// with an f16 scale have lanes_of_field instead.
template <class F>
struct UnitScales {
  // If there are 8 of each, `scale` has both: scales, then offsets. Offsets are negated.
  static constexpr bool kPairs = kUnitGroups<F> == 8 && F::kHasOffset;
  __m512 scale, offset;

  WICK_HD void read(const uint8* unit) {
    if constexpr (kSame<F, Q4_K> || kSame<F, Q5_K>) {
      const __m512i order = _mm512_set_epi32(1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0);
      const __m512i both = _mm512_maskz_cvtepu8_epi32(0xffff, six_bits_each(unit));
      scale = _mm512_mul_ps(to_floats(both), factors(unit, order));
    } else if constexpr (kSame<F, Q2_K>) {
      const __m512i both = _mm512_maskz_cvtepu8_epi32(
          0xffff, _mm_loadu_si128(reinterpret_cast<const __m128i*>(unit)));
      scale = _mm512_mul_ps(to_floats(_mm512_and_si512(both, _mm512_set1_epi32(15))),
                            factors(unit + 80, _mm512_setzero_si512()));
      offset = _mm512_mul_ps(to_floats(_mm512_maskz_srli_epi32(0xffff, both, 4)),
                             factors(unit + 80, _mm512_set1_epi32(1)));
    } else {
      Scales<F> of;
      of.read(unit, kUnitBlocks<F>);
      if constexpr (kUnitGroups<F> == 8)
        scale = _mm512_maskz_broadcast_f32x8(0x00ff, of.scale[0].raw);
      else
        scale = of.scale[0].raw;
    }
  }
  /// The scales times the steps of a row of x. Adds up in `sum` the row's sums by the offsets.
  WICK_HD __m512 times(const float* steps, __m512& sum) const {
    if constexpr (kPairs) {
      const __m512 both = _mm512_mul_ps(scale, _mm512_loadu_ps(steps));
      sum = _mm512_sub_ps(sum, both);
      return both;
    }
    const auto load = [](const float* groups) __attribute__((always_inline)) {
      return _mm512_maskz_loadu_ps(__mmask16((1 << kUnitGroups<F>)-1), groups);
    };
    if constexpr (F::kHasOffset)
      sum = _mm512_fnmadd_ps(offset, load(steps + kUnitGroups<F>), sum);
    else if constexpr (!kCorrects<F>)
      sum = _mm512_fmadd_ps(scale, load(steps + kUnitGroups<F>), sum);
    return _mm512_mul_ps(scale, load(steps));
  }
  /// The part of the product that `times` has added up.
  static WICK_HD __m512 of_sum(__m512 sum) {
    if constexpr (kPairs) return _mm512_maskz_mov_ps(0xff00, sum);
    return _mm512_mul_ps(sum, _mm512_set1_ps(F::kHasOffset ? 1 : -F::kBias));
  }

 private:
  static WICK_HD __m512 to_floats(__m512i x) { return _mm512_maskz_cvtepi32_ps(0xffff, x); }
  /// Of two f16 numbers those that `order` selects.
  static WICK_HD __m512 factors(const uint8* halves, __m512i order) {
    const __m128 both = _mm_cvtph_ps(_mm_cvtsi32_si128(int(word_at(halves))));
    return _mm512_maskz_permutexvar_ps(0xffff, order, _mm512_zextps128_ps512(both));
  }
};
#endif

}  // namespace wick::cpu::WICK_ISA
