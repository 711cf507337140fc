// expert_linear: products whose rows select their weights.
#include "base/calling.h"
#include "ops/elementwise/dtypes.h"
#include "ops/fused/fused.h"
#include "ops/linear/linear.h"
#include "ops/shape/gather.h"
#include "wick/abi/ops/matmul.h"
#include "wick/ops/arrange.h"
#include "wick/ops/cast.h"
#include "wick/ops/compare.h"
#include "wick/ops/create.h"
#include "wick/ops/gather.h"
#include "wick/ops/matmul.h"
#include "wick/ops/shape.h"
#include "wick/ops/where.h"

namespace wick {
namespace {

Tensor expert_of(const Tensor& weight, int64_t expert, DType dtype) {
  return cast(select(weight, 0, expert), dtype);
}

/// Whether a row [t, j] selects the expert: [T, J, 1].
Tensor selects(const Tensor& ids, int64_t expert) { return unsqueeze(eq(ids, expert), -1); }

/// An error for ids outside of [0, experts), as gather raises it.
Tensor in_range(const Tensor& ids, int64_t experts) {
  const Tensor all = arange(experts, {.dtype = DType::kI64, .device = ids.device()});
  return reshape(index_select(all, 0, reshape(ids, {ids.numel()})), ids.shape());
}

/// Every row by every expert in turn: for devices and dtypes without a kernel. Memory as for one.
Tensor composite(const Tensor& x, const Tensor& weight, const Tensor& any_ids) {
  const DType wide = wide_dtype_of(x, weight);
  const Tensor ids = in_range(any_ids, weight.size(0)), rows = cast(x, wide);
  Tensor y = zeros({x.size(0), x.size(1), weight.size(1)}, {.dtype = wide, .device = x.device()});
  for (int64_t e = 0; e < weight.size(0); e++)
    y = where(selects(ids, e), matmul(rows, transpose(expert_of(weight, e, wide))), y);
  return cast(y, x.dtype());
}

/// The sums of outer products of gy's rows and x's, by expert: [E, out, in].
Tensor weight_gradient(const Tensor& gy, const Tensor& x, const Tensor& ids, const Tensor& weight) {
  const DType wide = wide_dtype_of(x, weight);
  const int64_t rows = ids.numel();
  std::vector<Tensor> sums;
  for (int64_t e = 0; e < weight.size(0); e++) {
    // Both sides are masked, so that an infinity in another expert's row does not become NaN.
    const Tensor here = selects(ids, e);
    const auto masked = [&](const Tensor& t) {
      return reshape(where(here, cast(t, wide), 0), {rows, t.size(-1)});
    };
    sums.push_back(cast(matmul(transpose(masked(gy)), masked(x)), weight.dtype()));
  }
  return stack(sums, 0);
}

void gradients(const RuleContext& c, std::span<Tensor> g) {
  const Tensor x = c.input(0), weight = c.input(1), ids = c.input(2);
  if (c.wants(0)) {
    const Tensor floats = is_block(weight.dtype()) ? cast(weight, DType::kF32) : weight;
    g[0] = expert_linear(c.gradient, transpose(floats, 1, 2), ids);
  }
  if (c.wants(1)) g[1] = weight_gradient(c.gradient, x, ids, weight);
}

void check_operands(const Tensor& x, const Tensor& weight, const Tensor& ids) {
  const char* const op = "expert_linear";
  check(weight.rank() == 3 && weight.size(0) > 0, ErrorCode::kShapeMismatch, op,
        "expected weight [E, out, in] of at least one expert, got ", weight.shape());
  check(ids.rank() == 2, ErrorCode::kShapeMismatch, op, "expected ids [T, J], got ", ids.shape());
  check((x.rank() == 2 || (x.rank() == 3 && x.size(1) == ids.size(1))) && x.size(0) == ids.size(0),
        ErrorCode::kShapeMismatch, op, "expected x [T, in] or [T, J, in] beside ids ", ids.shape(),
        ", got ", x.shape());
  check(x.size(-1) == weight.size(2), ErrorCode::kShapeMismatch, op, "inner dimensions differ: x ",
        x.shape(), ", weight ", weight.shape());
  check(is_floating(x.dtype()), ErrorCode::kDTypeMismatch, op, "expected a floating x, got ",
        dtype_name(x.dtype()));
  check(is_floating(weight.dtype()) || is_block(weight.dtype()), ErrorCode::kDTypeMismatch, op,
        "expected weights of a floating or a block dtype, got ", dtype_name(weight.dtype()));
}

}  // namespace

Tensor expert_linear(const Tensor& any_x, const Tensor& weight, const Tensor& any_ids) {
  const Calling calling("expert_linear");
  check_defined("expert_linear", any_x);
  check_defined("expert_linear", weight, BlockDTypes::kAccepted);
  check_same_device("expert_linear", any_x, weight);
  const Tensor ids = checked_ids("expert_linear", any_x, any_ids);
  check_operands(any_x, weight, ids);
  const Shape rows{ids.size(0), ids.size(1), any_x.size(-1)};
  const Tensor x = any_x.rank() == 3 ? any_x : broadcast_to(unsqueeze(any_x, 1), rows);
  if (x.size(-1) == 0) return composite(x, weight, ids);
  const Tensor y = Tensor::empty({ids.size(0), ids.size(1), weight.size(1)},
                                 {.dtype = x.dtype(), .device = x.device()});
  return fused({.op = kExpertLinear,
                .inputs = {&x, &weight, &ids},
                .in = {unit_stride(x), unit_stride(weight), contiguous(ids)},
                .out = {contiguous(y)},
                .composite = [](const auto& in) { return composite(in[0], in[1], in[2]); },
                .rule = [](const RuleContext& c, auto g) { gradients(c, g); },
                .rule_for_both = true});
}

}  // namespace wick
