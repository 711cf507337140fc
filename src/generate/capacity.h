// The capacity of sessions whose options name none.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>

#include "wick/generate/session.h"

namespace wick {

/// The most tokens that a conversation, and a text without max_tokens, has room for. A cache allocates
/// its whole capacity, so that of a model with many positions is bounded.
inline constexpr int64_t kDefaultCapacity = 4096;

/// The capacity that the options name; else the model's positions, or `tokens` if that is less.
inline int64_t capacity_of(const SessionOptions& options, const CausalModel& model,
                           int64_t tokens = std::numeric_limits<int64_t>::max()) {
  return options.capacity != 0 ? options.capacity : std::min(tokens, model.positions());
}

}  // namespace wick
