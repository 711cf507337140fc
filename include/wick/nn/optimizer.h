// AdamW over a model's parameters, learning-rate schedule, gradient clipping.
#pragma once
#include <vector>

#include "wick/nn/parameters.h"
#include "wick/ops/optimizer.h"

namespace wick {

/// The learning rate of step `step` in [0, steps): rises linearly to `peak` during `warmup` steps,
/// then falls to `last` along half a cosine.
struct CosineRate {
  double peak = 1e-3, last = 0;
  int64_t warmup = 0, steps = 1;
  WICK_API double at(int64_t step) const;
};

/// The square root of the sum of squares over all gradients: an f32 scalar on their device; 0 for
/// an empty list.
WICK_API Tensor global_norm(const std::vector<Tensor>& gradients);

/// The defaults are PyTorch's.
struct AdamWSettings {
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  double weight_decay = 0.01;
  double clip_norm = 0;        // gradients are scaled down to this global norm; 0: no clipping
  bool decays_vectors = true;  // false: weight_decay spares vectors (norms, biases)
};

/// AdamW (see adamw_) over named parameters. Holds their running averages. A Var of several names
/// (tied weights) is one parameter, under the first name.
class WICK_API AdamW {
 public:
  AdamW(const NamedVars& parameters, const AdamWSettings& settings);

  /// Makes one step with the gradients collected by backward, and clears them. Does not wait for
  /// the device: the norm stays there. Parameters without a gradient are unchanged.
  void step(double rate);
  int64_t steps_done() const { return steps_done_; }

  /// The running averages of each parameter, "mean.NAME" and "square.NAME". Together with
  /// steps_done they are the optimizer's complete state.
  NamedTensors state() const;
  /// Restores a state(). Errors: kFormat if a tensor is missing or has another shape or dtype.
  void restore(const TensorSource& state, int64_t steps_done);
  /// A running average in a state(). Errors: as restore.
  static Tensor load_average(const TensorSource& state, const std::string& name,
                             const Tensor& parameter);

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
