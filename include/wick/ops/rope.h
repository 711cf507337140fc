// Rotary position embedding.
#pragma once
#include "wick/core/tensor.h"

namespace wick {

/// Turns each pair of elements of x, i and i + D / 2, by the angle of its position:
/// (x1 cos - x2 sin, x2 cos + x1 sin). HuggingFace's rotate_half.
///
/// x          [B, H, T, D]  floating, D even; any strides, without a copy if the last is 1
/// cos, sin   [P, D / 2]    f32 (f64 for f64), a row per position: see rope_tables
/// positions  [B, T]        integers in [0, P); none: 0 to T - 1, and P is then at least T
/// Returns [B, H, T, D], dtype of x, computed in f32 (f64 for f64). Max error: 1 ulp of the larger
/// of the pair's terms. Errors: kShapeMismatch, kDTypeMismatch; kOutOfRange as those of gather.h.
/// Source: Su et al. 2021, arXiv:2104.09864.
WICK_API Tensor rope(const Tensor& x, const Tensor& cos, const Tensor& sin,
                     const Tensor& positions = {});
/// rope of x [B, H, T, D] whose pairs are neighbours, the elements 2 i and 2 i + 1, as in the paper
/// and in GPT-J.
WICK_API Tensor rope_i(const Tensor& x, const Tensor& cos, const Tensor& sin,
                       const Tensor& positions = {});
/// rope of x [B, T, H, D], the layout that a projection leaves.
WICK_API Tensor rope_thd(const Tensor& x, const Tensor& cos, const Tensor& sin,
                         const Tensor& positions = {});

struct RopeTables {
  Tensor cos, sin;  // [positions, head_dim / 2]
};
/// The tables of `positions` rows: the angle of pair i at position p is p · theta^(-2 i /
/// head_dim). f32 or f64.
WICK_API RopeTables rope_tables(int64_t positions, int64_t head_dim, double theta,
                                const TensorOptions& options = {});

}  // namespace wick
