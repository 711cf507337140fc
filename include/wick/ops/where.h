// Elementwise selection.
// See elementwise.h for the rules they share.
#pragma once
#include <optional>

#include "wick/core/number.h"
#include "wick/core/tensor.h"

namespace wick {

/// condition ? a : b. condition: bool, or a dtype that cast converts to it. a and b promote; a
/// number beside a tensor follows core/number.h. Two numbers give bool if both are truth values,
/// i64 if both are integers, else f32. Errors: kInvalidArgument for a number outside the result
/// dtype's range.
WICK_API Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
WICK_API Tensor where(const Tensor& condition, const Tensor& a, Number b);
WICK_API Tensor where(const Tensor& condition, Number a, const Tensor& b);
WICK_API Tensor where(const Tensor& condition, Number a, Number b);
/// x with `value` where mask is true. mask: bool, broadcast to x. Returns x's dtype. Errors:
/// kInvalidArgument for a value outside the dtype's range.
WICK_API Tensor masked_fill(const Tensor& x, const Tensor& mask, Number value);

struct ClampOptions {
  std::optional<Number> min = {};
  std::optional<Number> max = {};
};
/// x, raised to min and then lowered to max; NaN for NaN. A real bound converts integers to f32. A
/// bound outside the dtype's range acts as the nearest number in it. The gradient passes where min
/// < x < max.
WICK_API Tensor clamp(const Tensor& x, const ClampOptions& options);

}  // namespace wick
