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
/// Whether few rows of x have products of words on AVX2 (linear_words.h).
template <class F>
inline constexpr bool kHasWords =
#if defined(__AVX2__) && !defined(__AVX512F__)
    !kHasOctets<F>;
#else
    false;
#endif
/// Whether these products read the runs of x in their order: quants of 8 bits widen so. Others read
/// the even elements of a run, then the odd ones.
template <class F>
inline constexpr bool kKeepsOrder = F::kBits == 8;
/// Whether these products read runs r and r + 4 of a unit side by side (linear_pairs.h).
template <class F>
inline constexpr bool kHasPairs = [] {
  if constexpr (kHasWords<F>)
    return F::kLowBytes == 16;
  else
    return false;
}();
/// Whether one row of x is two planes of signed bytes there: 16 bits must hold the sum of four
/// products with unsigned quants, whose bias is kPlaneBias.
template <class F>
inline constexpr bool kHasPlanes = kHasPairs<F> && (kSame<F, MXFP4> || !kHasQuantTable<F>);
template <class F>
inline constexpr int kPlaneBias = kSame<F, MXFP4> ? 12 : F::kBias;
/// Whether x has a correction for each lane: -kByteBias times the sum of its elements, because the
/// quants are unsigned.
template <class F>
inline constexpr bool kCorrects =
#if defined(__AVX512F__)
    kHasBytes<F> && !F::kHasOffset && F::kGroup == 32;
#else
    kHasWords<F>&& kHasQuantTable<F>;
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
/// The words of four blocks' quants: places in the first 64 bytes; of blocks of 17 bytes, places in
/// the 64 bytes after the first and, for odd blocks, in the last 64.
template <class F>
struct QuantWords {
  alignas(64) int16 of[32];
  constexpr QuantWords() : of() {
    for (int lane = 0; lane < 32; lane++) {
      const int block = lane / 8, first = block * kBlockBytes<F> + F::low(0).byte;
      const int before = kBlockBytes<F> % 2 == 0 ? 0 : block % 2 == 0 ? 1 : 4 - 64;
      of[lane] = int16((first - before) / 2 + lane % 8);
    }
  }
};
/// The 16 bytes of quants of each of four blocks. head: their first 64 bytes.
template <class F>
WICK_HD __m512i four_16(const uint8* block, __m512i head) {
  constexpr int kStride = kBlockBytes<F>, kAt = F::low(0).byte;
  static constexpr QuantWords<F> words;
  const __m512i index = _mm512_load_si512(words.of);
  if constexpr (kStride % 2 == 1) {
    static_assert(kStride == 17 && kAt == 1);
    return _mm512_permutex2var_epi16(load_64(block + 1), index, load_64(block + 4));
  }
  const auto with = [block](__m512i quants, int i) __attribute__((always_inline)) {
    const auto* const at = reinterpret_cast<const __m128i*>(block + i * kStride + kAt);
    return _mm512_mask_broadcast_i32x4(quants, __mmask16(15 << 4 * i), _mm_loadu_si128(at));
  };
  constexpr int kInHead = (64 - kAt - 16) / kStride + 1;
  static_assert(kInHead >= 2);
  __m512i quants = _mm512_maskz_permutexvar_epi16(0xffffffff, index, head);
  if constexpr (kInHead < 3) quants = with(quants, 2);
  if constexpr (kInHead < 4) quants = with(quants, 3);
  return quants;
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

  /// head: the first 64 bytes of the step, if blocks are small.
  template <int s>
  WICK_HD void load(const uint8* unit, __m512i head) {
    if constexpr (Order::kParts == 2) {
      constexpr bool is_large = kBlockElements<F> == 256;
      constexpr int kStride = is_large ? 16 : kBlockBytes<F>;
      const uint8* const first = unit + s * 4 * kStride;
      __m512i bytes;
      if constexpr (is_large)
        bytes = load_64(first + F::low(0).byte);
      else
        bytes = four_16<F>(first, head);
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

/// The f16 field of the blocks of step s, for each lane. head: the first 64 bytes of these blocks.
template <class F, int field, int s>
WICK_HD __m512 lanes_of_field(const uint8* unit, __m512i head) {
  using Order = ByteOrder<F>;
  constexpr int kBlocks = 8 / Order::kSteps, kBytes = kBlocks * kBlockBytes<F>;
  constexpr int kLast = (kBlocks - 1) * kBlockBytes<F> + field;  // of the last block
  static constexpr FieldWords<F, field> words;
  const __m512i index = _mm512_load_si512(words.of);
  const __m512i found = _mm512_maskz_permutexvar_epi16(0xffffffff, index, head);
  __m256i halves = lower_half(found);
  if constexpr (kLast + 2 > 64) {
    const short last = short(unit[s * kBytes + kLast] | unit[s * kBytes + kLast + 1] << 8);
    halves =
        _mm256_mask_set1_epi16(halves, __mmask16(0xffff << (kBlocks - 1) * (16 / kBlocks)), last);
  }
  return _mm512_maskz_cvtph_ps(0xffff, halves);
}

#endif  // AVX-512

}  // namespace wick::cpu::WICK_ISA
