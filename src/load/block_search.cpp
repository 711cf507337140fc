#include "load/block_search.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/assert.h"
#include "base/parallel.h"
#include "scalar/blocks.h"

namespace wick {
namespace {

constexpr float kLargestF16 = 65504;
// Turns of fitting the factors of a block; later ones gain less than a thousandth of the error.
constexpr int kTurns = 3;

float as_f16(float x) { return to_float(round_to<f16>(std::clamp(x, -kLargestF16, kLargestF16))); }
void put_f16(uint8_t* at, float x) {
  const uint16_t bits = round_to<f16>(x).bits;
  at[0] = uint8_t(bits), at[1] = uint8_t(bits >> 8);
}

/// The nearest integer in [0, most]; 0 for NaN.
int nearest(float x, int most) {
  const float y = x + 0.5f;
  return int(y > 0 ? (y < float(most) ? y : float(most)) : 0);
}

/// Four floats at once, whose sums are the same on every machine.
constexpr int kLanes = 4;
using Floats = float __attribute__((vector_size(16)));
using Integers = int __attribute__((vector_size(16)));

Floats load(const float* x) {
  Floats lanes;
  std::memcpy(&lanes, x, sizeof(lanes));
  return lanes;
}
float sum(Floats x) { return (x[0] + x[1]) + (x[2] + x[3]); }

/// The nearest integers in [0, most]; 0 for NaN.
Integers nearest(Floats x, int most) {
  const Floats y = x + 0.5f, low = {}, high = low + float(most);
  const Floats above = y > low ? y : low;
  return __builtin_convertvector(above < high ? above : high, Integers);
}
Floats as_floats(Integers x) { return __builtin_convertvector(x, Floats); }

/// Writes the bits of quant i to a block of zeros: the inverse of block_quant.
template <class F>
void put_quant(uint8_t* block, int i, int bits) {
  const int run = i / blocks::kRun, e = i % blocks::kRun;
  const BlockBits low = F::low(run), high = F::high(run);
  constexpr int low_mask = (1 << F::kLowBits) - 1;
  block[low.byte + e % F::kLowBytes] |=
      uint8_t((bits & low_mask) << (low.shift + e / F::kLowBytes * 4));
  if constexpr (F::kHighBytes == 32)
    block[high.byte + e] |= uint8_t(bits >> F::kLowBits << high.shift);
}

/// How a format holds the scales of its groups (and minima): as multiples of a factor (two factors)
/// that begins at kFactorByte.
template <class F>
struct Multiples;

// ---- scale and offset: x = scale quant - minimum, quants from 0, minimum >= 0

template <>
struct Multiples<Q2_K> {
  static constexpr int kMax = 15, kFactorByte = 80;
  static void put(uint8_t* block, int group, int scale, int minimum) {
    block[group] = uint8_t(scale | minimum << 4);
  }
};
template <>
struct Multiples<Q4_K> {
  static constexpr int kMax = 63, kFactorByte = 0;
  static void put(uint8_t* block, int group, int scale, int minimum) {
    uint8_t* const at = block + 4 + group % 4;
    if (group < 4) {
      at[0] |= uint8_t(scale), at[4] |= uint8_t(minimum);
    } else {
      at[0] |= uint8_t(scale >> 4 << 6), at[4] |= uint8_t(minimum >> 4 << 6);
      at[8] = uint8_t((scale & 15) | (minimum & 15) << 4);
    }
  }
};
template <>
struct Multiples<Q5_K> : Multiples<Q4_K> {};

/// Groups whose scales and minima are multiples, from 0, of two factors.
template <class F>
class OffsetSearch {
 public:
  static constexpr int kMax = (1 << F::kBits) - 1, kGroups = kBlockElements<F> / F::kGroup,
                       kMaxMultiple = Multiples<F>::kMax;

  static void encode(const float* x, uint8_t* block) {
    Block best = first(x);
    for (int turn = 0; turn < kTurns; turn++) {
      Block next = fitted(x, best);
      choose_multiples(x, next);
      if (!(next.error < best.error)) break;
      best = next;
    }
    write(x, best, block);
  }

 private:
  struct Line {
    float scale, minimum;
  };
  struct Block {
    float scale = 0, minimum = 0;  // the factors, as f16 holds them
    int scales[kGroups] = {}, minima[kGroups] = {};
    double error = 0;
    Line line(int group) const {
      return {scale * float(scales[group]), minimum * float(minima[group])};
    }
  };

