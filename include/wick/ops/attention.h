// Scaled-dot-product attention.
#pragma once
#include "wick/core/tensor.h"

namespace wick {

struct SdpaOptions {
  Tensor mask = {};  // broadcasts to [B, H, T, S]: bool, true where a query may attend to a key; or
                     // floating, added to the scores
  bool is_causal = false;  // a query attends only to keys up to its own position
  Tensor positions = {};   // [B, T], integers >= 0: the queries' positions; empty: 0 to T - 1
  double scale = 0;        // 0: 1 / sqrt(D)
  int64_t window = 0;      // w > 0: of those keys, only the last w; 0: all of them
  double soft_cap = 0;     // c > 0: cap(x) = c tanh(x / c); 0: x
  Tensor lengths = {};     // [B], integers: of batch b only the first lengths[b] keys; empty: all S
  Tensor sinks = {};       // [H], floating: a score of each query head that has no key and no value
  // Of k and v in i8, as quantize_i8 makes them: [B, G, S, D / 32] and [B, G, S, Dv / 32], f16.
  Tensor key_scales = {}, value_scales = {};
  // [B, N], integers: k and v are a pool of blocks that all batches share, k [1, G, P, D] and v [1,
  // G, P, Dv], and key s of batch b is row blocks[b, s / block_size] * block_size + s % block_size;
  // S is N * block_size. Ids outside of the pool stand for block 0.
  Tensor blocks = {};
  int64_t block_size = 0;  // of blocks, a power of two; 64 or more are fastest
};

/// y = softmax(cap(scale · q kᵀ) + mask) v, grouped-query: query head h reads key head h / (H / G).
///
/// q  [B, H, T, D]   floating
/// k  [B, G, S, D]   q's dtype or another; a key's index in S is its position, so a cache of
///                   capacity S can be passed whole; must be finite at keys that a mask hides, and
///                   at all keys for the gradient
/// v  [B, G, S, Dv]  k's dtype; must be finite even at keys that no query attends to
/// Returns [B, H, T, Dv] in q's dtype; accumulates in f32 (f64 for f64). k and v may be of another
/// floating dtype than q, or i8 with scales, as caches hold them; they may be rounded to q's dtype.
/// The weights of f16 and bf16 may be rounded to that dtype before they multiply v; a weight of f16
/// that rounds to 0 makes NaN of an infinite v. A query that attends to no key gets 0. The kernels
/// do not store the scores. Smaller ops, which do, compute the gradients where a mask has one
/// itself, or is given with lengths and a window.
///
/// A mask is added to the scores in the dtype that accumulates; one of bool as 0 or -inf. A
/// floating mask has a gradient. Kernels read masks through their strides, so those that broadcast
/// take no more memory: ALiBi is the mask [1, H, 1, S] of slope[h] · s, since the softmax ignores a
/// summand that all scores of a query share. Mask with -inf, not with a large number: the kernels
/// of the gradient recompute weights from a row's logsumexp; if all its scores contain -1e9, f32
/// rounds the difference away and the weights no longer sum to 1. With sinks, softmax(x) is
/// exp(x) / (exp(sinks[h]) + sum exp(x)), without the mask and the cap for the sink; they have a
/// gradient, which takes no scores.
/// Errors: kShapeMismatch, kDTypeMismatch, kDeviceMismatch; kInvalidArgument if positions or a
/// window are given without is_causal, the window or soft cap is below 0, one of k and v has scales
/// and the other has not, or block_size is no power of two.
/// Source: Dao et al. 2022, arXiv:2205.14135; Ainslie et al. 2023, arXiv:2305.13245; Gemma Team
/// 2024, arXiv:2408.00118, 2 (window, soft cap); OpenAI 2025, arXiv:2508.10925 (sinks); Press et
/// al. 2021, arXiv:2108.12409 (ALiBi).
WICK_API Tensor sdpa(const Tensor& q, const Tensor& k, const Tensor& v,
                     const SdpaOptions& options = {});

struct SdpaVarlenOptions {
  bool is_causal = false;  // the last query of a sequence attends to its last key, and so on back
  double scale = 0;        // these as in SdpaOptions
  int64_t window = 0;
  double soft_cap = 0;
  Tensor sinks = {};
};

/// sdpa of packed sequences, without padding: queries of sequence i attend to keys of sequence i.
///
/// q          [N, H, D]  the queries of all sequences, one sequence after the other
/// k          [M, G, D]  the keys, likewise
/// v          [M, G, Dv] the values, likewise
/// q_offsets  [B + 1]    integers, ascending from 0: sequence i has queries q_offsets[i] to
///                       q_offsets[i + 1] - 1. Queries from q_offsets[B] on get 0.
/// k_offsets  [B + 1]    the same for k and v; keys from k_offsets[B] on are not read
/// Returns [N, H, Dv]. Reads the offsets on the device, without a wait, and so does not check them.
/// Causal queries of a sequence with fewer keys than queries may attend to no key, and get 0.
/// Errors: as sdpa; kShapeMismatch unless B is at least 1.
/// Source: flash_attn_varlen_func of flash-attention 2, its cu_seqlens_q and cu_seqlens_k.
WICK_API Tensor sdpa_varlen(const Tensor& q, const Tensor& k, const Tensor& v,
                            const Tensor& q_offsets, const Tensor& k_offsets,
                            const SdpaVarlenOptions& options = {});

}  // namespace wick
