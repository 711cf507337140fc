// The error of a model whose logits are not finite.
#pragma once
#include <string_view>
#include <vector>

#include "wick/models/causal_model.h"

namespace wick {

/// Reads a text anew to find the first token whose logits are not finite, after a computation gave
/// such. Always raises kFormat, under the name of the op.
[[noreturn]] WICK_API void fail_not_finite(std::string_view op, const CausalModel& model,
                                           const std::vector<int64_t>& ids);

}  // namespace wick
