// The capacity of sessions that name none.
#pragma once
#include <algorithm>

#include "wick/load/load_model.h"

namespace wick {

/// Tokens. A cache allocates its whole capacity, so that of a model with many positions is bounded.
inline constexpr int64_t kDefaultCapacity = 4096;

/// Room for this many tokens, at most the model's positions.
inline int64_t capacity_for(const LanguageModel& model, int64_t tokens) {
  return std::min(tokens, model.model->positions());
}

}  // namespace wick
