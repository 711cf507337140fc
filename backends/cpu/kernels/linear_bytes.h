// Products of block weights with a few rows of x whose 16 bits are two signed bytes, on AVX-512
// with VNNI: vpdpbusd adds up four products of unsigned quants and signed bytes in a lane. Quants
// stay bytes, as the unpacking of half-bytes leaves them; x is packed in the order of the quants.
//
//   sum of quants x = 256 (sum of quants high) + sum of quants low,  x = 256 high + low
//
// Included by linear_int16.cpp alone.
#pragma once
#include <immintrin.h>

#include "kernels/quants.h"

namespace wick::cpu::WICK_ISA {

/// The order in which a unit of 256 elements stands in vectors of 64 bytes. A step is a vector
/// whose lanes, four elements each, belong to one group, or kParts vectors with the same groups.
template <class F>
struct ByteOrder {
  static constexpr int kUnit = 256, kPieces = kUnit / 16;  // of 16 elements
  static constexpr int kGroup = F::kGroup < 32 ? F::kGroup : 32;
  static constexpr int kParts = F::kLowBytes == 16 ? 2 : 1, kSteps = 4 / kParts;

  /// Where the i-th 16 elements are, in pieces.
  static constexpr int place(int i) {
    const int run = i / 2, half = i % 2;
    if (F::kLowBytes == 16) return run / 4 * 8 + half * 4 + run % 4;  // halves of four runs
    if (F::kLowBits == 4 && F::kGroup == 32)  // q4_k, q5_k: of 64 bytes, those with every other run
      return run / 4 * 8 + run % 2 * 4 + run % 4 / 2 * 2 + half;
    if (F::kLowBits == 2) return run % 4 * 4 + run / 4 * 2 + half;  // runs r and r + 4
    return i;
  }
  /// The group of a lane in a step.
  static constexpr int group_of(int step, int lane) {
    const int piece = step * 4 * kParts + lane / 4;
    for (int i = 0; i < kPieces; i++)
      if (place(i) == piece) return i * 16 / kGroup;
    return -1;
  }
};

/// Whether F has the products of this file.
template <class F>
inline constexpr bool kHasBytes = !kHasOctets<F>;
/// Whether x has a correction for each lane: -bias times the sum of its elements, because the bytes
/// of the quants have a bias.
template <class F>
inline constexpr bool kCorrects =
#if defined(__AVX512F__)
    kHasBytes<F> && !F::kHasOffset && F::kGroup == 32;
#else
    false;
#endif
/// The factor of the quants of group g: q4_k and q2_k leave them at their bits of a byte.
template <class F>
constexpr int quant_factor(int group) {
  if (kSame<F, Q4_K>) return group % 2 == 0 ? 1 : 16;
  if (kSame<F, Q2_K>) return 1 << group / 2 % 4 * 2;
  return 1;
}
template <class F>
inline constexpr int kByteBias = kHasQuantTable<F> || F::kBits == 8 ? 128 : F::kBias;

#if defined(__AVX512F__)

/// Neighbouring steps whose quants have bytes in common.
template <class F>
inline constexpr int kStepsOfBytes = ByteOrder<F>::kParts == 2 || F::kBits == 8 ? 1
                                     : F::kLowBits == 2                         ? 4
                                                                                : 2;

/// For each step the groups of its lanes.
template <class F>
struct LaneGroups {
  alignas(64) int32 of[ByteOrder<F>::kSteps][16];
  constexpr LaneGroups() : of() {
    for (int s = 0; s < ByteOrder<F>::kSteps; s++)
      for (int lane = 0; lane < 16; lane++) of[s][lane] = ByteOrder<F>::group_of(s, lane);
  }
};
template <class F>
inline constexpr LaneGroups<F> kLaneGroups;

/// Lanes of 16 bits that come from a field of some blocks: the words where the field begins, by
/// lanes of 32 bits.
template <class F, int field>
struct FieldWords {
  alignas(64) int16 of[32];
  constexpr FieldWords() : of() {
    for (int lane = 0; lane < 16; lane++) {
      const int block = ByteOrder<F>::group_of(0, lane);
      of[lane] = int16((block * kBlockBytes<F> + field) / 2);
    }
  }
};

/// sum + products of unsigned and signed bytes, four a lane. The instruction is not in x86-64-v4:
/// hence the assembly.
WICK_HD __m512i add_fours(__m512i quants, __m512i x, __m512i sum) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(quants), "v"(x));
  return sum;
}
WICK_HD __m512i load_64(const uint8* from) { return _mm512_loadu_si512(from); }
WICK_HD __m512i set_bytes(int byte) { return _mm512_set1_epi8(char(byte)); }
/// a in the lower half, b in the upper one, of lanes of 16 bits.
WICK_HD __m512i halves(int a, int b) {
  return _mm512_maskz_inserti64x4(0xff, _mm512_set1_epi16(short(a)), _mm256_set1_epi16(short(b)),
                                  1);
}
WICK_HD __m512i twice_32(const uint8* from) {
  return _mm512_maskz_broadcast_i64x4(0xff,
                                      _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
// As _mm512_castsi512_si256, of which gcc 12 says that it reads uninitialized values.
WICK_HD __m256i lower_half(__m512i x) {
  return __m256i(__builtin_shufflevector(__v8di(x), __v8di(x), 0, 1, 2, 3));
}
/// Lanes of 16 bits of 16 bytes each of four blocks: a word of the first 64 bytes, or 32 + a word
/// of the last 64.
template <int stride, int field>
struct FourWords {
  alignas(64) int16 of[32];
  constexpr FourWords() : of() {
    for (int lane = 0; lane < 32; lane++) {
      const int word = (lane / 8 * stride + field) / 2 + lane % 8;
      of[lane] = int16(word < 32 ? word : 32 + word - (4 * stride - 64) / 2);
    }
  }
};
/// 16 bytes each of four blocks.
template <int stride, int field>
WICK_HD __m512i four_16(const uint8* block) {
  if constexpr (stride % 2 == 0 && field % 2 == 0) {
    static constexpr FourWords<stride, field> words;
    return _mm512_permutex2var_epi16(load_64(block), _mm512_load_si512(words.of),
                                     load_64(block + 4 * stride - 64));
  }
  const uint8* const from = block + field;
  const auto at = [from](int i) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i * stride));
  };
  __m512i all = _mm512_castsi128_si512(at(0));
  all = _mm512_inserti32x4(all, at(1), 1);
  all = _mm512_inserti32x4(all, at(2), 2);
  return _mm512_inserti32x4(all, at(3), 3);
}
WICK_HD __m512i lower_bits(__m512i bytes, int mask) {
  return _mm512_and_si512(bytes, set_bytes(mask));
}
template <int shift>
WICK_HD __m512i upper_bits(__m512i bytes, int mask) {
  return lower_bits(_mm512_srli_epi16(bytes, shift), mask);
}

