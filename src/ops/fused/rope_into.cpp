#include "ops/fused/rope_into.h"

#include "base/calling.h"
#include "ops/elementwise/dtypes.h"
#include "ops/fused/fused.h"
#include "ops/fused/positions.h"
#include "ops/fused/stored_rows.h"
#include "wick/abi/ops/quantize.h"
#include "wick/abi/ops/rope.h"
#include "wick/ops/arrange.h"
#include "wick/ops/gather.h"
#include "wick/ops/norm.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

void check_heads(const char* name, const Tensor& x, const Tensor& q, int64_t heads) {
  check_defined("rope_into", x);
  check_same_device("rope_into", q, x);
  check(x.dtype() == q.dtype(), ErrorCode::kDTypeMismatch, "rope_into", "expected ", name, " of ",
        dtype_name(q.dtype()), ", got ", dtype_name(x.dtype()));
  const Shape expected{q.size(0), q.size(1), heads, q.size(3)};
  check(x.shape() == expected, ErrorCode::kShapeMismatch, "rope_into", "expected ", name, " ",
        expected, ", got ", x.shape());
}
void check_cache(const char* name, const Var& cache, const Var* scales, const Tensor& q,
                 const Tensor& k) {
  check(cache.defined(), ErrorCode::kInvalidArgument, "rope_into", name, " is an empty Var()");
  const Tensor& x = cache.tensor();
  check_same_device("rope_into", q, x);
  const bool is_i8 = x.dtype() == DType::kI8, has_scales = scales && scales->defined();
  check((is_floating(x.dtype()) || is_i8) && is_i8 == has_scales, ErrorCode::kDTypeMismatch,
        "rope_into", "expected ", name, " of a floating dtype, or i8 with scales, got ",
        dtype_name(x.dtype()), has_scales ? " with scales" : "");
  if (has_scales) {
    Shape expected = x.shape();
    expected[3] /= kScaleGroup;
    check_same_device("rope_into", q, scales->tensor());
    check(scales->tensor().dtype() == DType::kF16 && scales->shape() == expected,
          ErrorCode::kShapeMismatch, "rope_into", "expected scales of ", name, " ", expected,
          " of f16, got ", scales->shape(), " of ", dtype_name(scales->tensor().dtype()));
  }
  check(x.rank() == 4 && (x.size(0) == q.size(0) || x.size(0) == 1) && x.size(1) == k.size(2) &&
            x.size(3) == q.size(3),
        ErrorCode::kShapeMismatch, "rope_into", "expected ", name, " [", q.size(0), " or 1, ",
        k.size(2), ", S, ", q.size(3), "], got ", x.shape());
}

/// Writes rows [B, T, G, ...] at indices `at` [B, T] of a cache's dim 2.
void write_rows(Var& cache, const Tensor& at, const Tensor& rows) {
  // An index for each row that is written, which takes one launch.
  const bool is_pool = cache.shape()[0] == 1;
  const int64_t b = is_pool ? 1 : rows.size(0), g = rows.size(2),
                t = at.numel() / std::max<int64_t>(b, 1);
  Tensor index = reshape(at, {b, 1, t, 1});
  if (b > 1) index = broadcast_to(index, {b, g, t, 1}).contiguous();
  scatter_(cache, 2, index, transpose(reshape(rows, {b, t, g, rows.size(3)}), 1, 2));
}
void write_stored(Var& cache, Var* scales, const Tensor& at, const Tensor& rows) {
  const StoredRows x = stored_rows(rows, cache.tensor().dtype());
  write_rows(cache, at, x.rows);
  if (x.scales) write_rows(*scales, at, x.scales);
}

/// A cache, or a pool that all batches of q share, as kernels write it.
Tensor for_each_batch(const Tensor& cache, const Tensor& q) {
  Shape shape = cache.shape();
  shape[0] = q.size(0);
  return broadcast_to(cache.detach(), shape);
}
/// The scales that a kernel writes; of a cache without them any of their dtype.
Tensor scales_of(const Var* scales, const Tensor& like) {
  return scales ? for_each_batch(scales->tensor(), like)
                : Tensor::empty({1, 1, 1, 1}, {.dtype = DType::kF16, .device = like.device()});
}

}  // namespace

