// Formats of quantized blocks: integers of a few bits whose neighbours share a scale. Source of the
// layouts and tables: ggml (MIT).
//
// An element is scale · quant, or scale · quant + offset, in f32. The products are exact, so it is
// rounded at most once, with the same bits everywhere. Elements are described in runs of 32:
//
//   kGroup          consecutive elements with one scale and offset
//   kHasOffset      whether there is an offset
//   scale_of(b, g)  scale and offset of group g of the block at b
//   kBits           bits of a quant
//   kBias           quant = the bits as an unsigned number - kBias; of 8 bits: as an i8
//   values()        in some formats of 4 bits: a table of the quants, which the bits index
//   low(r)          where run r has its lower kLowBits. Of kLowBytes = 32: byte e for element e; of
//                   16: byte e % 16, the upper half of the elements 4 bits higher
//   high(r)         where run r has the bits above those: of kHighBytes = 32 in byte e; of 4: a bit
//                   for each element
//
// Formats whose codes stand for several quants (kHasOctets) have, instead of values to high,
//
//   octet(b, i)     the quants of elements 8 i ... 8 i + 7
//
// Freestanding.
#pragma once
#include "scalar/block_grids.h"
#include "scalar/cast.h"

namespace wick {

/// The scale and offset of a group of elements.
struct BlockScale {
  float scale;
  float offset;
};
/// Where the bits of a run of elements begin: a byte of the block, and a bit in each byte.
struct BlockBits {
  int byte;
  int shift;
};

/// Quants of 8 neighbours, as i8: quant e in byte e % 4 of word e / 4.
struct Octet {
  uint32 words[2];

  WICK_HD constexpr int8 operator[](int e) const { return int8(words[e / 4] >> e % 4 * 8); }
};

/// The quants that 4 bits index.
struct QuantTable {
  uint64 words[2] = {};  // quant i in byte i % 8 of word i / 8

  explicit WICK_HD constexpr QuantTable(const int8 (&quants)[16]) {
    for (int i = 0; i < 16; i++) words[i / 8] |= uint64(uint8(quants[i])) << i % 8 * 8;
  }
  WICK_HD constexpr int8 operator[](uint32 i) const {
    return int8((i < 8 ? words[0] : words[1]) >> i % 8 * 8);
  }
};

namespace blocks {

inline constexpr int kRun = 32;

WICK_HD constexpr float f16_at(const uint8* b) {
  return to_float(f16{uint16(b[0] | uint32(b[1]) << 8)});
}

/// The formats of 32 elements: f16 scale, f16 offset if any, high bits if any, low
/// bits.
template <DType dtype, int bits, bool has_offset>
struct Small {
  static constexpr DType kDType = dtype;
  static constexpr int kBits = bits, kGroup = kRun;
  static constexpr bool kHasOffset = has_offset;
  static constexpr int kBias = has_offset || bits == 8 ? 0 : 1 << (bits - 1);
  static constexpr int kLowBits = bits == 8 ? 8 : 4;
  static constexpr int kLowBytes = bits == 8 ? 32 : 16, kHighBytes = bits == 5 ? 4 : 0;
  static constexpr int kScaleBytes = has_offset ? 4 : 2;

  static WICK_HD constexpr BlockScale scale_of(const uint8* block, int) {
    return {f16_at(block), has_offset ? f16_at(block + 2) : 0};
  }
  static WICK_HD constexpr BlockBits low(int) { return {kScaleBytes + kHighBytes, 0}; }
  static WICK_HD constexpr BlockBits high(int) { return {kScaleBytes, 0}; }
};

/// q4_k and q5_k: f16 factors of the scales and of the offsets, 8 of each in 6
/// bits, the fifth bits if any, the lower four.
template <DType dtype, int bits>
struct Large {
  static constexpr DType kDType = dtype;
  static constexpr int kBits = bits, kGroup = kRun, kBias = 0;
  static constexpr bool kHasOffset = true;
  static constexpr int kLowBits = 4, kLowBytes = 32, kHighBytes = bits == 5 ? 32 : 0;

