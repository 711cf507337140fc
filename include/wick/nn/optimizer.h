// From gradients to better parameters: AdamW over a model's parameters, the rate over time,
// clipping.
#pragma once
#include <vector>

#include "wick/nn/parameters.h"
#include "wick/ops/optimizer.h"

namespace wick {

/// The learning rate of step `step` in [0, steps): up to `peak` along a line in `warmup` steps,
/// then down to `last` along half a cosine.
struct CosineRate {
  double peak = 1e-3, last = 0;
  int64_t warmup = 0, steps = 1;
  WICK_API double at(int64_t step) const;
};

/// The root of the sum of squares over all gradients, in f32, a scalar on their device; 0 of none.
WICK_API Tensor global_norm(const std::vector<Tensor>& gradients);

struct AdamWSettings {
  double beta1 = 0.9, beta2 = 0.95, eps = 1e-8;
  double weight_decay = 0.1;  // of matrices; vectors (norms, biases) have none
  double clip_norm = 1;       // gradients are scaled down to this global norm; 0: never
};

/// AdamW (see adamw_) over named parameters, with its running averages.
class WICK_API AdamW {
 public:
  AdamW(const NamedVars& parameters, const AdamWSettings& settings);

  /// Makes one step along the gradients that backward has brought, and clears them. Waits for
  /// nothing: the norm stays on the device. Parameters without a gradient stay as they are.
  void step(double rate);
  int64_t steps_done() const { return steps_done_; }

  /// The running averages "mean.NAME" and "square.NAME" of each parameter: with steps_done, all
  /// that there is to an optimizer's state.
  NamedTensors state() const;
  /// Restores state(). Errors: kFormat if a tensor is missing or has another shape or dtype.
  void restore(const TensorSource& state, int64_t steps_done);

 private:
  struct Slot {
    std::string name;
    Var parameter, mean, square;
  };
  AdamWSettings settings_;
  std::vector<Slot> slots_;
  int64_t steps_done_ = 0;
};

}  // namespace wick