  static int quant(float x, const Line& line) {
    return line.scale > 0 ? nearest((x + line.minimum) / line.scale, kMax) : 0;
  }
  static float error_of(const float* x, const Line& line) {
    const float inverse = line.scale > 0 ? 1 / line.scale : 0;
    Floats errors = {};
    for (int i = 0; i < F::kGroup; i += kLanes) {
      const Floats lanes = load(x + i);
      const Floats q = as_floats(nearest((lanes + line.minimum) * inverse, kMax));
      const Floats difference = line.scale * q - line.minimum - lanes;
      errors += difference * difference;
    }
    return sum(errors);
  }

  /// The line of least squares through the quants that `inverse` gives.
  static Line line_through(const float* x, float low, float inverse) {
    Floats sums_q = {}, sums_q2 = {}, sums_qx = {}, sums_x = {};
    for (int i = 0; i < F::kGroup; i += kLanes) {
      const Floats lanes = load(x + i), q = as_floats(nearest((lanes - low) * inverse, kMax));
      sums_q += q, sums_q2 += q * q, sums_qx += q * lanes, sums_x += lanes;
    }
    const float q1 = sum(sums_q), q2 = sum(sums_q2), qx = sum(sums_qx), x1 = sum(sums_x),
                n = F::kGroup, determinant = n * q2 - q1 * q1;
    if (!(determinant > 0)) return {0, 0};
    const Line line = {(n * qx - x1 * q1) / determinant, (q1 * qx - q2 * x1) / determinant};
    return line.minimum < 0 ? Line{qx / q2, 0} : line;
  }

  static Line best_line(const float* x) {
    const float low = std::min(0.f, *std::min_element(x, x + F::kGroup)),
                high = *std::max_element(x, x + F::kGroup), range = high - low;
    if (!(range > 0)) return {0, -low};
    Line best = {range / kMax, -low};
    float least = error_of(x, best);
    // The range may be cut, or stretched, by the share of a quant.
    constexpr int kCandidates = 21;
    for (int c = 0; c < kCandidates; c++) {
      const Line line = line_through(x, low, (float(kMax) - 1 + 0.1f * float(c)) / range);
      if (!(line.scale > 0)) continue;
      if (const float error = error_of(x, line); error < least) least = error, best = line;
    }
    return best;
  }

  static Block first(const float* x) {
    Line lines[kGroups];
    float most_scale = 0, most_minimum = 0;
    for (int g = 0; g < kGroups; g++) {
      lines[g] = best_line(x + g * F::kGroup);
      most_scale = std::max(most_scale, lines[g].scale);
      most_minimum = std::max(most_minimum, lines[g].minimum);
    }
    // The largest multiple decides the grid of the others; a few grids are tried.
    constexpr int kGrids = 4;
    Block best;
    for (int grid = 0; grid < kGrids; grid++) {
      const int most = kMaxMultiple - grid;
      Block block;
      block.scale = as_f16(most_scale / float(most));
      block.minimum = as_f16(most_minimum / float(most));
      for (int g = 0; g < kGroups; g++) {
        if (block.scale > 0) block.scales[g] = nearest(lines[g].scale / block.scale, kMaxMultiple);
        if (block.minimum > 0)
          block.minima[g] = nearest(lines[g].minimum / block.minimum, kMaxMultiple);
        block.error += double(error_of(x + g * F::kGroup, block.line(g)));
      }
      if (grid == 0 || block.error < best.error) best = block;
    }
    choose_multiples(x, best);
    return best;
  }

  /// Moves each group's multiples to the best of their neighbours, and sums the errors.
  static void choose_multiples(const float* x, Block& block) {
    block.error = 0;
    for (int g = 0; g < kGroups; g++) {
      const float* const group = x + g * F::kGroup;
      float least = error_of(group, block.line(g));
      const int s = block.scales[g], m = block.minima[g];
      for (int ds = -1; ds <= 1; ds++)
        for (int dm = -1; dm <= 1; dm++) {
          const int scale = s + ds, minimum = m + dm;
          const bool inside = scale >= 0 && scale <= kMaxMultiple && minimum >= 0 &&
                              minimum <= kMaxMultiple && (ds != 0 || dm != 0);
          if (!inside) continue;
          const float error =
              error_of(group, {block.scale * float(scale), block.minimum * float(minimum)});
          if (error < least) least = error, block.scales[g] = scale, block.minima[g] = minimum;
        }
      block.error += double(least);
    }
  }