  /// Of groups 0 to 3, bytes 4 + g and 8 + g have scale and offset. Those of groups 4 to 7 have their
  /// lower 4 bits in byte 8 + g, and the upper 2 above those of groups 0 to 3.
  static WICK_HD constexpr BlockScale scale_of(const uint8* block, int group) {
    const uint8* const b = block + 4 + group % 4;
    const int scale = group < 4 ? b[0] & 63 : (b[8] & 15) | b[0] >> 6 << 4;
    const int offset = group < 4 ? b[4] & 63 : b[8] >> 4 | b[4] >> 6 << 4;
    return {f16_at(block) * float(scale), -(f16_at(block + 2) * float(offset))};
  }
  static WICK_HD constexpr BlockBits low(int run) {
    return {16 + kHighBytes + run / 2 * 32, run % 2 * 4};
  }
  static WICK_HD constexpr BlockBits high(int run) { return {16, run}; }
};

/// The quants of iq4_nl and iq4_xs: closer to each other around zero.
WICK_HD constexpr QuantTable nonlinear_quants() {
  return QuantTable({-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113});
}

}  // namespace blocks

struct Q4_0 : blocks::Small<DType::kQ4_0, 4, false> {};
struct Q4_1 : blocks::Small<DType::kQ4_1, 4, true> {};
struct Q5_0 : blocks::Small<DType::kQ5_0, 5, false> {};
struct Q5_1 : blocks::Small<DType::kQ5_1, 5, true> {};
struct Q8_0 : blocks::Small<DType::kQ8_0, 8, false> {};
struct Q4_K : blocks::Large<DType::kQ4_K, 4> {};
struct Q5_K : blocks::Large<DType::kQ5_K, 5> {};

/// 128 bytes of lower and 64 of upper bits, 16 i8 scales, and their f16 factor.
struct Q6_K {
  static constexpr DType kDType = DType::kQ6_K;
  static constexpr int kBits = 6, kGroup = 16, kBias = 32;
  static constexpr bool kHasOffset = false;
  static constexpr int kLowBits = 4, kLowBytes = 32, kHighBytes = 32;

  static WICK_HD constexpr BlockScale scale_of(const uint8* block, int group) {
    return {blocks::f16_at(block + 208) * float(int8(block[192 + group])), 0};
  }
  static WICK_HD constexpr BlockBits low(int run) {
    return {run / 4 * 64 + run % 2 * 32, run % 4 / 2 * 4};
  }
  static WICK_HD constexpr BlockBits high(int run) { return {128 + run / 4 * 32, run % 4 * 2}; }
};

/// 16 bytes with a scale in the lower and an offset in the upper 4 bits, 64 bytes of quants, the f16
/// factors of the scales and of the offsets.
struct Q2_K {
  static constexpr DType kDType = DType::kQ2_K;
  static constexpr int kBits = 2, kGroup = 16, kBias = 0;
  static constexpr bool kHasOffset = true;
  static constexpr int kLowBits = 2, kLowBytes = 32, kHighBytes = 0;

  static WICK_HD constexpr BlockScale scale_of(const uint8* block, int group) {
    return {blocks::f16_at(block + 80) * float(block[group] & 15),
            -(blocks::f16_at(block + 82) * float(block[group] >> 4))};
  }
  static WICK_HD constexpr BlockBits low(int run) { return {16 + run / 4 * 32, run % 4 * 2}; }
  static WICK_HD constexpr BlockBits high(int) { return {}; }
};

/// 32 bytes of third bits, 64 of lower bits, 16 scales in 6 bits, and their f16 factor.
struct Q3_K {
  static constexpr DType kDType = DType::kQ3_K;
  static constexpr int kBits = 3, kGroup = 16, kBias = 4;
  static constexpr bool kHasOffset = false;
  static constexpr int kLowBits = 2, kLowBytes = 32, kHighBytes = 32;

