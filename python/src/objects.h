// The C++ objects of wick.Tensor and wick.Var.
#pragma once
#include <utility>

#include "wick/core/var.h"

namespace wick::python {

/// The object of wick.Tensor. A Var is a Tensor in Python as it is an operand of ops in C++, so one
/// class serves both: a Var's tensor() is its value of the moment.
class TensorObject {
 public:
  explicit TensorObject(Tensor tensor) : tensor_(std::move(tensor)) {}

  /// A copy, because another thread may replace a Var's value while an op runs without the GIL.
  Tensor tensor() const { return var_.defined() ? var_.tensor() : tensor_; }
  const Var& var() const { return var_; }

 protected:
  explicit TensorObject(Var var) : var_(std::move(var)) {}

 private:
  Tensor tensor_;
  Var var_;
};

/// The object of wick.Var.
class VarObject : public TensorObject {
 public:
  explicit VarObject(Var var) : TensorObject(std::move(var)) {}
};

}  // namespace wick::python
