// Ops that write their result into a Var's memory; core/var.h has copy_, fill_ and add_.
#pragma once
#include "wick/core/var.h"
#include "wick/ops/where.h"

namespace wick {

/// Sets every element to 0.
WICK_API void zero_(Var& target);

/// @name In-place versions
/// target = f(target, ...), where f is the function without the underscore. The result is cast to
/// the target's dtype and written into its memory, and the tape does not record it. A gradient that
/// needs the overwritten values throws kModifiedInPlace. Errors: kShapeMismatch if the result does
/// not have the target's shape; f's own.
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
