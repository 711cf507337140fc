// The step of attention that adds tokens to a cache.
#pragma once
#include "wick/core/var.h"
#include "wick/ops/rope.h"

namespace wick {

struct RopeIntoOptions {
  RopePairs pairs = RopePairs::kHalves;
  Tensor norms = {};  // [2, D], x's dtype: weights of an rms_norm of each head of q and of k before
  double eps = 1e-5;  // of that norm
  Var *key_scales = nullptr, *value_scales = nullptr;  // [B, G, S, D / 32], f16: of caches of i8
};
/// The step of attention that adds tokens to a cache, in one launch where the device has a kernel:
/// returns rope of q, and writes rope of k, and v, at `at` of the caches. Nothing is differentiated.
///
/// keys, values  [B, G, S, D]  q's dtype, or another, as stored_rows has it; other rows stay; or a
///                             pool [1, G, S, D] for all batches
/// q             [B, T, H, D]  floating, D even
/// k, v          [B, T, G, D]
/// tables        [P, D / 2]    as of rope
/// positions     [B, T]        integers in [0, P)
/// at            [B, T]        integers in [0, S), of a sequence, or in a pool, no two alike
/// Returns [B, T, H, D]. Error: as of rms_norm, if there are norms, whose result is rounded, and of
/// rope. Errors: kShapeMismatch, kDTypeMismatch, kDeviceMismatch; kOutOfRange as in gather.h.
WICK_API Tensor rope_into(Var& keys, Var& values, const Tensor& q, const Tensor& k, const Tensor& v,
                          const RopeTables& tables, const Tensor& positions, const Tensor& at,
                          const RopeIntoOptions& options = {});

}  // namespace wick
