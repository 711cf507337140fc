// Rotary position embedding.
#pragma once
#include <vector>

#include "wick/core/tensor.h"

namespace wick {

/// Which elements of a head's D form a pair.
enum class RopePairs {
  kHalves,    // i and i + D / 2, as in HuggingFace's rotate_half
  kAdjacent,  // 2 i and 2 i + 1, as in the paper, in GPT-J and in GGUF files of llama
};
/// The order of x's dims.
enum class RopeLayout {
  kHeadsFirst,   // [B, H, T, D]
  kTokensFirst,  // [B, T, H, D], the layout of a projection's output
};

/// The cosines and sines of each position's angles.
struct RopeTables {
  Tensor cos, sin;  // [P, D / 2]
};

struct RopeOptions {
  RopePairs pairs = RopePairs::kHalves;
  RopeLayout layout = RopeLayout::kHeadsFirst;
  Tensor positions = {};  // [B, T], integers in [0, P); empty: 0 to T - 1, which needs P >= T
};

/// Rotates each pair of elements of x by the angle of its position: (x1 cos - x2 sin, x2 cos + x1
/// sin).
///
/// x       [B, H, T, D] or [B, T, H, D]  floating, D even; any strides, without a copy if the last
///                                       is 1
/// tables  [P, D / 2]                    f32 (f64 for f64), one row per position: see rope_tables
/// Returns x's shape and dtype, computed in f32 (f64 for f64). Max error: 1 ulp of the larger of
/// the pair's terms.
/// Errors: kShapeMismatch, kDTypeMismatch; kOutOfRange as in gather.h.
/// Source: Su et al. 2021, arXiv:2104.09864.
WICK_API Tensor rope(const Tensor& x, const RopeTables& tables, const RopeOptions& options = {});

/// rope of x [B, H, T, D] with pairs in halves.
inline Tensor rope(const Tensor& x, const Tensor& cos, const Tensor& sin,
                   const Tensor& positions = {}) {
  return rope(x, {cos, sin}, {.positions = positions});
}
inline Tensor rope_i(const Tensor& x, const Tensor& cos, const Tensor& sin,
                     const Tensor& positions = {}) {
  return rope(x, {cos, sin}, {.pairs = RopePairs::kAdjacent, .positions = positions});
}
inline Tensor rope_thd(const Tensor& x, const Tensor& cos, const Tensor& sin,
                       const Tensor& positions = {}) {
  return rope(x, {cos, sin}, {.layout = RopeLayout::kTokensFirst, .positions = positions});
}

/// How a model that was trained on a short context reaches a longer one: by a change of the
/// frequencies. Types and fields are as in "rope_scaling" of config.json.
enum class RopeScalingType {
  kNone,
  kLinear,    // every frequency divided by factor
  kDynamic,   // theta grows with the number of positions beyond the trained ones
  kYarn,      // from the frequency to frequency / factor, between the pairs that beta_fast and
              // beta_slow select. Source: Peng et al. 2023, arXiv:2309.00071, 3.2
  kLlama3,    // the same between two wavelengths, as in Llama 3.1
  kLongRope,  // each pair's frequency divided by its own factor: a short one for as many positions
              // as the trained context has, else a long one. Source: Ding et al. 2024,
              // arXiv:2402.13753
};
struct RopeScaling {
  RopeScalingType type = RopeScalingType::kNone;
  double factor = 1;
  int64_t original_max_position_embeddings = 0;  // the trained context; not read by kLinear
  double beta_fast = 32, beta_slow = 1;  // kYarn: rotations over the trained context at the ends
  bool truncate = true;                  // kYarn: the ends are rounded to whole pairs
  double low_freq_factor = 1, high_freq_factor = 4;  // kLlama3: the trained context over wavelength
  double attention_factor = 1;                       // multiplies cos and sin
  std::vector<double> short_factor = {}, long_factor = {};  // kLongRope: one per pair
  std::vector<double> divisors = {};  // one per pair, after the rest: of a GGUF's rope_freqs.weight
};

/// The tables for `positions` rows: the angle of pair i at position p is p · theta^(-2 i /
/// head_dim), with the frequency scaled. f32 or f64; in f32 the frequency and the angle are rounded
/// as transformers rounds them. Errors: kInvalidArgument.
WICK_API RopeTables rope_tables(int64_t positions, int64_t head_dim, double theta,
                                const TensorOptions& options = {}, const RopeScaling& scaling = {});

}  // namespace wick
