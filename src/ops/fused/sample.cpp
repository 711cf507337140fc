#include "wick/ops/sample.h"

#include "ops/elementwise/dtypes.h"
#include "ops/fused/fused.h"
#include "wick/abi/ops/sample.h"

namespace wick {

Tensor sample(const Tensor& logits, const Tensor& uniform, const SampleOptions& options) {
  check_defined("sample", logits);
  check_defined("sample", uniform);
  check_same_device("sample", logits, uniform);
  check(is_floating(logits.dtype()) && uniform.dtype() == DType::kF32, ErrorCode::kDTypeMismatch,
        "sample", "expected floating logits and uniform of f32, got ", dtype_name(logits.dtype()),
        " and ", dtype_name(uniform.dtype()));
  check(logits.rank() == 2 && logits.size(1) > 0 && uniform.shape() == Shape({logits.size(0)}),
        ErrorCode::kShapeMismatch, "sample", "expected logits [B, V] and uniform [B], got ",
        logits.shape(), " and ", uniform.shape());
  check(options.temperature >= 0 && options.top_k >= 0 && options.top_p > 0 && options.top_p <= 1,
        ErrorCode::kInvalidArgument, "sample",
        "expected temperature >= 0, top_k >= 0 and top_p in (0, 1], got ", options.temperature,
        ", ", options.top_k, " and ", options.top_p);
  const Tensor ids =
      Tensor::empty({logits.size(0)}, {.dtype = DType::kI64, .device = logits.device()});
  if (ids.numel() == 0) return ids;
  const SampleAttributes attributes{options.temperature, options.top_p, options.top_k};
  launch(kSample, {contiguous(logits), contiguous(uniform)}, {as_is(ids)},
         attributes_of(attributes));
  return ids;
}

}  // namespace wick