  /// The lower 4 bits of two scales are in each of 8 bytes, the upper 2 of four in each of 4.
  static WICK_HD constexpr BlockScale scale_of(const uint8* block, int group) {
    const uint8* const b = block + 96;
    const int low = b[group % 8] >> group / 8 * 4 & 15,
              high = b[8 + group % 4] >> group / 4 * 2 & 3;
    return {blocks::f16_at(block + 108) * float((low | high << 4) - 32), 0};
  }
  static WICK_HD constexpr BlockBits low(int run) { return {32 + run / 4 * 32, run % 4 * 2}; }
  static WICK_HD constexpr BlockBits high(int run) { return {0, run}; }
};

struct IQ4_NL : blocks::Small<DType::kIQ4_NL, 4, false> {
  static constexpr int kBias = 0;
  static WICK_HD constexpr QuantTable values() { return blocks::nonlinear_quants(); }
};

/// The f16 factor of 8 scales, their upper 2 bits, their lower 4 bits, 128 bytes of quants.
struct IQ4_XS {
  static constexpr DType kDType = DType::kIQ4_XS;
  static constexpr int kBits = 4, kGroup = blocks::kRun, kBias = 0;
  static constexpr bool kHasOffset = false;
  static constexpr int kLowBits = 4, kLowBytes = 16, kHighBytes = 0;

  static WICK_HD constexpr BlockScale scale_of(const uint8* block, int group) {
    const int low = block[4 + group / 2] >> group % 2 * 4 & 15;
    const int high = block[2 + group / 4] >> group % 4 * 2 & 3;
    return {blocks::f16_at(block) * float((low | high << 4) - 32), 0};
  }
  static WICK_HD constexpr BlockBits low(int run) { return {8 + 16 * run, 0}; }
  static WICK_HD constexpr BlockBits high(int) { return {}; }
  static WICK_HD constexpr QuantTable values() { return blocks::nonlinear_quants(); }
};

/// OCP's MX format of e2m1 elements: an e8m0 scale, 16 bytes of quants, which are twice the elements.
/// As in ggml, zeros have no sign and a scale of 255 is not a nan.
struct MXFP4 {
  static constexpr DType kDType = DType::kMXFP4;
  static constexpr int kBits = 4, kGroup = blocks::kRun, kBias = 0;
  static constexpr bool kHasOffset = false;
  static constexpr int kLowBits = 4, kLowBytes = 16, kHighBytes = 0;

