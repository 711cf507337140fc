// Products with block weights without rounding of x, for tests that compare their elements.
#pragma once
#include "wick/core/numerics.h"

namespace wick {

/// While alive, set_round_activations(false) holds.
struct ExactActivations {
  ExactActivations() { set_round_activations(false); }
  ~ExactActivations() { set_round_activations(true); }
};

}  // namespace wick
