// Ops that write their result into the memory of a Var; core/var.h has copy_, fill_ and add_.
#pragma once
#include "wick/core/var.h"
#include "wick/ops/where.h"

namespace wick {

/// Writes 0 into every element.
WICK_API void zero_(Var& target);

/// @name Over the target
/// target = f(target, ...), f the function without the underscore: its result is cast to the
/// target's dtype and written into its memory, off the tape. A gradient that needs what was written
/// over says so (kModifiedInPlace). Errors: kShapeMismatch if the result is not of the target's
/// shape; those of the function.
/// @{
WICK_API void sub_(Var& target, const Tensor& value);
WICK_API void mul_(Var& target, const Tensor& value);
WICK_API void div_(Var& target, const Tensor& value);
WICK_API void maximum_(Var& target, const Tensor& value);
WICK_API void minimum_(Var& target, const Tensor& value);
WICK_API void pow_(Var& target, const Tensor& value);
WICK_API void add_(Var& target, Number value);
WICK_API void sub_(Var& target, Number value);
WICK_API void mul_(Var& target, Number value);
WICK_API void div_(Var& target, Number value);
WICK_API void pow_(Var& target, Number value);
WICK_API void clamp_(Var& target, const ClampOptions& options);
WICK_API void masked_fill_(Var& target, const Tensor& mask, Number value);
WICK_API void lerp_(Var& target, const Tensor& end, double weight);

WICK_API void neg_(Var& target);
WICK_API void abs_(Var& target);
WICK_API void exp_(Var& target);
WICK_API void log_(Var& target);
WICK_API void sqrt_(Var& target);
WICK_API void relu_(Var& target);
WICK_API void sigmoid_(Var& target);
WICK_API void tanh_(Var& target);
WICK_API void floor_(Var& target);
WICK_API void ceil_(Var& target);
WICK_API void round_(Var& target);
/// @}

}  // namespace wick