  /// 2^(e - 128), half of the e8m0 scale.
  static WICK_HD constexpr BlockScale scale_of(const uint8* block, int) {
    const uint32 e = block[0];
    return {__builtin_bit_cast(float, e < 2 ? uint32(0x00200000) << e : (e - 1) << 23), 0};
  }
  static WICK_HD constexpr BlockBits low(int) { return {1, 0}; }
  static WICK_HD constexpr BlockBits high(int) { return {}; }
  static WICK_HD constexpr QuantTable values() {
    return QuantTable({0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12});
  }
};

namespace blocks {

/// Formats of octets.
template <DType dtype, int group>
struct Octets {
  static constexpr DType kDType = dtype;
  static constexpr int kBits = 8, kLowBits = 8, kGroup = group, kBias = 0;
  static constexpr bool kHasOffset = false;
};

/// Bit j of 4 in the lowest bit of byte j.
WICK_HD constexpr uint32 spread_bits(uint32 bits) { return bits * 0x00204081u & 0x01010101u; }
/// 4 pairs of bits, each in the lowest bits of a byte.
WICK_HD constexpr uint32 spread_pairs(uint32 pairs) {
  const uint32 halves = (pairs | pairs << 12) & 0x000f000fu;
  return (halves | halves << 6) & 0x03030303u;
}
/// 4 times 3 bits, each in the lowest bits of a byte.
WICK_HD constexpr uint32 spread_triples(uint32 triples) {
  const uint32 halves = (triples | triples << 10) & 0x003f003fu;
  return (halves | halves << 5) & 0x07070707u;
}
WICK_HD constexpr uint32 u16_at(const uint8* b) { return b[0] | uint32(b[1]) << 8; }
/// Bits 7 i ... 7 i + 6 of 4 bytes, for i < 4.
WICK_HD constexpr uint32 seven_bits(const uint8* b, int i) {
  return u16_at(b + 7 * i / 8) >> 7 * i % 8 & 127;
}
/// 2 n + 1, for the i-th number n of 4 bits, two in a byte.
WICK_HD constexpr float odd_of_half(const uint8* b, int i) {
  return float(2 * (b[i / 2] >> i % 2 * 4 & 15) + 1);
}
/// 4 quants above 0, negated where a bit of 4 is set.
WICK_HD constexpr uint32 with_signs(uint32 quants, uint32 signs) {
  const uint32 negative = spread_bits(signs);
  return (quants ^ negative * 255) + negative;  // ~x + 1 of a byte x > 0 has no carry
}
/// 7 signs, and the eighth that makes the number of negative ones even.
WICK_HD constexpr uint32 even_signs(uint32 signs) {
  const uint32 half = signs ^ signs >> 4;  // the parity of its 4 bits is that of the 7
  return signs | (0x6996u >> (half & 15) & 1) << 7;
}
/// The 8 quants of a row of 2 bits each: 8, 25 or 43.
WICK_HD constexpr Octet three_sizes(uint32 row, uint32 signs) {
  Octet quants{};
  for (int i = 0; i < 2; i++) {
    const uint32 sizes = spread_pairs(row >> i * 8 & 255);
    quants.words[i] =
        with_signs(sizes * 17 + 0x08080808u + (sizes >> 1 & 0x01010101u), signs >> i * 4 & 15);
  }
  return quants;
}

/// The quants of a row of 2 bits each, -8, 0 or 8, plus 1 or, if `down`, -1.
WICK_HD constexpr Octet shifted(uint32 row, uint32 down) {
  const uint32 zero = 0x79797979u - down * 0x02020202u;  // 128 - 8 + 1, to have no borrow
  return {{(spread_pairs(row & 255) * 8 + zero) ^ 0x80808080u,
           (spread_pairs(row >> 8) * 8 + zero) ^ 0x80808080u}};
}

}  // namespace blocks

/// The f16 factor of 8 scales; for each group 4 rows of the grid, and 4 bytes with 7 signs for each row
/// below the scale in 4 bits.
struct IQ2_XXS : blocks::Octets<DType::kIQ2_XXS, 32> {
  static WICK_HD constexpr BlockScale scale_of(const uint8* block, int group) {
    const int scale = block[2 + group * 8 + 7] >> 4;
    return {blocks::f16_at(block) * (float(2 * scale + 1) * 0.125f), 0};
  }
  static WICK_HD constexpr Octet octet(const uint8* block, int i) {
    const uint8* const rows = block + 2 + i / 4 * 8;
    const uint32 signs = blocks::even_signs(blocks::seven_bits(rows + 4, i % 4));
    return blocks::three_sizes(blocks::kGridOf256[rows[i % 4]], signs);
  }
};

/// The f16 factor of 16 scales; for each 8 elements 9 bits with a row of the grid and 7 with signs; the
/// scales in 4 bits.
struct IQ2_XS : blocks::Octets<DType::kIQ2_XS, 16> {
  static WICK_HD constexpr BlockScale scale_of(const uint8* block, int group) {
    return {blocks::f16_at(block) * blocks::odd_of_half(block + 66, group) * 0.125f, 0};
  }
  static WICK_HD constexpr Octet octet(const uint8* block, int i) {
    const uint32 bits = blocks::u16_at(block + 2 + 2 * i);
    return blocks::three_sizes(blocks::kGridOf512[bits & 511], blocks::even_signs(bits >> 9));
  }
};

/// The f16 factor of 16 scales; for each 8 elements a byte with a row of the grid; for each a byte with
/// their signs; for each 2 bits above the row; the scales in 4 bits.
struct IQ2_S : blocks::Octets<DType::kIQ2_S, 16> {
  static WICK_HD constexpr BlockScale scale_of(const uint8* block, int group) {
    return {blocks::f16_at(block) * blocks::odd_of_half(block + 74, group) * 0.125f, 0};
  }
  static WICK_HD constexpr Octet octet(const uint8* block, int i) {
    const uint32 above = block[66 + i / 4] >> i % 4 * 2 & 3;
    return blocks::three_sizes(blocks::kGridOf1024[block[2 + i] | above << 8], block[34 + i]);
  }
};

/// The f16 factor of 8 scales; for each 4 elements a byte with a row of the grid; for each group 4 bytes
/// as those of iq2_xxs.
struct IQ3_XXS : blocks::Octets<DType::kIQ3_XXS, 32> {
  static WICK_HD constexpr BlockScale scale_of(const uint8* block, int group) {
    const int scale = block[66 + group * 4 + 3] >> 4;
    return {blocks::f16_at(block) * (float(2 * scale + 1) * 0.25f), 0};
  }
  static WICK_HD constexpr Octet octet(const uint8* block, int i) {
    const uint32 signs = blocks::even_signs(blocks::seven_bits(block + 66 + i / 4 * 4, i % 4));
    Octet quants{};
    for (int w = 0; w < 2; w++) {
      // 4, 12 ... 52, 62
      const uint32 sizes = blocks::spread_triples(blocks::kGridOf256x4[block[2 + 2 * i + w]]);
      const uint32 is_last = (sizes + 0x01010101u) >> 3 & 0x01010101u;
      quants.words[w] =
          blocks::with_signs(sizes * 8 + 0x04040404u + is_last * 2, signs >> w * 4 & 15);
    }
    return quants;
  }
};

/// The f16 factor of 8 scales; for each 4 elements a byte with a row of the grid; for each a bit above
/// it; for each 8 a byte with their signs; the scales in 4 bits.
struct IQ3_S : blocks::Octets<DType::kIQ3_S, 32> {
  static WICK_HD constexpr BlockScale scale_of(const uint8* block, int group) {
    return {blocks::f16_at(block) * blocks::odd_of_half(block + 106, group), 0};
  }
  static WICK_HD constexpr Octet octet(const uint8* block, int i) {
    const uint32 above = block[66 + i / 4] >> i % 4 * 2;
    Octet quants{};
    for (int w = 0; w < 2; w++) {
      const uint32 row = block[2 + 2 * i + w] | (above >> w & 1) << 8;
      const uint32 sizes = blocks::spread_triples(blocks::kGridOf512x4[row]);
      quants.words[w] = blocks::with_signs(sizes * 2 + 0x01010101u, block[74 + i] >> w * 4 & 15);
    }
    return quants;
  }
};

/// The f16 factor of 8 scales; for each 8 elements a byte with a row of the grid; for each group 4 times
/// 3 bits above the rows, the scale in 3 bits and the shift. Quants are 8 (-1, 0 or 1) and the shift,
/// which is 1 or -1.
struct IQ1_S : blocks::Octets<DType::kIQ1_S, 32> {
  static WICK_HD constexpr BlockScale scale_of(const uint8* block, int group) {
    const int scale = block[34 + group * 2 + 1] >> 4 & 7;
    return {blocks::f16_at(block) * (float(2 * scale + 1) * 0.125f), 0};
  }
  static WICK_HD constexpr Octet octet(const uint8* block, int i) {
    const uint32 above = blocks::u16_at(block + 34 + i / 4 * 2);
    const uint32 row = block[2 + i] | (above >> i % 4 * 3 & 7) << 8;
    return blocks::shifted(blocks::kGridOf2048[row], above >> 15);
  }
};

/// For each 8 elements a byte with a row of the grid; for each 3 bits above it and the shift, as of iq1_s;
/// 16 scales in 3 bits, four in 2 bytes, whose upper 4 bits have the scales' f16 factor.
struct IQ1_M : blocks::Octets<DType::kIQ1_M, 16> {
  static WICK_HD constexpr BlockScale scale_of(const uint8* block, int group) {
    const uint8* const b = block + 48;
    const uint32 factor = uint32(b[1]) >> 4 | uint32(b[3]) >> 4 << 4 | uint32(b[5]) >> 4 << 8 |
                          uint32(b[7]) >> 4 << 12;
    const int scale = blocks::u16_at(b + group / 4 * 2) >> group % 4 * 3 & 7;
    return {to_float(f16{uint16(factor)}) * (float(2 * scale + 1) * 0.125f), 0};
  }
  static WICK_HD constexpr Octet octet(const uint8* block, int i) {
    const uint32 above = block[32 + i / 2] >> i % 2 * 4 & 15;
    return blocks::shifted(blocks::kGridOf2048[block[i] | (above & 7) << 8], above >> 3);
  }
};

/// 48 bytes of 5 quants, 4 bytes of 4, a f16 scale. A byte is n 256 / 243, rounded up, for the number n
/// whose digits to base 3, the first highest, are the quants + 1; of 4 the last digit is 0.
struct TQ1_0 : blocks::Octets<DType::kTQ1_0, 256> {
  static constexpr int kScaleAt = 52;

