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

/// Writes quant i of a block of zeros: the inverse of block_quant. bits: quant + kBias.
template <class F>
void put_quant(uint8_t* block, int i, int bits) {
  const int run = i / blocks::kRun, e = i % blocks::kRun;
  const BlockBits low = F::low(run), high = F::high(run);
  block[low.byte + e] |= uint8_t((bits & 15) << low.shift);
  if constexpr (F::kHighBytes == 32) block[high.byte + e] |= uint8_t(bits >> 4 << high.shift);
}

// ---- scale and offset: x = scale quant - minimum, quants from 0, minimum >= 0

/// q4_k and q5_k: 8 groups of 32, whose scales and minima are multiples, from 0 to 63, of two
/// factors.
template <class F>
class OffsetSearch {
 public:
  static constexpr int kMost = (1 << F::kBits) - 1, kGroups = kBlockElements<F> / F::kGroup,
                       kMostMultiple = 63;

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
    return line.scale > 0 ? nearest((x + line.minimum) / line.scale, kMost) : 0;
  }
  static float error_of(const float* x, const Line& line) {
    const float inverse = line.scale > 0 ? 1 / line.scale : 0;
    float errors[4] = {};
    for (int i = 0; i < F::kGroup; i += 4)
      for (int k = 0; k < 4; k++) {
        const int q = nearest((x[i + k] + line.minimum) * inverse, kMost);
        const float difference = line.scale * float(q) - line.minimum - x[i + k];
        errors[k] += difference * difference;
      }
    return (errors[0] + errors[1]) + (errors[2] + errors[3]);
  }

  /// The line of least squares through the quants that `inverse` gives.
  static Line line_through(const float* x, float low, float inverse) {
    float q1 = 0, q2 = 0, qx = 0, x1 = 0;
    for (int i = 0; i < F::kGroup; i++) {
      const float q = float(nearest((x[i] - low) * inverse, kMost));
      q1 += q, q2 += q * q, qx += q * x[i], x1 += x[i];
    }
    const float n = F::kGroup, determinant = n * q2 - q1 * q1;
    if (!(determinant > 0)) return {0, 0};
    const Line line = {(n * qx - x1 * q1) / determinant, (q1 * qx - q2 * x1) / determinant};
    return line.minimum < 0 ? Line{qx / q2, 0} : line;
  }

  static Line best_line(const float* x) {
    const float low = std::min(0.f, *std::min_element(x, x + F::kGroup)),
                high = *std::max_element(x, x + F::kGroup), range = high - low;
    if (!(range > 0)) return {0, -low};
    Line best = {range / kMost, -low};
    float least = error_of(x, best);
    // The range may be cut, or stretched, by the share of a quant.
    constexpr int kCandidates = 21;
    for (int c = 0; c < kCandidates; c++) {
      const Line line = line_through(x, low, (float(kMost) - 1 + 0.1f * float(c)) / range);
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
      const int most = kMostMultiple - grid;
      Block block;
      block.scale = as_f16(most_scale / float(most));
      block.minimum = as_f16(most_minimum / float(most));
      for (int g = 0; g < kGroups; g++) {
        if (block.scale > 0) block.scales[g] = nearest(lines[g].scale / block.scale, kMostMultiple);
        if (block.minimum > 0)
          block.minima[g] = nearest(lines[g].minimum / block.minimum, kMostMultiple);
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
          const bool inside = scale >= 0 && scale <= kMostMultiple && minimum >= 0 &&
                              minimum <= kMostMultiple && (ds != 0 || dm != 0);
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
    put_f16(block, b.scale);
    put_f16(block + 2, b.minimum);
    for (int g = 0; g < kGroups; g++) {
      uint8_t* const at = block + 4 + g % 4;
      const int scale = b.scales[g], minimum = b.minima[g];
      if (g < 4) {
        at[0] |= uint8_t(scale), at[4] |= uint8_t(minimum);
      } else {
        at[0] |= uint8_t(scale >> 4 << 6), at[4] |= uint8_t(minimum >> 4 << 6);
        at[8] = uint8_t((scale & 15) | (minimum & 15) << 4);
      }
    }
    for (int i = 0; i < kBlockElements<F>; i++)
      put_quant<F>(block, i, quant(x[i], b.line(i / F::kGroup)));
  }
};

// ---- scale alone: x = scale quant, quants on both sides of 0

/// q6_k: 16 groups of 16, whose scales are multiples, from -128 to 127, of one factor.
template <class F>
class ScaleSearch {
 public:
  static constexpr int kMost = (1 << F::kBits) - 1, kGroups = kBlockElements<F> / F::kGroup;

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
  struct Block {
    float factor = 0;  // as f16 holds it
    int scales[kGroups] = {};
    double error = 0;
    float scale(int group) const { return factor * float(scales[group]); }
  };

  /// quant + kBias.
  static int bits(float x, float scale) {
    return scale != 0 ? nearest(x / scale + float(F::kBias), kMost) : F::kBias;
  }
  static float error_of(const float* x, float scale) {
    const float inverse = scale != 0 ? 1 / scale : 0;
    float errors[4] = {};
    for (int i = 0; i < F::kGroup; i += 4)
      for (int k = 0; k < 4; k++) {
        const int q = nearest(x[i + k] * inverse + float(F::kBias), kMost) - F::kBias;
        const float difference = scale * float(q) - x[i + k];
        errors[k] += difference * difference;
      }
    return (errors[0] + errors[1]) + (errors[2] + errors[3]);
  }

  static float best_scale(const float* x) {
    float farthest = 0;
    for (int i = 0; i < F::kGroup; i++)
      if (std::abs(x[i]) > std::abs(farthest)) farthest = x[i];
    if (farthest == 0) return 0;
    float best = farthest / float(-F::kBias), least = error_of(x, best);
    constexpr int kCandidates = 9;  // on either side
    for (int c = -kCandidates; c <= kCandidates; c++) {
      const float inverse = -(float(F::kBias) + 0.1f * float(c)) / farthest;
      float qx = 0, q2 = 0;
      for (int i = 0; i < F::kGroup; i++) {
        const float q = float(nearest(x[i] * inverse + float(F::kBias), kMost) - F::kBias);
        qx += q * x[i], q2 += q * q;
      }
      if (!(q2 > 0)) continue;
      const float scale = qx / q2;
      if (const float error = error_of(x, scale); error < least) least = error, best = scale;
    }
    return best;
  }

  static Block first(const float* x) {
    float scales[kGroups], farthest = 0;
    for (int g = 0; g < kGroups; g++) {
      scales[g] = best_scale(x + g * F::kGroup);
      if (std::abs(scales[g]) > std::abs(farthest)) farthest = scales[g];
    }
    Block block;
    block.factor = as_f16(farthest / -128);
    if (block.factor != 0)
      for (int g = 0; g < kGroups; g++)
        block.scales[g] = nearest(scales[g] / block.factor + 128, 255) - 128;
    choose_multiples(x, block);
    return block;
  }

  static void choose_multiples(const float* x, Block& block) {
    block.error = 0;
    for (int g = 0; g < kGroups; g++) {
      const float* const group = x + g * F::kGroup;
      float least = error_of(group, block.scale(g));
      const int middle = block.scales[g];
      for (const int scale : {middle - 1, middle + 1}) {
        if (scale < -128 || scale > 127) continue;
        const float error = error_of(group, block.factor * float(scale));
        if (error < least) least = error, block.scales[g] = scale;
      }
      block.error += double(least);
    }
  }

  static Block fitted(const float* x, const Block& block) {
    double aa = 0, ax = 0;  // x = factor a, of a = scales[g] quant
    for (int i = 0; i < kBlockElements<F>; i++) {
      const int g = i / F::kGroup;
      const double a = block.scales[g] * (bits(x[i], block.scale(g)) - F::kBias);
      aa += a * a, ax += a * double(x[i]);
    }
    Block next = block;
    if (aa > 0) next.factor = as_f16(float(ax / aa));
    return next;
  }

  static void write(const float* x, const Block& b, uint8_t* block) {
    std::memset(block, 0, size_t(kBlockBytes<F>));
    put_f16(block + 208, b.factor);
    for (int g = 0; g < kGroups; g++) block[192 + g] = uint8_t(int8_t(b.scales[g]));
    for (int i = 0; i < kBlockElements<F>; i++)
      put_quant<F>(block, i, bits(x[i], b.scale(i / F::kGroup)));
  }
};

using Encode = void (*)(const float* x, uint8_t* block);
struct Searched {
  DType dtype;
  Encode encode;
};
constexpr Searched kSearched[] = {{DType::kQ4_K, OffsetSearch<Q4_K>::encode},
                                  {DType::kQ5_K, OffsetSearch<Q5_K>::encode},
                                  {DType::kQ6_K, ScaleSearch<Q6_K>::encode}};

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
  parallel_for(x.numel() / facts.block_elements, 16, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; b++)
      encode(from + b * facts.block_elements, to + b * facts.block_bytes);
  });
  return result;
}

}  // namespace wick
