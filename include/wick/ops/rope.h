// Rotary position embedding.
#pragma once
#include "wick/core/tensor.h"

namespace wick {

/// Rotates each pair of elements i and i + D / 2 of x by the angle of its position: (x1 cos - x2
/// sin, x2 cos + x1 sin), as HuggingFace's rotate_half does.
///
/// x          [B, H, T, D]  floating, D even; any strides, without a copy if the last is 1
/// cos, sin   [P, D / 2]    f32 (f64 for f64), one row per position: see rope_tables
/// positions  [B, T]        integers in [0, P); empty: 0 to T - 1, which needs P >= T
/// Returns [B, H, T, D], dtype of x, computed in f32 (f64 for f64). Max error: 1 ulp of the larger
/// of the pair's terms.
/// Errors: kShapeMismatch, kDTypeMismatch; kOutOfRange as in gather.h.
/// Source: Su et al. 2021, arXiv:2104.09864.
WICK_API Tensor rope(const Tensor& x, const Tensor& cos, const Tensor& sin,
                     const Tensor& positions = {});
/// rope of x [B, H, T, D] with pairs of adjacent elements 2 i and 2 i + 1, as in the paper and in
/// GPT-J.
WICK_API Tensor rope_i(const Tensor& x, const Tensor& cos, const Tensor& sin,
                       const Tensor& positions = {});
/// rope of x [B, T, H, D], the layout of a projection's output.
WICK_API Tensor rope_thd(const Tensor& x, const Tensor& cos, const Tensor& sin,
                         const Tensor& positions = {});

struct RopeTables {
  Tensor cos, sin;  // [positions, head_dim / 2]
};
/// The tables for `positions` rows: the angle of pair i at position p is p · theta^(-2 i /
/// head_dim). f32 or f64.
WICK_API RopeTables rope_tables(int64_t positions, int64_t head_dim, double theta,
                                const TensorOptions& options = {});

}  // namespace wick
