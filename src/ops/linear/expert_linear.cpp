// expert_linear: products whose rows select their weights.
#include "base/calling.h"
#include "ops/elementwise/dtypes.h"
#include "ops/fused/fused.h"
#include "ops/linear/linear.h"
#include "ops/shape/gather.h"
#include "wick/abi/ops/linear_epilogue.h"
#include "wick/abi/ops/matmul.h"
#include "wick/ops/arrange.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/compare.h"
#include "wick/ops/create.h"
#include "wick/ops/gather.h"
#include "wick/ops/matmul.h"
#include "wick/ops/shape.h"
#include "wick/ops/unary.h"
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

namespace {

/// x [T, in] or [T, J, in] as [T, J, in].
Tensor with_slots(const Tensor& x, const Tensor& ids) {
  return x.rank() == 3 ? x : broadcast_to(unsqueeze(x, 1), {ids.size(0), ids.size(1), x.size(-1)});
}

/// Whether a kernel may compute several steps at once of operands like these: valid ones, which are
/// not empty and not on the tape.
bool fits(const Tensor& x, std::span<const Tensor> weights, const Tensor& ids) {
  if (!wants_kernel() || !is_floating(x.dtype()) || x.numel() == 0 || ids.rank() != 2) return false;
  const bool is_rows = x.rank() == 2 || (x.rank() == 3 && x.size(1) == ids.size(1));
  if (!is_rows || x.size(0) != ids.size(0) || ids.numel() == 0) return false;
  std::vector<const Tensor*> inputs{&x};
  for (const Tensor& w : weights) {
    if (w.rank() != 3 || w.numel() == 0 || w.size(2) != x.size(-1) || w.device() != x.device() ||
        w.dtype() != weights[0].dtype() || w.shape() != weights[0].shape())
      return false;
    inputs.push_back(&w);
  }
  return !recording(inputs);
}

}  // namespace

Tensor gated_expert_linear(const Tensor& x, const Tensor& gate, const Tensor& up,
                           const Tensor& any_ids, Activation activation) {
  const char* const op = "gated_expert_linear";
  const Calling calling(op);
  check_defined(op, x);
  for (const Tensor* w : {&gate, &up}) check_defined(op, *w, BlockDTypes::kAccepted);
  const Tensor ids = checked_ids(op, x, any_ids);
  const Tensor weights[] = {gate, up};
  if (fits(x, weights, ids)) {
    const Tensor rows = with_slots(x, ids);
    const Tensor y = Tensor::empty({ids.size(0), ids.size(1), gate.size(1)},
                                   {.dtype = x.dtype(), .device = x.device()});
    const GatedAttributes attributes{facts_of(activation).in_kernels};
    if (run_group(kGatedExpertLinear,
                  {unit_stride(rows), unit_stride(gate), unit_stride(up), contiguous(ids)},
                  {as_is(y)}, attributes_of(attributes)))
      return y;
  }
  Tensor inner = expert_linear(x, gate, ids);
  if (activation == Activation::kSilu) return swiglu(std::move(inner), expert_linear(x, up, ids));
  return facts_of(activation).op(std::move(inner)) * expert_linear(x, up, ids);
}

Tensor expert_linear_sum(const Tensor& x, const Tensor& weight, const Tensor& any_ids,
                         const Tensor& factors, const Tensor& residual) {
  const char* const op = "expert_linear_sum";
  const Calling calling(op);
  check_defined(op, x);
  check_defined(op, weight, BlockDTypes::kAccepted);
  check_defined(op, factors);
  check_same_device(op, x, factors);
  const Tensor ids = checked_ids(op, x, any_ids);
  check(x.rank() == 3, ErrorCode::kShapeMismatch, op, "expected x [T, J, in], got ", x.shape());
  check(is_floating(factors.dtype()), ErrorCode::kDTypeMismatch, op,
        "expected floating factors, got ", dtype_name(factors.dtype()));
  check(factors.shape() == ids.shape(), ErrorCode::kShapeMismatch, op, "expected factors ",
        ids.shape(), " as ids, got ", factors.shape());
  check_operands(x, weight, ids);
  const Shape shape{x.size(0), weight.size(1)};
  if (residual) {
    check_same_device(op, x, residual);
    check(residual.dtype() == x.dtype(), ErrorCode::kDTypeMismatch, op,
          "expected a residual of x's ", dtype_name(x.dtype()), ", got ",
          dtype_name(residual.dtype()));
    check(residual.shape() == shape, ErrorCode::kShapeMismatch, op, "expected a residual ", shape,
          ", got ", residual.shape());
  }
  const Tensor weights[] = {weight};
  if (fits(x, weights, ids) && !recording({&factors, &residual})) {
    const Tensor y = Tensor::empty(shape, {.dtype = x.dtype(), .device = x.device()});
    const Tensor wide = cast(factors, accumulator_of(x.dtype()));
    const ExpertSumAttributes attributes{bool(residual)};
    if (run_group(kExpertLinearSum,
                  {unit_stride(x), unit_stride(weight), contiguous(ids), contiguous(wide),
                   contiguous(residual ? residual : y)},
                  {as_is(y)}, attributes_of(attributes)))
      return y;
  }
  const Tensor each = expert_linear(x, weight, ids);
  const Tensor y = reshape(matmul(unsqueeze(cast(factors, x.dtype()), 1), each), shape);
  return residual ? residual + y : y;
}

}  // namespace wick
