// Choices, element by element.
// See elementwise.h for what these share.
#pragma once
#include <optional>

#include "wick/core/number.h"
#include "wick/core/tensor.h"

namespace wick {

/// condition ? a : b. condition: bool, or a dtype that cast takes to it. a and b promote; a number
/// beside a tensor as core/number.h says; of two numbers the result is i64 if both are integers,
/// else f32. Errors: kInvalidArgument of an integer above 2^63 - 1 beside another number.
WICK_API Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
WICK_API Tensor where(const Tensor& condition, const Tensor& a, Number b);
WICK_API Tensor where(const Tensor& condition, Number a, const Tensor& b);
WICK_API Tensor where(const Tensor& condition, Number a, Number b);
/// x with the number where the mask (bool, broadcast to x) is true; x's dtype.
WICK_API Tensor masked_fill(const Tensor& x, const Tensor& mask, Number value);

struct ClampOptions {
  std::optional<Number> min = {};
  std::optional<Number> max = {};
};
/// x, not below min and then not above max; NaN stays. A real bound makes f32 of integers. The
/// gradient passes where min < x < max.
WICK_API Tensor clamp(const Tensor& x, const ClampOptions& options);

}  // namespace wick
