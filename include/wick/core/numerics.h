// Process-wide numerical settings of kernels. Any thread may get and set them; an op uses the
// setting at the time it is called.
#pragma once
#include "wick/base/export.h"

namespace wick {

/// The precision to which matmul may round f32 operands; sums are always in f32.
enum class MatmulPrecision {
  kF32,   // no rounding: PyTorch's "highest"
  kTf32,  // TF32, 10 mantissa bits: "high"
  kBf16,  // bf16, 7 mantissa bits: "medium"
};
/// Permits matmul, convolutions and ops built on them to round f32 operands to this precision where
/// that is faster; kF32 by default. This is a permission, not a requirement: cuBLASLt and cuDNN
/// round to TF32, no other kernel rounds.
WICK_API void set_matmul_precision(MatmulPrecision precision);
/// Returns the current setting.
WICK_API MatmulPrecision matmul_precision();

/// Requires the same call to give the same bits on every run; off by default. The CPU always does.
/// On cards, float sums into positions given by ids have no fixed order: scatter_add, index_add and
/// ops built on them, such as accumulating index_put and the gradients of index_select, gather and
/// embedding. While this is on, cards sort the ids and add in their order, which takes longer and
/// some 32 bytes of memory per id; the error bounds stay the same.
WICK_API void set_deterministic(bool on);
/// Whether set_deterministic is on.
WICK_API bool deterministic();

/// Permits linear and expert_linear with a block weight to round x to 16 bits where that is faster;
/// on by default. Each 32 neighbours of x share a step, their largest magnitude / 32512, and are
/// rounded to multiples of it: |e| <= step / 2 in each x, 256 times less than ggml, which rounds to
/// 8 bits. The CPU does so, and is 1.3 to 2.4 times as fast; cards in linear with one row, or up
/// to 8 of f32. An x with infinities, NaN, or magnitudes above 2^60 or all below 2^-60 in some 32
/// neighbours is not rounded. Gradients are the exact product's.
WICK_API void set_round_activations(bool on);
/// Whether set_round_activations is on.
WICK_API bool round_activations();

}  // namespace wick
