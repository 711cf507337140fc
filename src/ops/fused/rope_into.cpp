#include "ops/fused/rope_into.h"

#include "base/calling.h"
#include "ops/elementwise/dtypes.h"
#include "ops/fused/fused.h"
#include "ops/fused/positions.h"
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
void check_cache(const char* name, const Var& cache, const Tensor& q, const Tensor& k) {
  check(cache.defined(), ErrorCode::kInvalidArgument, "rope_into", name, " is an empty Var()");
  const Tensor& x = cache.tensor();
  check_same_device("rope_into", q, x);
  check(x.dtype() == q.dtype(), ErrorCode::kDTypeMismatch, "rope_into", "expected ", name, " of ",
        dtype_name(q.dtype()), ", got ", dtype_name(x.dtype()));
  check(x.rank() == 4 && x.size(0) == q.size(0) && x.size(1) == k.size(2) && x.size(3) == q.size(3),
        ErrorCode::kShapeMismatch, "rope_into", "expected ", name, " [", q.size(0), ", ", k.size(2),
        ", S, ", q.size(3), "], got ", x.shape());
}

/// Writes rows [B, T, G, D] at indices `at` [B, T] of a cache's dim 2.
void write_rows(Var& cache, const Tensor& at, const Tensor& rows) {
  // An index for each row that is written, which takes one launch.
  const int64_t b = rows.size(0), t = rows.size(1), g = rows.size(2);
  Tensor index = reshape(at, {b, 1, t, 1});
  if (b > 1) index = broadcast_to(index, {b, g, t, 1}).contiguous();
  scatter_(cache, 2, index, transpose(rows, 1, 2));
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
  check_cache("keys", keys, q, k);
  check_cache("values", values, q, k);
  check(values.shape() == keys.shape(), ErrorCode::kShapeMismatch, "rope_into",
        "expected values of keys' shape ", keys.shape(), ", got ", values.shape());
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
                 to_keys = keys.tensor().detach(), to_values = values.tensor().detach();
    const RopeIntoAttributes attributes{o.pairs == RopePairs::kAdjacent, bool(o.norms), o.eps};
    if (run_group(kRopeInto,
                  {unit_stride(q), unit_stride(k), unit_stride(v), contiguous(tables.cos),
                   contiguous(tables.sin), as_is(positions), as_is(at),
                   o.norms ? contiguous(o.norms) : as_is(q)},
                  {as_is(y), as_is(to_keys), as_is(to_values)}, attributes_of(attributes))) {
      to_keys.storage()->bump_version();
      to_values.storage()->bump_version();
      return y;
    }
  }
  const auto turned = [&](const Tensor& x, int64_t norm) {
    const Tensor normed =
        o.norms ? rms_norm(x, reshape(narrow(o.norms, 0, norm, 1), {x.size(3)}), o.eps) : x;
    return rope(normed, tables,
                {.pairs = o.pairs, .layout = RopeLayout::kTokensFirst, .positions = positions});
  };
  write_rows(keys, at, turned(k, 1));
  write_rows(values, at, v);
  return turned(q, 0);
}

}  // namespace wick