  /// The block with the factors of least squares for its multiples and quants.
  static Block fitted(const float* x, const Block& block) {
    // x = scale a - minimum b, of a = scales[g] quant and b = minima[g].
    double aa = 0, ab = 0, bb = 0, ax = 0, bx = 0;
    for (int i = 0; i < kBlockElements<F>; i++) {
      const int g = i / F::kGroup;
      const double a = block.scales[g] * quant(x[i], block.line(g)), b = block.minima[g];
      aa += a * a, ab += a * b, bb += b * b, ax += a * double(x[i]), bx += b * double(x[i]);
    }
    Block next = block;
    const double determinant = aa * bb - ab * ab;
    if (determinant > 0) {
      next.scale = as_f16(float((bb * ax - ab * bx) / determinant));
      next.minimum = as_f16(float((ab * ax - aa * bx) / determinant));
    } else if (aa > 0) {
      next.scale = as_f16(float((ax + double(block.minimum) * ab) / aa));
    }
    return next.scale >= 0 && next.minimum >= 0 ? next : block;
  }

  static void write(const float* x, const Block& b, uint8_t* block) {
    std::memset(block, 0, size_t(kBlockBytes<F>));
    put_f16(block + Multiples<F>::kFactorByte, b.scale);
    put_f16(block + Multiples<F>::kFactorByte + 2, b.minimum);
    for (int g = 0; g < kGroups; g++) Multiples<F>::put(block, g, b.scales[g], b.minima[g]);
    for (int i = 0; i < kBlockElements<F>; i++)
      put_quant<F>(block, i, quant(x[i], b.line(i / F::kGroup)));
  }
};

// ---- scale alone: x = scale quant, quants on both sides of 0

template <>
struct Multiples<Q3_K> {
  static constexpr int kLeast = -32, kMax = 31, kFactorByte = 108;
  static void put(uint8_t* block, int group, int scale) {
    block[96 + group % 8] |= uint8_t(((scale - kLeast) & 15) << group / 8 * 4);
    block[104 + group % 4] |= uint8_t((scale - kLeast) >> 4 << group / 4 * 2);
  }
};
template <>
struct Multiples<Q6_K> {
  static constexpr int kLeast = -128, kMax = 127, kFactorByte = 208;
  static void put(uint8_t* block, int group, int scale) {
    block[192 + group] = uint8_t(int8_t(scale));
  }
};
template <>
struct Multiples<IQ4_XS> {
  static constexpr int kLeast = -32, kMax = 31, kFactorByte = 0;
  static void put(uint8_t* block, int group, int scale) {
    block[4 + group / 2] |= uint8_t(((scale - kLeast) & 15) << group % 2 * 4);
    block[2 + group / 4] |= uint8_t((scale - kLeast) >> 4 << group % 4 * 2);
  }
};
/// One group, whose scale is the factor.
template <>
struct Multiples<IQ4_NL> {
  static constexpr int kLeast = 1, kMax = 1, kFactorByte = 0;
  static void put(uint8_t*, int, int) {}
};

/// The quants of a format: equally spaced.
template <class F>
struct Quants {
  static constexpr int kBits = (1 << F::kBits) - 1;
  // A candidate of a group's scale maps the largest magnitude to an end of the quants, or to one of
  // kCandidates points on either side of it.
  static constexpr int kEnds[] = {-F::kBias, kBits - F::kBias}, kCandidates = 4;
  static constexpr float kStep = 0.2f;

  static int bits(float x) { return nearest(x + float(F::kBias), kBits); }
  /// The quants nearest to x.
  static int quant(float x) { return bits(x) - F::kBias; }
  static Floats quants(Floats x) {
    return as_floats(nearest(x + float(F::kBias), kBits) - F::kBias);
  }
};

/// The quants of a table.
template <class F>
requires kHasQuantTable<F>
struct Quants<F> {
  static constexpr int kEnds[] = {F::values()[0], F::values()[15]}, kCandidates = 7;
  static constexpr float kStep = 3;

