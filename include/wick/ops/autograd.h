// Reverse-mode differentiation: ops on tensors that come from a Var are recorded, backward walks
// the record.
#pragma once
#include <vector>

#include "wick/core/var.h"

namespace wick {

struct BackwardOptions {
  Tensor seed = {};           // the gradient of the output, of its dtype; none: 1, for a scalar
  bool create_graph = false;  // record the gradients' own computation, to differentiate again
};

/// Adds the gradient of y with respect to every Var that it came from to that Var's grad(): several
/// threads may do so to one Var at a time. A record may be walked once more as long as y lives.
/// Errors: kNoGradient if y is not on the tape; kShapeMismatch if there is no seed and y is no
/// scalar; kShapeMismatch, kDTypeMismatch, kDeviceMismatch of a seed that is not as y is;
/// kModifiedInPlace if something that a rule needs was written over since.
WICK_API void backward(const Tensor& y, const BackwardOptions& options = {});
/// The gradients of y with respect to these tensors (Vars' or between), none for one that y does
/// not depend on. Adds to no Var.
WICK_API std::vector<Tensor> grad(const Tensor& y, const std::vector<Tensor>& inputs,
                                  const BackwardOptions& options = {});

/// While one lives, ops of this thread are not recorded.
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
