// Casts of weights that notice numbers too large for the dtype.
#pragma once
#include <string>

#include "wick/core/tensor.h"

namespace wick {

/// Checks that the elements of `after`, which is `before` in another dtype, are finite where the
/// elements of `before` are. Errors: kFormat, naming the tensor and the first element that
/// overflowed.
void require_no_overflow(const Tensor& before, const Tensor& after, const std::string& where,
                         const std::string& name);

/// cast on the CPU with require_no_overflow, unless overflows are allowed.
Tensor cast_weights(const Tensor& x, DType dtype, const std::string& where, const std::string& name,
                    bool allow_overflow);

}  // namespace wick
