// What can be written: parameters, caches. The functions that write end in _.
#pragma once
#include "wick/core/number.h"
#include "wick/core/tensor.h"

namespace wick {

/// A handle on a tensor that may be overwritten, and for which backward collects a gradient. Copies
/// share it.
class WICK_API Var {
 public:
  Var() = default;
  /// Has the values of init; writes to the Var never reach init's other holders. Errors:
  /// kDTypeMismatch if it requires a gradient and is not floating.
  explicit Var(const Tensor& init, bool requires_grad = true);

  /// The present value; none of an empty Var(). Ops on it are recorded on the tape.
  const Tensor& tensor() const;
  operator const Tensor&() const { return tensor(); }  // NOLINT: a Var is used where a Tensor is
  const Shape& shape() const { return tensor().shape(); }
  bool defined() const { return value_ != nullptr; }

  /// The sum of the gradients that backward has brought so far; none before the first.
  Tensor grad() const;
  void zero_grad() const;

  /// Puts another value in place of this one; what was computed from the old keeps it. Reuses the
  /// memory of a value that is handed over by its only owner, else copies. Errors: kShapeMismatch,
  /// kDTypeMismatch, kDeviceMismatch.
  void set_(Tensor value);

 private:
  std::shared_ptr<Tensor> value_;
};

/// Writes value (broadcast, cast) into the memory of target. Errors: kShapeMismatch.
WICK_API void copy_(Var& target, const Tensor& value);
/// Writes the number into every element.
WICK_API void fill_(Var& target, Number value);
/// target += value, in its memory.
WICK_API void add_(Var& target, const Tensor& value);

}  // namespace wick
