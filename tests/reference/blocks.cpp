#include "blocks.h"

#include <algorithm>

#include "block_grids.h"

namespace wick::reference {
namespace {

using Bytes = const unsigned char*;

Real f16_value(Bytes b) { return decode(DType::kF16, b); }
int low_half(unsigned char b) { return b % 16; }
int upper_half(unsigned char b) { return b / 16; }
/// The i-th of numbers of 4 bits, two in a byte.
int half_of(Bytes b, int i) { return i % 2 == 0 ? low_half(b[i / 2]) : upper_half(b[i / 2]); }
int bit(Bytes b, int i) { return b[i / 8] >> (i % 8) & 1; }
/// Rounded once to f32.
Real sum_of(Real scaled, Real offset) { return round_to_format(DType::kF32, scaled + offset); }

/// f16 d, 16 bytes: element i in the lower half of byte i, element 16 + i in the upper.
void q4_0(Bytes b, Real* y) {
  for (int i = 0; i < 16; i++) {
    y[i] = f16_value(b) * (low_half(b[2 + i]) - 8);
    y[16 + i] = f16_value(b) * (upper_half(b[2 + i]) - 8);
  }
}
/// f16 d, f16 m, 16 bytes.
void q4_1(Bytes b, Real* y) {
  for (int i = 0; i < 16; i++) {
    y[i] = sum_of(f16_value(b) * low_half(b[4 + i]), f16_value(b + 2));
    y[16 + i] = sum_of(f16_value(b) * upper_half(b[4 + i]), f16_value(b + 2));
  }
}
/// f16 d, 32 fifth bits, 16 bytes.
void q5_0(Bytes b, Real* y) {
  for (int i = 0; i < 16; i++) {
    y[i] = f16_value(b) * (low_half(b[6 + i]) + 16 * bit(b + 2, i) - 16);
    y[16 + i] = f16_value(b) * (upper_half(b[6 + i]) + 16 * bit(b + 2, 16 + i) - 16);
  }
}
/// f16 d, f16 m, 32 fifth bits, 16 bytes.
void q5_1(Bytes b, Real* y) {
  const Real d = f16_value(b), m = f16_value(b + 2);
  for (int i = 0; i < 16; i++) {
    y[i] = sum_of(d * (low_half(b[8 + i]) + 16 * bit(b + 4, i)), m);
    y[16 + i] = sum_of(d * (upper_half(b[8 + i]) + 16 * bit(b + 4, 16 + i)), m);
  }
}
/// f16 d, 32 i8.
void q8_0(Bytes b, Real* y) {
  for (int i = 0; i < 32; i++) y[i] = f16_value(b) * static_cast<signed char>(b[2 + i]);
}

struct SixBits {
  int scale, offset;
};
/// Pair g of the eight in 12 bytes: the first four scales and offsets in the lower 6 bits of a byte each;
/// of the others 4 bits in the last four bytes, 2 in the upper bits of the first eight.
SixBits six_bits(Bytes b, int g) {
  if (g < 4) return {b[g] % 64, b[4 + g] % 64};
  return {low_half(b[4 + g]) + 16 * (b[g - 4] / 64), upper_half(b[4 + g]) + 16 * (b[g] / 64)};
}
/// f16 d, f16 m, 12 bytes of scales, 128 bytes: 64 elements in 32 bytes, the lower halves first.
void q4_k(Bytes b, Real* y) {
  for (int i = 0; i < 256; i++) {
    const SixBits s = six_bits(b + 4, i / 32);
    const unsigned char byte = b[16 + i / 64 * 32 + i % 32];
    const int q = i % 64 < 32 ? low_half(byte) : upper_half(byte);
    y[i] = sum_of(f16_value(b) * s.scale * q, -(f16_value(b + 2) * s.offset));
  }
}
/// The same with 32 bytes of fifth bits before the 128: bit g of byte i for element i of group g.
void q5_k(Bytes b, Real* y) {
  for (int i = 0; i < 256; i++) {
    const SixBits s = six_bits(b + 4, i / 32);
    const unsigned char byte = b[48 + i / 64 * 32 + i % 32];
    const int q =
        (i % 64 < 32 ? low_half(byte) : upper_half(byte)) + 16 * (b[16 + i % 32] >> i / 32 & 1);
    y[i] = sum_of(f16_value(b) * s.scale * q, -(f16_value(b + 2) * s.offset));
  }
}
/// 128 bytes of lower halves, 64 of upper bits, 16 i8 scales, f16 d. Of each 128 elements, the first 64
/// have the lower halves of 64 bytes, the others the upper; four share a byte of upper bits.
void q6_k(Bytes b, Real* y) {
  for (int i = 0; i < 256; i++) {
    const int in = i % 128;
    const unsigned char low = b[i / 128 * 64 + in % 64];
    const int upper = b[128 + i / 128 * 32 + in % 32] >> in / 32 * 2 & 3;
    const int q = (in < 64 ? low_half(low) : upper_half(low)) + 16 * upper - 32;
    y[i] = f16_value(b + 208) * static_cast<signed char>(b[192 + i / 16]) * q;
  }
}

/// 16 bytes of scales and minima of 4 bits, 64 bytes, f16 d, f16 m. Of each 128 elements, four share a
/// byte, the first 32 its lowest bits.
void q2_k(Bytes b, Real* y) {
  for (int i = 0; i < 256; i++) {
    const int q = b[16 + i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3;
    y[i] = sum_of(f16_value(b + 80) * low_half(b[i / 16]) * q,
                  -(f16_value(b + 82) * upper_half(b[i / 16])));
  }
}
/// 32 bytes of third bits: bit i / 32 of byte i % 32; 64 bytes as of q2_k; 16 scales in 12 bytes; f16 d.
/// Scales have their lower halves in 8 bytes, those of the first 8 in the lower halves, and their upper
/// 2 bits in the 4 bytes after them: of the first 4 the lowest.
void q3_k(Bytes b, Real* y) {
  for (int i = 0; i < 256; i++) {
    const int g = i / 16;
    const unsigned char halves = b[96 + g % 8];
    const int scale = (g < 8 ? low_half(halves) : upper_half(halves)) +
                      16 * (b[104 + g % 4] >> g / 4 * 2 & 3) - 32;
    const int q =
        (b[32 + i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3) + 4 * (b[i % 32] >> i / 32 & 1) - 4;
    y[i] = f16_value(b + 108) * scale * q;
  }
}
constexpr int kNonlinear[] = {-127, -104, -83, -65, -49, -35, -22, -10,
                              1,    13,   25,  38,  53,  69,  89,  113};
/// As q4_0, through a table.
void iq4_nl(Bytes b, Real* y) {
  for (int i = 0; i < 16; i++) {
    y[i] = f16_value(b) * kNonlinear[low_half(b[2 + i])];
    y[16 + i] = f16_value(b) * kNonlinear[upper_half(b[2 + i])];
  }
}
/// f16 d, 16 bits with two of each scale, 32 with four, 128 bytes: 8 groups as of iq4_nl.
void iq4_xs(Bytes b, Real* y) {
  for (int g = 0; g < 8; g++) {
    const unsigned char halves = b[4 + g / 2];
    const int scale = (g % 2 == 0 ? low_half(halves) : upper_half(halves)) +
                      16 * (2 * bit(b + 2, 2 * g + 1) + bit(b + 2, 2 * g)) - 32;
    for (int i = 0; i < 16; i++) {
      const unsigned char byte = b[8 + 16 * g + i];
      y[32 * g + i] = f16_value(b) * scale * kNonlinear[low_half(byte)];
      y[32 * g + 16 + i] = f16_value(b) * scale * kNonlinear[upper_half(byte)];
    }
  }
}
/// An exponent, 16 bytes in the order of q4_0: e2m1, whose zeros have no sign.
void mxfp4(Bytes b, Real* y) {
  constexpr Real kValues[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  const auto value = [&](int bits) {
    const Real size = round_to_format(DType::kF32, std::ldexp(kValues[bits % 8], b[0] - 127));
    return bits > 8 ? -size : size;
  };
  for (int i = 0; i < 16; i++) {
    y[i] = value(low_half(b[1 + i]));
    y[16 + i] = value(upper_half(b[1 + i]));
  }
}

/// The i-th digit of a text of hexadecimal digits.
int digit(const char* text, int i) { return text[i] <= '9' ? text[i] - '0' : text[i] - 'a' + 10; }
/// Quant e of a row of 8, whose text has two in a digit, the second in its upper bits; pairs of digits
/// are bytes with the first digit upper.
int grid_quant(const char* text, int row, int e, const int (&sizes)[3]) {
  const int pair = digit(text, row * 4 + e / 4 * 2 + (e % 4 < 2 ? 1 : 0));
  return sizes[e % 2 == 0 ? pair % 4 : pair / 4];
}
constexpr int kThreeSizes[] = {8, 25, 43};
/// f16 d, 8 groups of 4 bytes of rows, and 32 bits: 7 signs for each row, 4 of the scale. The sign of a
/// row's last element makes the number of negative ones even.
void iq2_xxs(Bytes b, Real* y) {
  for (int i = 0; i < 256; i++) {
    const Bytes group = b + 2 + i / 32 * 8;
    const int row = i % 32 / 8, e = i % 8;
    int negative = e == 7 ? 0 : bit(group + 4, 7 * row + e);
    for (int other = 0; e == 7 && other < 7; other++) negative ^= bit(group + 4, 7 * row + other);
    const Real scale = (Real(0.5) + upper_half(group[7])) / 4;
    const int size = grid_quant(kIq2XxsGrid, group[row], e, kThreeSizes);
    y[i] = f16_value(b) * scale * (negative ? -size : size);
  }
}
/// f16 d, 32 of 16 bits: 9 of a row and 7 signs as of iq2_xxs; 16 scales of 4 bits.
void iq2_xs(Bytes b, Real* y) {
  for (int i = 0; i < 256; i++) {
    const Bytes pair = b + 2 + i / 8 * 2;
    const int row = pair[0] + 256 * (pair[1] % 2), e = i % 8;
    int negative = 0;
    for (int s = e < 7 ? e : 0; s <= (e < 7 ? e : 6); s++) negative ^= bit(pair, 9 + s);
    const Real scale = (Real(0.5) + half_of(b + 66, i / 16)) / 4;
    const int size = grid_quant(kIq2XsGrid, row, e, kThreeSizes);
    y[i] = f16_value(b) * scale * (negative ? -size : size);
  }
}
/// f16 d, 32 rows, 32 bytes of signs, 32 times 2 upper bits of the rows, 16 scales of 4 bits.
void iq2_s(Bytes b, Real* y) {
  for (int i = 0; i < 256; i++) {
    const int o = i / 8;
    const int row = b[2 + o] + 256 * bit(b + 66, 2 * o) + 512 * bit(b + 66, 2 * o + 1);
    const Real scale = (Real(0.5) + half_of(b + 74, i / 16)) / 4;
    const int size = grid_quant(kIq2SGrid, row, i % 8, kThreeSizes);
    y[i] = f16_value(b) * scale * (bit(b + 34, i) ? -size : size);
  }
}
/// Quant e of a row of 4, whose text is as that of rows of 8, but with one in a digit.
int size_of(const char* text, int row, int e) { return digit(text, row * 4 + (e ^ 1)); }
/// f16 d, 64 rows, and 8 times 32 bits as of iq2_xxs.
void iq3_xxs(Bytes b, Real* y) {
  constexpr int kSizes[] = {4, 12, 20, 28, 36, 44, 52, 62};
  for (int i = 0; i < 256; i++) {
    const Bytes bits = b + 66 + i / 32 * 4;
    const int first = i % 32 / 8 * 7, e = i % 8;
    int negative = 0;
    for (int s = e < 7 ? e : 0; s <= (e < 7 ? e : 6); s++) negative ^= bit(bits, first + s);
    const Real scale = (Real(0.5) + upper_half(bits[3])) / 2;
    const int size = kSizes[size_of(kIq3XxsGrid, b[2 + i / 4], i % 4)];
    y[i] = f16_value(b) * scale * (negative ? -size : size);
  }
}
/// f16 d, 64 rows, their 64 ninth bits, 256 signs, 8 scales of 4 bits.
void iq3_s(Bytes b, Real* y) {
  for (int i = 0; i < 256; i++) {
    const int row = b[2 + i / 4] + 256 * bit(b + 66, i / 4);
    const int size = 1 + 2 * size_of(kIq3SGrid, row, i % 4);
    const Real scale = 1 + 2 * half_of(b + 106, i / 32);
    y[i] = f16_value(b) * scale * (bit(b + 74, i) ? -size : size);
  }
}
constexpr int kThreeSigns[] = {-1, 0, 1};
/// f16 d, 32 rows, 8 times 16 bits: 4 times 3 upper bits of the rows, 3 bits of the scale, the shift's
/// sign.
void iq1_s(Bytes b, Real* y) {
  for (int i = 0; i < 256; i++) {
    const Bytes bits = b + 34 + i / 32 * 2;
    const int o = i / 8, first = o % 4 * 3;
    const int row = b[2 + o] + 256 * bit(bits, first) + 512 * bit(bits, first + 1) +
                    1024 * bit(bits, first + 2);
    const int scale = 1 + 2 * (bit(bits, 12) + 2 * bit(bits, 13) + 4 * bit(bits, 14));
    const Real shift = bit(bits, 15) ? Real(-0.125) : Real(0.125);
    y[i] = f16_value(b) * scale * (grid_quant(kIq1Grid, row, i % 8, kThreeSigns) + shift);
  }
}
/// 32 rows, 32 times 4 bits: 3 upper bits of the row and the shift's sign; 4 times 16 bits: four scales
/// of 3 bits, 4 bits of d.
void iq1_m(Bytes b, Real* y) {
  const Bytes scales = b + 48;
  const unsigned char factor[] = {
      static_cast<unsigned char>(upper_half(scales[1]) + 16 * upper_half(scales[3])),
      static_cast<unsigned char>(upper_half(scales[5]) + 16 * upper_half(scales[7]))};
  for (int i = 0; i < 256; i++) {
    const int o = i / 8, g = i / 16, above = half_of(b + 32, o), first = g / 4 * 16 + g % 4 * 3;
    const int scale =
        1 + 2 * (bit(scales, first) + 2 * bit(scales, first + 1) + 4 * bit(scales, first + 2));
    const Real shift = above >= 8 ? Real(-0.125) : Real(0.125);
    const int quant = grid_quant(kIq1Grid, b[o] + 256 * (above % 8), i % 8, kThreeSigns);
    y[i] = f16_value(factor) * scale * (quant + shift);
  }
}
/// Where an element of tq1_0 is: a byte, and a digit of it.
struct TernaryPlace {
  int byte, digit;
};
TernaryPlace ternary_place(int i) {
  if (i < 160) return {i % 32, i / 32};
  if (i < 240) return {32 + i % 16, (i - 160) / 16};
  return {48 + i % 4, (i - 240) / 4};
}
/// 48 bytes of 5 elements, 4 of 4, f16 d. A byte is a fraction of 256 in base 3.
void tq1_0(Bytes b, Real* y) {
  for (int i = 0; i < 256; i++) {
    const TernaryPlace place = ternary_place(i);
    int rest = b[place.byte];
    for (int d = 0; d < place.digit; d++) rest = rest * 3 % 256;
    y[i] = f16_value(b + 52) * (rest * 3 / 256 - 1);
  }
}
/// 64 bytes in the order of q2_k, f16 d.
void tq2_0(Bytes b, Real* y) {
  for (int i = 0; i < 256; i++)
    y[i] = f16_value(b + 64) * ((b[i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3) - 1);
}

struct Format {
  DType dtype;
  void (*decode)(Bytes, Real*);
  std::vector<ScaleField> scales;
};
const Format& format(DType dtype) {
  constexpr DType half = DType::kF16;
  static const Format formats[] = {{DType::kQ4_0, q4_0, {{0, half}}},
                                   {DType::kQ4_1, q4_1, {{0, half}, {2, half}}},
                                   {DType::kQ5_0, q5_0, {{0, half}}},
                                   {DType::kQ5_1, q5_1, {{0, half}, {2, half}}},
                                   {DType::kQ8_0, q8_0, {{0, half}}},
                                   {DType::kQ4_K, q4_k, {{0, half}, {2, half}}},
                                   {DType::kQ5_K, q5_k, {{0, half}, {2, half}}},
                                   {DType::kQ6_K, q6_k, {{208, half}}},
                                   {DType::kQ2_K, q2_k, {{80, half}, {82, half}}},
                                   {DType::kQ3_K, q3_k, {{108, half}}},
                                   {DType::kIQ4_NL, iq4_nl, {{0, half}}},
                                   {DType::kIQ4_XS, iq4_xs, {{0, half}}},
                                   {DType::kMXFP4, mxfp4, {{0, DType::kF8E8M0}}},
                                   {DType::kIQ2_XXS, iq2_xxs, {{0, half}}},
                                   {DType::kIQ2_XS, iq2_xs, {{0, half}}},
                                   {DType::kIQ2_S, iq2_s, {{0, half}}},
                                   {DType::kIQ3_XXS, iq3_xxs, {{0, half}}},
                                   {DType::kIQ3_S, iq3_s, {{0, half}}},
                                   {DType::kIQ1_S, iq1_s, {{0, half}}},
                                   {DType::kIQ1_M, iq1_m, {{49, half, true}}},
                                   {DType::kTQ1_0, tq1_0, {{52, half}}},
                                   {DType::kTQ2_0, tq2_0, {{64, half}}}};
  return *std::find_if(std::begin(formats), std::end(formats),
                       [&](const Format& f) { return f.dtype == dtype; });
}

/// 32 elements as one block: the exponent from the rounded logarithm, the first of the nearest values.
void quantize_mxfp4(const float* x, unsigned char* b) {
  float most = 0;
  for (int i = 0; i < 32; i++) most = std::max(most, std::fabs(x[i]));
  const float logarithm = most > 0 ? float(std::log2(double(most))) : -1000;
  b[0] = static_cast<unsigned char>(std::max(0, int(std::floor(logarithm)) - 2 + 127));
  constexpr double kValues[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6};
  std::fill_n(b + 1, 16, 0);
  for (int i = 0; i < 32; i++) {
    const auto distance = [&](double value) {
      return std::fabs(std::ldexp(value, b[0] - 127) - double(x[i]));
    };
    const auto nearest = std::min_element(
        std::begin(kValues), std::end(kValues),
        [&](double left, double right) { return distance(left) < distance(right); });
    b[1 + i % 16] = static_cast<unsigned char>(
        b[1 + i % 16] + ((nearest - std::begin(kValues)) << (i < 16 ? 0 : 4)));
  }
}

/// 256 elements as one block: the nearest of -1, 0 and 1 times the largest magnitude.
void quantize_ternary(DType dtype, const float* x, unsigned char* b) {
  float most = 0;
  for (int i = 0; i < 256; i++) most = std::max(most, std::fabs(x[i]));
  const float inverse = most == 0 ? 0 : 1 / most;
  const bool packs_five = dtype == DType::kTQ1_0;
  int numbers[64] = {};
  for (int i = 0; i < 256; i++) {
    const int q = int(std::round(x[i] * inverse)) + 1;
    const TernaryPlace place = ternary_place(i);
    if (packs_five)
      numbers[place.byte] += q * int(std::pow(3, 4 - place.digit));
    else
      numbers[i / 128 * 32 + i % 32] += q << i % 128 / 32 * 2;
  }
  const int count = packs_five ? 52 : 64;
  for (int k = 0; k < count; k++)  // the least byte whose fraction of 256 reaches number / 243
    b[k] =
        static_cast<unsigned char>(packs_five ? std::ceil(numbers[k] * 256 / 243.0) : numbers[k]);
  encode(DType::kF16, round_to_format(DType::kF16, most), b + count);
}

/// 32 elements as one block, or 256 of ternary formats.
void quantize_block(DType dtype, const float* x, unsigned char* b) {
  if (dtype == DType::kMXFP4) return quantize_mxfp4(x, b);
  if (dtype == DType::kTQ1_0 || dtype == DType::kTQ2_0) return quantize_ternary(dtype, x, b);
  const bool has_offset = dtype == DType::kQ4_1 || dtype == DType::kQ5_1;
  const int bits = dtype == DType::kQ8_0                            ? 8
                   : dtype == DType::kQ5_0 || dtype == DType::kQ5_1 ? 5
                                                                    : 4;
  const float low = *std::min_element(x, x + 32), high = *std::max_element(x, x + 32);
  const float farthest =
      *std::max_element(x, x + 32, [](float u, float v) { return std::fabs(u) < std::fabs(v); });
  float d = farthest / float(-(1 << (bits - 1)));
  if (has_offset) d = (high - low) / float((1 << bits) - 1);
  if (bits == 8) d = std::fabs(farthest) / 127;
  const float inverse = d == 0 ? 0 : 1 / d;
  std::fill_n(b, facts_of(dtype).block_bytes, 0);
  encode(DType::kF16, round_to_format(DType::kF16, d), b);
  if (has_offset) encode(DType::kF16, round_to_format(DType::kF16, low), b + 2);
  unsigned char* const fifths = b + (has_offset ? 4 : 2);
  unsigned char* const rest = fifths + (bits == 5 ? 4 : 0);
  for (int i = 0; i < 32; i++) {
    if (bits == 8) {
      rest[i] = static_cast<unsigned char>(static_cast<signed char>(std::round(x[i] * inverse)));
      continue;
    }
    float y = x[i] * inverse;
    if (has_offset) {
      y = x[i] - low;
      y = y * inverse;
    }
    y = y + (has_offset ? 0.5f : float(1 << (bits - 1)) + 0.5f);
    const int q = std::min(int(y), (1 << bits) - 1);
    rest[i % 16] = static_cast<unsigned char>(rest[i % 16] + (q % 16 << (i < 16 ? 0 : 4)));
    if (bits == 5) fifths[i / 8] = static_cast<unsigned char>(fifths[i / 8] + (q / 16 << i % 8));
  }
}

}  // namespace

std::vector<ScaleField> scale_fields(DType block) { return format(block).scales; }

Array dequantize(DType block, const Array& bytes) {
  const std::size_t size = std::size_t(facts_of(block).block_bytes),
                    elements = std::size_t(facts_of(block).block_elements);
  const std::size_t count = bytes.values.size() / size;
  Array y{DType::kF32, bytes.shape, std::vector<Real>(count * elements)};
  y.shape.back() = y.shape.back() / int64_t(size) * int64_t(elements);
  std::vector<unsigned char> b(size);
  for (std::size_t i = 0; i < count; i++) {
    for (std::size_t k = 0; k < size; k++)
      b[k] = static_cast<unsigned char>(bytes.values[i * size + k]);
    format(block).decode(b.data(), &y.values[i * elements]);
  }
  return y;
}

Array quantize(DType block, const Array& x) {
  const std::size_t size = std::size_t(facts_of(block).block_bytes),
                    elements = std::size_t(facts_of(block).block_elements);
  const std::size_t count = x.values.size() / elements;
  Array y{DType::kU8, x.shape, std::vector<Real>(count * size)};
  y.shape.back() = y.shape.back() / int64_t(elements) * int64_t(size);
  for (std::size_t i = 0; i < count; i++) {
    std::vector<float> values(elements);
    std::vector<unsigned char> b(size);
    for (std::size_t k = 0; k < elements; k++) values[k] = float(x.values[i * elements + k]);
    quantize_block(block, values.data(), b.data());
    std::copy(b.begin(), b.end(), y.values.begin() + std::ptrdiff_t(i * size));
  }
  return y;
}

}  // namespace wick::reference
