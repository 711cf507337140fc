#include "wick/ops/cast.h"

#include <string>

#include "core/launch.h"
#include "ops/elementwise/dtypes.h"
#include "ops/tape/tape.h"
#include "scalar/blocks.h"

namespace wick {
namespace {

/// Whether kernels convert between the dtype and blocks; others go by way of f32.
bool is_decoded(DType dtype) {
  return dispatch(dtype, DecodedTypes{}, []<class>() {});
}

void check_encodable(DType dtype) {
  bool encodable = false;
  std::string names;
  for_each(RoundedBlockTypes{}, [&]<class F>() {
    encodable |= dtype == F::kDType;
    names += (names.empty() ? "" : ", ") + std::string(dtype_name(F::kDType));
  });
  check(encodable, ErrorCode::kUnsupported, "cast",
        "expected a block dtype that rounding defines (", names, "), got ", dtype_name(dtype));
}

}  // namespace

Tensor cast(const Tensor& x, DType dtype) {
  check_defined("cast", x, BlockDTypes::kAccepted);
  if (x.dtype() == dtype) return x;
  if (is_block(dtype)) check_encodable(dtype);
  const bool through_f32 =
      is_block(x.dtype()) ? !is_decoded(dtype) : is_block(dtype) && x.dtype() != DType::kF32;
  if (through_f32) return cast(cast(x, DType::kF32), dtype);
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
