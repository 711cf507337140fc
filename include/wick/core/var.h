// Mutable tensors: parameters, caches. Names of functions that write end in _.
#pragma once
#include "wick/core/number.h"
#include "wick/core/tensor.h"

namespace wick {

/// A mutable tensor for which backward accumulates a gradient. Copies share the value.
class WICK_API Var {
 public:
  Var() = default;
  /// Starts with the values of init; writes to the Var never affect other holders of init. Adopts
  /// the memory of a tensor moved in by its only owner, else copies. Errors: kDTypeMismatch if it
  /// requires a gradient and is not floating.
  explicit Var(Tensor init, bool requires_grad = true);

  /// The current value, an empty Tensor() for an empty Var(). The tape records ops on it.
  const Tensor& tensor() const;
  operator const Tensor&() const { return tensor(); }  // NOLINT: ops accept a Var
  const Shape& shape() const { return tensor().shape(); }
  bool defined() const { return value_ != nullptr; }

  /// The accumulated gradient; empty before the first backward.
  Tensor grad() const;
  void zero_grad() const;

  /// Replaces the value; results computed from the old value keep it. Adopts the memory of a
  /// value moved in by its only owner, else copies. Errors: kShapeMismatch, kDTypeMismatch,
  /// kDeviceMismatch.
  void set_(Tensor value);
  /// A Var of the rows first ... first + count - 1 of the first dim, in the same memory: a write to
  /// one is seen by the other, until set_ gives either memory of its own. Errors: kInvalidArgument
  /// if this Var requires a gradient; kOutOfRange.
  Var rows(int64_t first, int64_t count) const;

 private:
  std::shared_ptr<Tensor> value_;
};

/// Writes value, after broadcasting and casting, into the memory of target. Errors: kShapeMismatch.
WICK_API void copy_(Var& target, const Tensor& value);
/// Sets every element to value, by full's rules.
WICK_API void fill_(Var& target, Number value);
/// target += value, in its memory.
WICK_API void add_(Var& target, const Tensor& value);

}  // namespace wick
