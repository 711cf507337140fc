#include "wick/ops/cast.h"

#include "core/launch.h"
#include "ops/elementwise/dtypes.h"
#include "ops/tape/tape.h"

namespace wick {

Tensor cast(const Tensor& x, DType dtype) {
  check_defined("cast", x, BlockDTypes::kAccepted);
  if (x.dtype() == dtype) return x;
  check_elements("cast", x.dtype());
  check_elements("cast", dtype);
  const Tensor y = Tensor::empty(x.shape(), {.dtype = dtype, .device = x.device()});
  copy_elements(x, y);
  // No gradient passes through an integer dtype.
  if (!is_floating(dtype) || !is_floating(x.dtype())) return y;
  return record("cast", y, {&x}, kKeepNothing, [](const RuleContext& c, std::span<Tensor> g) {
    g[0] = cast(c.gradient, c.input_dtype(0));
  });
}

Tensor Tensor::to(DType dtype) const { return cast(*this, dtype); }

Tensor Tensor::contiguous() const {
  check_defined("contiguous", *this, BlockDTypes::kAccepted);
  if (is_contiguous()) return *this;
  return record("contiguous", make_contiguous(*this), {this}, kKeepNothing,
                [](const RuleContext& c, std::span<Tensor> g) { g[0] = c.gradient; });
}

Tensor Tensor::to(const Device& target) const {
  check_defined("to", *this, BlockDTypes::kAccepted);
  if (device() == target) return *this;
  const Device source = device();
  return record(
      "to", copy_to(*this, target), {this}, kKeepNothing,
      [source](const RuleContext& c, std::span<Tensor> g) { g[0] = c.gradient.to(source); });
}

}  // namespace wick
