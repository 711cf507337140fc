// Reverse-mode differentiation: wick records the ops on tensors that derive from a Var, and
// backward walks the record.
#pragma once
#include <functional>
#include <vector>

#include "wick/core/var.h"

namespace wick {

struct BackwardOptions {
  Tensor seed = {};           // gradient of the output, in its dtype; empty: 1, for a scalar output
  bool create_graph = false;  // record the gradient computation, so that it can be differentiated
                              // again
};

/// Adds the gradient of y with respect to every Var it depends on to that Var's grad(). Several
/// threads may add to one Var concurrently. The record can be walked again as long as y lives.
/// Errors: kNoGradient if y is not on the tape; kShapeMismatch if there is no seed and y is not a
/// scalar; kShapeMismatch, kDTypeMismatch or kDeviceMismatch if the seed differs from y in shape,
/// dtype or device; kModifiedInPlace if a tensor that a gradient rule needs has been overwritten.
WICK_API void backward(const Tensor& y, const BackwardOptions& options = {});
/// The gradients of y with respect to `inputs`: tensors of Vars or intermediate results. The
/// gradient is an empty Tensor() for an input that y does not depend on. Leaves every Var's grad()
/// alone.
WICK_API std::vector<Tensor> grad(const Tensor& y, const std::vector<Tensor>& inputs,
                                  const BackwardOptions& options = {});

/// During its lifetime, calls a function for each Var as soon as a backward of this thread has
/// added the Var's whole gradient: before the gradients of values that were computed earlier.
class WICK_API GradientWatch {
 public:
  /// Called with a Var's tensor().node().
  using Function = std::function<void(const AutogradNode& var)>;
  explicit GradientWatch(Function function);
  ~GradientWatch();
  GradientWatch(const GradientWatch&) = delete;
  GradientWatch& operator=(const GradientWatch&) = delete;

 private:
  Function function_;
  const Function* before_;
};

/// Disables recording for ops of this thread during its lifetime.
class WICK_API NoGrad {
 public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool before_;
};
/// Whether ops of this thread are recorded now.
WICK_API bool grad_enabled();

}  // namespace wick
