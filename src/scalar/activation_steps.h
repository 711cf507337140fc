// How products with block weights round activations to 16 bits: decision 11. Freestanding.
#pragma once
#include "scalar/math_basic.h"

namespace wick {

/// The largest integer of a rounded activation: a signed byte times 256 and another signed byte are
/// at least that.
inline constexpr int kMaxSteps = 32512;
/// Within these bounds steps and their products with scales stay in the range of normal numbers.
inline constexpr float kLeastActivation = 0x1p-60f, kMaxActivation = 0x1p60f;

/// The step of neighbours whose largest magnitude is `most`.
class ActivationStep {
 public:
  WICK_SCALAR explicit ActivationStep(float most)
      : valid_(most == 0 || (kLeastActivation <= most && most <= kMaxActivation)),
        step_(valid_ ? most / kMaxSteps : 0),
        inverse_(valid_ && most != 0 ? kMaxSteps / most : 0) {}
  /// false: the neighbours are not rounded.
  WICK_SCALAR bool is_valid() const { return valid_; }
  WICK_SCALAR float step() const { return step_; }
  /// x in steps; 0 without a valid step.
  WICK_SCALAR int32 round(float x) const { return valid_ ? int32(round_even(x * inverse_)) : 0; }

 private:
  bool valid_;
  float step_, inverse_;
};

}  // namespace wick