  static int bits(float x) { return kNearest.bits[interval(x)]; }
  static int quant(float x) { return kNearest.quants[interval(x)]; }
  static Floats quants(Floats x) {
    const Integers at = nearest(2 * x + 255.5f, kIntervals - 1);
    return as_floats(Integers{kNearest.quants[at[0]], kNearest.quants[at[1]],
                              kNearest.quants[at[2]], kNearest.quants[at[3]]});
  }

 private:
  // Two quants meet at a multiple of 1/2, so that one is the nearest to all of [i / 2 - 128,
  // i / 2 - 127.5).
  static constexpr int kIntervals = 512;
  static int interval(float x) { return nearest(2 * x + 255.5f, kIntervals - 1); }
  struct Table {
    int8_t bits[kIntervals], quants[kIntervals];
  };
  static constexpr Table kNearest = [] {
    Table table = {};
    for (int i = 0; i < kIntervals; i++) {
      const auto distance = [i](int bits) {
        const int twice = 4 * F::values()[uint32_t(bits)] - (2 * i + 1 - kIntervals);
        return twice < 0 ? -twice : twice;
      };
      int best = 0;
      for (int bits = 1; bits < 16; bits++)
        if (distance(bits) < distance(best)) best = bits;
      table.bits[i] = int8_t(best), table.quants[i] = F::values()[uint32_t(best)];
    }
    return table;
  }();
};

/// Groups whose scales are multiples, of both signs, of one factor.
template <class F>
class ScaleSearch {
 public:
  static constexpr int kGroups = kBlockElements<F> / F::kGroup;

  static void encode(const float* x, uint8_t* block) {
    Block best = first(x);
    for (int turn = 0; turn < kTurns; turn++) {
      Block next = fitted(x, best);
      choose_multiples(x, next);
      if (!(next.error < best.error)) break;
      best = next;
    }
    if constexpr (kHasQuantTable<F>) best = best_of_neighbours(x, best);
    write(x, best, block);
  }

 private:
  using Q = Quants<F>;
  static constexpr int kLeastMultiple = Multiples<F>::kLeast, kMaxMultiple = Multiples<F>::kMax;
  struct Block {
    float factor = 0;  // as f16 holds it
    int scales[kGroups] = {};
    double error = 0;
    float scale(int group) const { return factor * float(scales[group]); }
  };

  static float error_of(const float* x, float scale) {
    const float inverse = scale != 0 ? 1 / scale : 0;
    Floats errors = {};
    for (int i = 0; i < F::kGroup; i += kLanes) {
      const Floats lanes = load(x + i), difference = scale * Q::quants(lanes * inverse) - lanes;
      errors += difference * difference;
    }
    return sum(errors);
  }

  static float best_scale(const float* x) {
    float farthest = 0;
    for (int i = 0; i < F::kGroup; i++)
      if (std::abs(x[i]) > std::abs(farthest)) farthest = x[i];
    if (farthest == 0) return 0;
    // With the scale of least squares, qx / q2, the sum of squares lessens by qx qx / q2.
    float best = 0, most = 0;
    for (const int end : Q::kEnds)
      for (int c = -Q::kCandidates; c <= Q::kCandidates; c++) {
        const float inverse = (float(end) + Q::kStep * float(c)) / farthest;
        Floats sums_qx = {}, sums_q2 = {};
        for (int i = 0; i < F::kGroup; i += kLanes) {
          const Floats lanes = load(x + i), q = Q::quants(lanes * inverse);
          sums_qx += q * lanes, sums_q2 += q * q;
        }
        const float qx = sum(sums_qx), q2 = sum(sums_q2);
        if (qx * qx > most * q2) best = qx / q2, most = best * qx;
      }
    return best;
  }

  static Block first(const float* x) {
    float scales[kGroups], farthest = 0;
    for (int g = 0; g < kGroups; g++) {
      scales[g] = best_scale(x + g * F::kGroup);
      if (std::abs(scales[g]) > std::abs(farthest)) farthest = scales[g];
    }
    // The multiple of the largest scale decides the grid of the others; a few grids are tried.
    constexpr int kGrids = kGroups == 1 ? 1 : 4;
    Block best;
    for (int grid = 0; grid < kGrids; grid++) {
      Block block;
      block.factor = as_f16(farthest / float(kLeastMultiple + grid));
      for (int g = 0; g < kGroups; g++) {
        if (block.factor != 0)
          block.scales[g] = nearest(scales[g] / block.factor - float(kLeastMultiple),
                                    kMaxMultiple - kLeastMultiple) +
                            kLeastMultiple;
        block.error += double(error_of(x + g * F::kGroup, block.scale(g)));
      }
      if (grid == 0 || block.error < best.error) best = block;
    }
    choose_multiples(x, best);
    return best;
  }