  static WICK_HD constexpr BlockScale scale_of(const uint8* block, int) {
    return {blocks::f16_at(block + kScaleAt), 0};
  }
  static WICK_HD constexpr Octet octet(const uint8* block, int i) {
    Octet quants{};
    for (int w = 0; w < 2; w++) {
      const Digit first = digit_of(i * 8 + w * 4);
      quants.words[w] = quants_of(block + first.byte, first.place);
    }
    return quants;
  }
  /// Byte b of the block; digit(e) is quant e + 1.
  template <class Digits>
  static WICK_HD constexpr uint8 byte_of(int b, const Digits& digit) {
    const int first = b < 32 ? b : b < 48 ? 160 + b - 32 : 240 + b - 48;
    const int step = b < 32 ? 32 : b < 48 ? 16 : 4;
    int number = 0;
    for (int place = 0; place < 5; place++)
      number = number * 3 + (b < 48 || place < 4 ? digit(first + place * step) : 0);
    return uint8((number * 256 + 242) / 243);
  }

 private:
  struct Digit {
    int byte, place;  // 0: the highest digit
  };
  /// Where the first of 4 neighbours is; the others are in the next bytes.
  static WICK_HD constexpr Digit digit_of(int e) {
    if (e < 160) return {e % 32, e / 32};
    if (e < 240) return {32 + (e - 160) % 16, (e - 160) / 16};
    return {48 + (e - 240) % 4, (e - 240) / 4};
  }
  /// The quants of 4 bytes: multiplied by 3^place, a byte has the digit highest.
  static WICK_HD constexpr uint32 quants_of(const uint8* b, int place) {
    uint32 power = 1;
    for (int i = 0; i < place; i++) power *= 3;
    const uint32 even = (b[0] | uint32(b[2]) << 16) * power & 0x00ff00ffu;
    const uint32 odd = (b[1] | uint32(b[3]) << 16) * power & 0x00ff00ffu;
    const uint32 digits = (even * 3 >> 8 & 0x00ff00ffu) | (odd * 3 & 0xff00ff00u);
    return (digits + 0x7f7f7f7fu) ^ 0x80808080u;  // less 1
  }
};

/// 64 bytes of quants, a f16 scale.
struct TQ2_0 {
  static constexpr DType kDType = DType::kTQ2_0;
  static constexpr int kBits = 2, kGroup = 256, kBias = 1;
  static constexpr bool kHasOffset = false;
  static constexpr int kLowBits = 2, kLowBytes = 32, kHighBytes = 0;
  static constexpr int kScaleAt = 64;