Tensor rope_into(Var& keys, Var& values, const Tensor& q, const Tensor& k, const Tensor& v,
                 const RopeTables& tables, const Tensor& any_positions, const Tensor& any_at,
                 const RopeIntoOptions& o) {
  const Calling calling("rope_into");
  check_defined("rope_into", q);
  check(q.rank() == 4, ErrorCode::kShapeMismatch, "rope_into", "expected q [B, T, H, D], got ",
        q.shape());
  check(k && k.rank() == 4, ErrorCode::kShapeMismatch, "rope_into", "expected k [B, T, G, D]");
  check_heads("k", k, q, k.size(2));
  check_heads("v", v, q, k.size(2));
  check_cache("keys", keys, o.key_scales, q, k);
  check_cache("values", values, o.value_scales, q, k);
  check(values.shape() == keys.shape() && values.tensor().dtype() == keys.tensor().dtype(),
        ErrorCode::kShapeMismatch, "rope_into", "expected values of keys' shape and dtype ",
        keys.shape(), " of ", dtype_name(keys.tensor().dtype()), ", got ", values.shape(), " of ",
        dtype_name(values.tensor().dtype()));
  check_same_device("rope_into", q, any_positions);
  check_same_device("rope_into", q, any_at);
  const Tensor positions = checked_positions("rope_into", any_positions, q.size(0), q.size(1)),
               at = checked_positions("rope_into", any_at, q.size(0), q.size(1));
  if (o.norms) {
    check_same_device("rope_into", q, o.norms);
    check(o.norms.dtype() == q.dtype() && o.norms.shape() == Shape{2, q.size(3)},
          ErrorCode::kShapeMismatch, "rope_into", "expected norms [2, ", q.size(3), "] of ",
          dtype_name(q.dtype()), ", got ", o.norms.shape(), " of ", dtype_name(o.norms.dtype()));
  }
  const auto shares = [&](const Tensor& x) {
    return x.storage() == keys.tensor().storage() || x.storage() == values.tensor().storage();
  };
  const bool apart = !shares(q) && !shares(k) && !shares(v) && !shares(positions) && !shares(at) &&
                     keys.tensor().storage() != values.tensor().storage();
  const bool has_tables =
      tables.cos && tables.sin && tables.cos.rank() == 2 &&
      tables.cos.shape() == tables.sin.shape() && tables.cos.size(1) == q.size(3) / 2 &&
      tables.cos.dtype() == accumulator_of(q.dtype()) && tables.sin.dtype() == tables.cos.dtype() &&
      tables.cos.device() == q.device() && tables.sin.device() == q.device();
  if (apart && has_tables && !recording({&q, &k, &v})) {
    const Tensor y = Tensor::empty(q.shape(), {.dtype = q.dtype(), .device = q.device()}),
                 to_keys = for_each_batch(keys.tensor(), q),
                 to_values = for_each_batch(values.tensor(), q);
    const Tensor key_scales = scales_of(o.key_scales, q),
                 value_scales = scales_of(o.value_scales, q);
    const RopeIntoAttributes attributes{o.pairs == RopePairs::kAdjacent, bool(o.norms), o.eps};
    const FusedOperands in = {unit_stride(q),
                              unit_stride(k),
                              unit_stride(v),
                              contiguous(tables.cos),
                              contiguous(tables.sin),
                              as_is(positions),
                              as_is(at),
                              o.norms ? contiguous(o.norms) : as_is(q)};
    const bool ran = keys.tensor().dtype() == q.dtype()
                         ? run_group(kRopeInto, in, {as_is(y), as_is(to_keys), as_is(to_values)},
                                     attributes_of(attributes))
                         : run_group(kRopeIntoMixed, in,
                                     {as_is(y), as_is(to_keys), as_is(to_values), as_is(key_scales),
                                      as_is(value_scales)},
                                     attributes_of(attributes));
    if (ran) {
      for (const Tensor* written : {&to_keys, &to_values, &key_scales, &value_scales})
        if (*written) written->storage()->bump_version();
      return y;
    }
  }
  const auto turned = [&](const Tensor& x, int64_t norm) {
    const Tensor normed =
        o.norms ? rms_norm(x, reshape(narrow(o.norms, 0, norm, 1), {x.size(3)}), o.eps) : x;
    return rope(normed, tables,
                {.pairs = o.pairs, .layout = RopeLayout::kTokensFirst, .positions = positions});
  };
  write_stored(keys, o.key_scales, at, turned(k, 1));
  write_stored(values, o.value_scales, at, v);
  return turned(q, 0);
}

}  // namespace wick