/// The quants of a step, as unsigned bytes with the bias kByteBias.
template <class F>
struct StepQuants {
  using Order = ByteOrder<F>;
  __m512i of[Order::kParts];

  template <int s>
  WICK_HD void load(const uint8* unit) {
    if constexpr (Order::kParts == 2) {
      constexpr bool is_large = kBlockElements<F> == 256;
      constexpr int kStride = is_large ? 16 : kBlockBytes<F>;
      const uint8* const first = unit + s * 4 * kStride;
      const __m512i bytes =
          is_large ? load_64(first + F::low(0).byte) : four_16<kStride, F::low(0).byte>(first);
      of[0] = lower_bits(bytes, 15);
      of[1] = upper_bits<4>(bytes, 15);
      if constexpr (kHasQuantTable<F>) {
        static constexpr QuantTable table = F::values();
        const __m512i values = _mm512_xor_si512(
            _mm512_maskz_broadcast_i32x4(
                0xffff, _mm_loadu_si128(reinterpret_cast<const __m128i*>(table.words))),
            set_bytes(0x80));
        for (__m512i& quants : of) quants = _mm512_shuffle_epi8(values, quants);
      }
      if constexpr (F::kHighBytes == 4) {
        uint32 high[4];
        for (int i = 0; i < 4; i++)
          memcpy(&high[i], first + i * kStride + F::high(0).byte, sizeof high[i]);
        const auto mask = [&](int shift) {
          const auto bits = [&](int i) { return uint64(high[i] >> shift & 0xffff) << i * 16; };
          return __mmask64(bits(0) | bits(1) | bits(2) | bits(3));
        };
        for (int part = 0; part < 2; part++)
          of[part] = _mm512_mask_add_epi8(of[part], mask(part * 16), of[part], set_bytes(16));
      }
    } else if constexpr (F::kBits == 8) {
      const uint8* const first = unit + s * 2 * kBlockBytes<F> + F::low(0).byte;
      const auto at = [](const uint8* from) {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
      };
      const __m512i both = _mm512_maskz_inserti64x4(0xff, _mm512_castsi256_si512(at(first)),
                                                    at(first + kBlockBytes<F>), 1);
      of[0] = _mm512_xor_si512(both, set_bytes(0x80));
    } else if constexpr (kSame<F, Q2_K>) {
      of[0] = lower_bits(load_64(unit + F::low(0).byte), 3 << 2 * s);
    } else if constexpr (kSame<F, Q4_K>) {
      of[0] = lower_bits(load_64(unit + F::low(0).byte + s / 2 * 64), s % 2 == 0 ? 15 : 240);
    } else if constexpr (F::kLowBits == 2) {
      of[0] = upper_bits<2 * s>(load_64(unit + F::low(0).byte), 3);
      if constexpr (F::kBits == 3) {
        const __m512i bits = halves(0x0101 << s, 0x0101 << (s + 4));
        const __mmask64 has = _mm512_test_epi8_mask(twice_32(unit + F::high(0).byte), bits);
        of[0] = _mm512_mask_add_epi8(of[0], has, of[0], set_bytes(4));
      }
    } else {
      const __m512i bytes = load_64(unit + F::low(0).byte + s / 2 * 64);
      of[0] = s % 2 == 0 ? lower_bits(bytes, 15) : upper_bits<4>(bytes, 15);
      if constexpr (F::kBits == 5) {
        constexpr int run = s / 2 * 4 + s % 2;  // and run + 2
        const __m512i bits = halves(0x0101 << run, 0x0101 << (run + 2));
        const __mmask64 has = _mm512_test_epi8_mask(twice_32(unit + F::high(0).byte), bits);
        of[0] = _mm512_mask_add_epi8(of[0], has, of[0], set_bytes(16));
      } else if constexpr (F::kBits == 6) {
        const __m512i high = twice_32(unit + F::high(s / 2 * 4).byte);
        // Bits 4 s' ... of run 2 s' go to bit 4, bits 4 s' + 2 ... of the next run too.
        const __m512i moved = s % 2 == 0 ? _mm512_sllv_epi16(high, halves(4, 2))
                                         : _mm512_srlv_epi16(high, halves(0, 2));
        of[0] = _mm512_or_si512(of[0], lower_bits(moved, 0x30));
      }
    }
  }
};

