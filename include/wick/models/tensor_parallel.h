// Models whose weights several processes share.
#pragma once
#include "wick/models/causal_model.h"

namespace wick {

/// Whether another process drives the model: it was loaded on a rank other than 0, with a part of
/// the weights. Such a model takes calls of `follow` alone.
WICK_API bool follows(const CausalModel& model);

/// Computes this rank's part of all that rank 0 calls on its model, until that is destroyed there.
/// Errors: kInvalidArgument unless the model `follows`; kIo, naming the rank, if another rank has
/// died; the error of a step that failed on this rank alone.
WICK_API void follow(const CausalModel& model);

}  // namespace wick
