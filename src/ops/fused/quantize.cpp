#include "wick/ops/quantize.h"

#include "base/calling.h"
#include "ops/elementwise/dtypes.h"
#include "ops/fused/fused.h"
#include "wick/abi/ops/quantize.h"
#include "wick/ops/arrange.h"
#include "wick/ops/cast.h"
#include "wick/ops/elementwise.h"
#include "wick/ops/reduce.h"
#include "wick/ops/shape.h"
#include "wick/ops/where.h"

namespace wick {
namespace {

/// x [..., D] as [..., D / kScaleGroup, kScaleGroup].
Tensor in_groups(const Tensor& x) {
  Shape shape = x.shape();
  const int last = x.rank() - 1;
  shape[last] /= kScaleGroup;
  shape.push_back(kScaleGroup);
  return reshape(x, shape);
}

Shape scales_of(const Shape& codes) {
  Shape shape = codes;
  shape[int(codes.size()) - 1] /= kScaleGroup;
  return shape;
}

void check_groups(const char* op, const char* name, const Tensor& x) {
  check_defined(op, x);
  check(x.rank() > 0 && x.size(-1) % kScaleGroup == 0, ErrorCode::kShapeMismatch, op, "expected ",
        name, " [..., D] with D a multiple of ", kScaleGroup, ", got ", x.shape());
}

/// CodeScale's steps, so that kernels and ops give the same bits.
RowsInI8 quantized_by_ops(const Tensor& x) {
  const Tensor groups = in_groups(cast(x, DType::kF32));
  const Tensor scales = amax(abs(groups), {.dims = {-1}, .keepdim = true}) / 127;
  const Tensor codes = groups * where(scales > 1e-30, reciprocal(scales), 0);
  return {reshape(cast(where(codes < 0, codes - 0.5, codes + 0.5), DType::kI8), x.shape()),
          reshape(cast(scales, DType::kF16), scales_of(x.shape()))};
}

}  // namespace

RowsInI8 quantize_i8(const Tensor& any) {
  const Calling calling("quantize_i8");
  check_floating("quantize_i8", any);
  check_groups("quantize_i8", "x", any);
  const Tensor x = any.detach();
  if (x.numel() > 0) {
    const RowsInI8 y{
        Tensor::empty(x.shape(), {.dtype = DType::kI8, .device = x.device()}),
        Tensor::empty(scales_of(x.shape()), {.dtype = DType::kF16, .device = x.device()})};
    if (run_fused(kQuantizeI8, {rows(x)}, {rows(y.codes), rows(y.scales)})) return y;
  }
  return quantized_by_ops(x);
}

Tensor dequantize_i8(const Tensor& codes, const Tensor& scales, DType dtype) {
  const Calling calling("dequantize_i8");
  check_groups("dequantize_i8", "codes", codes);
  check_defined("dequantize_i8", scales);
  check_same_device("dequantize_i8", codes, scales);
  check(codes.dtype() == DType::kI8 && scales.dtype() == DType::kF16 && is_floating(dtype),
        ErrorCode::kDTypeMismatch, "dequantize_i8",
        "expected codes of i8, scales of f16 and a floating result, got ",
        dtype_name(codes.dtype()), ", ", dtype_name(scales.dtype()), " and ", dtype_name(dtype));
  const Shape expected = scales_of(codes.shape());
  check(scales.shape() == expected, ErrorCode::kShapeMismatch, "dequantize_i8", "expected scales ",
        expected, ", got ", scales.shape());
  const Tensor groups = cast(in_groups(codes), DType::kF32),
               factors = unsqueeze(cast(scales, DType::kF32), scales.rank());
  return reshape(cast(groups * factors, dtype), codes.shape());
}

}  // namespace wick
