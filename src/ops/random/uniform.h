// Uniform numbers of a generator of one's own.
#pragma once
#include "wick/core/tensor.h"

namespace wick {

/// The numbers that rand gives in [0, 1) after set_seed(seed) and calls that drew `drawn` blocks of
/// four words; adds those that it draws.
Tensor uniform_of(uint64_t seed, uint64_t* drawn, const Shape& shape,
                  const TensorOptions& options = {});

}  // namespace wick