  static WICK_HD constexpr BlockScale scale_of(const uint8* block, int) {
    return {blocks::f16_at(block + kScaleAt), 0};
  }
  static WICK_HD constexpr BlockBits low(int run) { return {run / 4 * 32, run % 4 * 2}; }
  static WICK_HD constexpr BlockBits high(int) { return {}; }
  /// Byte b of the block; digit(e) is quant e + 1.
  template <class Digit>
  static WICK_HD constexpr uint8 byte_of(int b, const Digit& digit) {
    int byte = 0;
    for (int i = 0; i < 4; i++) byte |= digit(b / 32 * 128 + i * 32 + b % 32) << i * 2;
    return uint8(byte);
  }
};

/// Every block format, in the order of the enumeration.
using BlockTypes =
    TypeList<Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K, Q6_K, Q2_K, Q3_K, IQ4_NL, IQ4_XS, MXFP4,
             IQ2_XXS, IQ2_XS, IQ2_S, IQ3_XXS, IQ3_S, IQ1_S, IQ1_M, TQ1_0, TQ2_0>;
static_assert(StoredTypes::kSize + BlockTypes::kSize == kNumDTypes);

/// Types that kernels decode blocks to. Other types convert from f32, which holds every element.
using DecodedTypes = TypeList<bf16, f16, float>;

template <class F>
inline constexpr int kBlockElements = facts_of(F::kDType).block_elements;
template <class F>
inline constexpr int kBlockBytes = facts_of(F::kDType).block_bytes;
/// Whether the format's bits index a table of quants.
template <class F>
inline constexpr bool kHasQuantTable = requires {
  F::values();
};

/// Whether the format has its quants by octets.
template <class F>
inline constexpr bool kHasOctets = requires {
  F::octet(nullptr, 0);
};

/// The integer of element i of the block.
template <class F>
WICK_HD constexpr int block_quant(const uint8* block, int i) {
  const int run = i / blocks::kRun, e = i % blocks::kRun;
  if constexpr (kHasOctets<F>) {
    return F::octet(block, i / 8)[i % 8];
  } else if constexpr (F::kBits == 8) {
    return int8(block[F::low(run).byte + e]);
  } else {
    const BlockBits low = F::low(run);
    constexpr int low_mask = (1 << F::kLowBits) - 1,
                  high_mask = (1 << (F::kBits - F::kLowBits)) - 1;
    int bits = block[low.byte + e % F::kLowBytes] >> (low.shift + e / F::kLowBytes * 4) & low_mask;
    if constexpr (F::kHighBytes == 4)
      bits |= (block[F::high(run).byte + e / 8] >> e % 8 & 1) << F::kLowBits;
    else if constexpr (F::kHighBytes == 32)
      bits |= (block[F::high(run).byte + e] >> F::high(run).shift & high_mask) << F::kLowBits;
    if constexpr (kHasQuantTable<F>)
      return F::values()[uint32(bits)];
    else
      return bits - F::kBias;
  }
}

/// The element that a quant of a group with this scale stands for.
template <class F>
WICK_HD constexpr float block_value(const BlockScale& s, int quant) {
  if constexpr (F::kHasOffset)
    return s.scale * float(quant) + s.offset;
  else
    return s.scale * float(quant);
}

/// Elements `first` to first + 7 of the block, which have this scale; first is a multiple of 8.
template <class F>
WICK_HD constexpr void decode_octet(const uint8* block, int first, const BlockScale& s,
                                    float (&y)[8]) {
  if constexpr (kHasOctets<F>) {
    const Octet quants = F::octet(block, first / 8);
    for (int e = 0; e < 8; e++) y[e] = block_value<F>(s, quants[e]);
  } else {
    for (int e = 0; e < 8; e++) y[e] = block_value<F>(s, block_quant<F>(block, first + e));
  }
}

/// Element i of the block.
template <class F>
WICK_HD constexpr float decode(const uint8* block, int i) {
  return block_value<F>(F::scale_of(block, i / F::kGroup), block_quant<F>(block, i));
}

/// The formats that `encode` writes: those that ggml defines by rounding alone.
using RoundedBlockTypes = TypeList<Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, MXFP4, TQ1_0, TQ2_0>;

namespace blocks {

/// floor(log2(x)), of the logarithm rounded to f32, for a normal x > 0. The rounding lifts the last
/// floats below 2^n to n: those that are closer to 2^n than ln(2) / 2 ulp of n, times 2^n.
WICK_HD constexpr int floor_of_rounded_log2(float x) {
  const uint32 bits = __builtin_bit_cast(uint32, x);
  const int next = int(bits >> 23) - 126, floats_below = int((1u << 23) - (bits & 0x7fffff));
  // From 64 to 127 ulp is 2^-17, and floats below 2^n are 2^-24 2^n apart: 44 = floor(64 ln(2)).
  // Logarithms below n > 0 have the ulp of n - 1.
  const int size = next > 0 ? next - 1 : -next;
  int lifted = 44;
  for (int power = 64; power > size; power /= 2) lifted /= 2;
  return floats_below <= lifted ? next : next - 1;
}

/// The scale gives the largest magnitude the exponent of 4. An element halfway between two quants
/// has the smaller.
WICK_HD constexpr void encode_mxfp4(const float* x, uint8* block) {
  float most = 0;
  for (int e = 0; e < kRun; e++)
    if (most < abs(x[e])) most = abs(x[e]);
  // Smaller ones have a negative exponent, whose conversion to a byte C leaves open.
  block[0] = most >= 0x1p-125f ? uint8(floor_of_rounded_log2(most) - 2 + 127) : uint8(0);
  const float scale = MXFP4::scale_of(block, 0).scale;
  for (int b = 0; b < kRun / 2; b++) block[1 + b] = 0;
  for (int e = 0; e < kRun; e++) {
    constexpr float kBetween[] = {0.5f, 1.5f, 2.5f, 3.5f, 5, 7, 10};
    int bits = 0;
    for (int i = 0; i < 7; i++) bits += abs(x[e]) > kBetween[i] * scale;
    if (bits > 0 && x[e] < 0) bits += 8;
    block[1 + e % 16] |= uint8(bits << e / 16 * 4);
  }
}

/// Whether the format has a scale and, before it, quants of -1, 0 and 1.
template <class F>
inline constexpr bool kIsTernary = requires {
  F::kScaleAt;
};

/// x rounded to an integer, ties away from zero; saturates.
WICK_HD constexpr float rounded_away(float x) {
  const float whole = float(detail::saturate<int>(x));
  return abs(x - whole) >= 0.5f ? whole + (x < 0 ? -1.0f : 1.0f) : whole;
}

/// The scale is the largest magnitude. X: float* or a class that reads as one.
template <class F, class X>
WICK_HD constexpr void encode_ternary(const X& x, uint8* block) {
  constexpr int count = kBlockElements<F>;
  float most = 0;
  for (int e = 0; e < count; e++)
    if (most < abs(x[e])) most = abs(x[e]);
  const float inverse = most != 0 ? 1 / most : 0;
  const f16 scale = round_to<f16>(most);
  const auto digit = [&x, inverse](int e) {
    const float quant = rounded_away(x[e] * inverse);
    return quant > 0 ? 2 : quant < 0 ? 0 : 1;
  };
  for (int b = 0; b < F::kScaleAt; b++) block[b] = F::byte_of(b, digit);
  block[F::kScaleAt] = uint8(scale.bits), block[F::kScaleAt + 1] = uint8(scale.bits >> 8);
}

/// Formats of equally spaced quants.
template <class F>
WICK_HD constexpr void encode_levels(const float* x, uint8* block) {
  constexpr int levels = 1 << F::kBits, count = kBlockElements<F>;
  float low = x[0], high = x[0], farthest = 0;  // farthest: the first of the largest magnitude
  for (int e = 0; e < count; e++) {
    if (x[e] < low) low = x[e];
    if (x[e] > high) high = x[e];
    if (abs(farthest) < abs(x[e])) farthest = x[e];
  }
  const float scale = F::kHasOffset   ? (high - low) / float(levels - 1)
                      : F::kBits == 8 ? abs(farthest) / float(levels / 2 - 1)
                                      : farthest / float(-levels / 2);
  const float inverse = scale != 0 ? 1 / scale : 0;
  const auto put = [block](int at, f16 value) {
    block[at] = uint8(value.bits), block[at + 1] = uint8(value.bits >> 8);
  };
  for (int b = 0; b < kBlockBytes<F>; b++) block[b] = 0;
  put(0, round_to<f16>(scale));
  if constexpr (F::kHasOffset) put(2, round_to<f16>(low));
  const int first = F::low(0).byte;
  for (int e = 0; e < count; e++) {
    if constexpr (F::kBits == 8) {
      block[first + e] = uint8(detail::saturate<int8>(rounded_away(x[e] * inverse)));
    } else {
      const float y = (F::kHasOffset ? x[e] - low : x[e]) * inverse + (float(F::kBias) + 0.5f);
      const int rounded = detail::saturate<int>(y);
      const int bits = rounded < 0 ? 0 : rounded < levels ? rounded : levels - 1;
      block[first + e % 16] |= uint8((bits & 15) << e / 16 * 4);
      if constexpr (F::kBits == 5) block[F::high(0).byte + e / 8] |= uint8(bits >> 4 << e % 8);
    }
  }
}

}  // namespace blocks

/// Quantizes a block of elements as ggml's reference does, to the same bytes. x: float*; of a ternary
/// format also a class that reads as one.
template <class F, class X>
WICK_HD constexpr void encode(const X& x, uint8* block) {
  if constexpr (F::kDType == DType::kMXFP4)
    blocks::encode_mxfp4(x, block);
  else if constexpr (blocks::kIsTernary<F>)
    blocks::encode_ternary<F>(x, block);
  else
    blocks::encode_levels<F>(x, block);
}

}  // namespace wick