/// The f16 field, or the e8m0 scale, of the blocks of step s, for each lane.
template <class F, int field, int s>
WICK_HD __m512 lanes_of_field(const uint8* unit) {
  using Order = ByteOrder<F>;
  constexpr int kBlocks = 8 / Order::kSteps, kBytes = kBlocks * kBlockBytes<F>;
  static constexpr FieldWords<F, field> words;
  constexpr int kLast = ((kBlocks - 1) * kBlockBytes<F> + field) / 2;
  const uint8* const first = unit + s * kBytes;
  const __m512i index = _mm512_load_si512(words.of);
  __m512i found;
  if constexpr (kLast < 32) {
    found = _mm512_maskz_permutexvar_epi16(0xffffffff, index, load_64(first));
  } else {  // the last word is in the last 64 bytes
    constexpr int kSkipped = (kBytes - 64) / 2;
    const __m512i later = _mm512_add_epi16(index, _mm512_set1_epi16(32 - kSkipped));
    const __mmask32 is_later = _mm512_cmpgt_epi16_mask(index, _mm512_set1_epi16(31));
    found =
        _mm512_permutex2var_epi16(load_64(first), _mm512_mask_blend_epi16(is_later, index, later),
                                  load_64(first + kBytes - 64));
  }
  const __m256i lower = lower_half(found);
  if constexpr (kSame<F, MXFP4>) {
    // Blocks 1 and 3 begin at the upper byte of a word.
    const __m256i shifts = _mm256_set_epi16(8, 8, 8, 8, 0, 0, 0, 0, 8, 8, 8, 8, 0, 0, 0, 0);
    const __m256i e = _mm256_and_si256(_mm256_srlv_epi16(lower, shifts), _mm256_set1_epi16(255));
    // The upper 16 bits of the scales.
    const __m256i normal = _mm256_slli_epi16(_mm256_sub_epi16(e, _mm256_set1_epi16(1)), 7);
    const __m256i small = _mm256_sllv_epi16(_mm256_set1_epi16(0x0020), e);
    const __m256i upper =
        _mm256_mask_mov_epi16(normal, _mm256_cmplt_epi16_mask(e, _mm256_set1_epi16(2)), small);
    return _mm512_castsi512_ps(
        _mm512_maskz_slli_epi32(0xffff, _mm512_maskz_cvtepu16_epi32(0xffff, upper), 16));
  } else {
    return _mm512_maskz_cvtph_ps(0xffff, lower);
  }
}

#endif  // AVX-512

}  // namespace wick::cpu::WICK_ISA
