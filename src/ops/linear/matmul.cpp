#include "wick/ops/matmul.h"

#include "core/launch.h"
#include "ops/elementwise/dtypes.h"
#include "ops/reduce/reduce.h"
#include "ops/tape/tape.h"
#include "wick/abi/ops/matmul.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

constexpr int kMaxBatchDims = kMaxRank - 2;

/// The product of matrices [..., M, K] and [..., K, N] of one dtype, with at least two dims each.
Tensor product(const Tensor& a, const Tensor& b) {
  const int64_t m = a.size(-2), n = b.size(-1);
  const auto leading = [](const Dims& dims) {
    return Dims(std::span<const int64_t>(dims.data(), size_t(dims.size() - 2)));
  };
  const Shape batch = broadcast_shapes("matmul", leading(a.shape()), leading(b.shape()));
  Shape shape = batch;
  shape.push_back(m);
  shape.push_back(n);
  const Tensor y = Tensor::empty(shape, {.dtype = a.dtype(), .device = a.device()});
  Dims strides[3];
  Dims* pointers[3] = {&strides[0], &strides[1], &strides[2]};
  const Tensor* operands[3] = {&a, &b, &y};
  for (int i = 0; i < 3; i++) {
    const Layout lead{leading(operands[i]->shape()), leading(operands[i]->strides()), 0};
    broadcast_strides(lead, batch, &strides[i]);
  }
  const Shape collapsed = collapse(batch, pointers);
  if (collapsed.size() > kMaxBatchDims) {
    // Dims that broadcast in only one operand cannot merge; writing the operand out lets them
    // collapse.
    const auto written_out = [&](const Tensor& t) {
      Shape whole = batch;
      whole.push_back(t.size(-2));
      whole.push_back(t.size(-1));
      return broadcast_to(t, whole).contiguous();
    };
    return product(written_out(a), written_out(b));
  }
  View views[3];
  for (int i = 0; i < 3; i++) {
    Shape full = collapsed;
    Dims steps = strides[i];
    for (int d = -2; d < 0; d++) {
      full.push_back(operands[i]->size(d));
      steps.push_back(operands[i]->strides()[operands[i]->rank() + d]);
    }
    views[i] = make_view(operands[i]->data(), operands[i]->dtype(), full, steps);
  }
  if (y.numel() > 0) launch(a.device(), kMatmul, {views, 2}, {views + 2, 1});
  return record("matmul", y, {&a, &b}, kKeepInputs, [](const RuleContext& c, std::span<Tensor> g) {
    if (c.wants(0)) g[0] = sum_to(matmul(c.gradient, transpose(c.input(1))), c.input_shape(0));
    if (c.wants(1)) g[1] = sum_to(matmul(transpose(c.input(0)), c.gradient), c.input_shape(1));
  });
}

}  // namespace

Tensor matmul(const Tensor& lhs, const Tensor& rhs) {
  check_defined("matmul", lhs);
  check_defined("matmul", rhs);
  check_same_device("matmul", lhs, rhs);
  check(lhs.rank() > 0 && rhs.rank() > 0, ErrorCode::kShapeMismatch, "matmul",
        "expected at least one dim each, got ", lhs.shape(), " @ ", rhs.shape());
  check(lhs.dtype() == rhs.dtype(), ErrorCode::kDTypeMismatch, "matmul",
        "expected operands of one dtype, got ", dtype_name(lhs.dtype()), " and ",
        dtype_name(rhs.dtype()));
  const DType dtype = lhs.dtype() == DType::kBool ? DType::kI64 : lhs.dtype();
  const int64_t k = lhs.size(-1), rows = rhs.rank() == 1 ? rhs.size(0) : rhs.size(-2);
  check(k == rows, ErrorCode::kShapeMismatch, "matmul", "inner dimensions differ: lhs ",
        lhs.shape(), " @ rhs ", rhs.shape(), " (", k, " vs ", rows, ")");
  Tensor a = cast(lhs, dtype), b = cast(rhs, dtype);
  if (a.rank() == 1) a = unsqueeze(a, 0);
  if (b.rank() == 1) b = unsqueeze(b, 1);
  Tensor y;
  if (b.rank() == 2 && a.rank() > 2 &&
      k > 0) {  // one tall product instead of many, which also keeps b's gradient a single product
    Shape shape = a.shape();
    shape[a.rank() - 1] = b.size(1);
    y = reshape(product(reshape(a, {a.numel() / k, k}), b), shape);
  } else {
    y = product(a, b);
  }
  if (rhs.rank() == 1) y = squeeze(y, -1);
  if (lhs.rank() == 1) y = squeeze(y, rhs.rank() == 1 ? -1 : -2);
  return y;
}

}  // namespace wick