  static void choose_multiples(const float* x, Block& block) {
    block.error = 0;
    for (int g = 0; g < kGroups; g++) {
      const float* const group = x + g * F::kGroup;
      float least = error_of(group, block.scale(g));
      const int middle = block.scales[g];
      for (const int scale : {middle - 1, middle + 1}) {
        if (scale < kLeastMultiple || scale > kMaxMultiple) continue;
        const float error = error_of(group, block.factor * float(scale));
        if (error < least) least = error, block.scales[g] = scale;
      }
      block.error += double(least);
    }
  }

  /// The best of blocks with the next factors of f16: the quants of a table, whose distances
  /// differ, leave more minima for the factor of least squares to stop at.
  static Block best_of_neighbours(const float* x, const Block& block) {
    Block best = block;
    const uint16_t bits = round_to<f16>(block.factor).bits;
    for (const int step : {-2, -1, 1, 2}) {
      Block next = block;
      next.factor = to_float(f16{uint16_t(bits + step)});
      if (!(std::abs(next.factor) <= kLargestF16)) continue;  // beyond zero or the largest
      choose_multiples(x, next);
      if (next.error < best.error) best = next;
    }
    return best;
  }

  static int bits(float x, float scale) { return Q::bits(scale != 0 ? x / scale : 0); }
  static int quant(float x, float scale) { return Q::quant(scale != 0 ? x / scale : 0); }

  static Block fitted(const float* x, const Block& block) {
    double aa = 0, ax = 0;  // x = factor a, of a = scales[g] quant
    for (int i = 0; i < kBlockElements<F>; i++) {
      const int g = i / F::kGroup;
      const double a = block.scales[g] * quant(x[i], block.scale(g));
      aa += a * a, ax += a * double(x[i]);
    }
    Block next = block;
    if (aa > 0) next.factor = as_f16(float(ax / aa));
    return next;
  }

  static void write(const float* x, const Block& b, uint8_t* block) {
    std::memset(block, 0, size_t(kBlockBytes<F>));
    put_f16(block + Multiples<F>::kFactorByte, b.factor);
    for (int g = 0; g < kGroups; g++) Multiples<F>::put(block, g, b.scales[g]);
    for (int i = 0; i < kBlockElements<F>; i++)
      put_quant<F>(block, i, bits(x[i], b.scale(i / F::kGroup)));
  }
};

using Encode = void (*)(const float* x, uint8_t* block);
struct Searched {
  DType dtype;
  Encode encode;
};
constexpr Searched kSearched[] = {
    {DType::kQ2_K, OffsetSearch<Q2_K>::encode},    {DType::kQ3_K, ScaleSearch<Q3_K>::encode},
    {DType::kQ4_K, OffsetSearch<Q4_K>::encode},    {DType::kQ5_K, OffsetSearch<Q5_K>::encode},
    {DType::kQ6_K, ScaleSearch<Q6_K>::encode},     {DType::kIQ4_NL, ScaleSearch<IQ4_NL>::encode},
    {DType::kIQ4_XS, ScaleSearch<IQ4_XS>::encode},
};

Encode encode_of(DType dtype) {
  for (const Searched& row : kSearched)
    if (row.dtype == dtype) return row.encode;
  return nullptr;
}

}  // namespace

bool is_searched(DType dtype) { return encode_of(dtype) != nullptr; }

Tensor quantize_by_search(const Tensor& x, DType dtype) {
  const Encode encode = encode_of(dtype);
  WICK_ASSERT(encode && x.dtype() == DType::kF32 && x.is_contiguous());
  const DTypeFacts& facts = facts_of(dtype);
  const Tensor result = Tensor::empty(x.shape(), {.dtype = dtype});
  const float* const from = static_cast<const float*>(x.data());
  uint8_t* const to = static_cast<uint8_t*>(result.data());
  parallel_for(x.numel() / facts.block_elements, 4096 / facts.block_elements,
               [&](int64_t begin, int64_t end) {
                 for (int64_t b = begin; b < end; b++)
                   encode(from + b * facts.block_elements, to + b * facts.block_bytes);
               });
  return result;
}

}  // namespace wick
