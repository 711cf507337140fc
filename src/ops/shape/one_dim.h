// PyTorch's rule for ops along a dim: a tensor without dims counts as one-dimensional with one
// element, and dim is 0 or -1; the result again has no dims.
#pragma once
#include "wick/ops/reduce.h"
#include "wick/ops/shape.h"

namespace wick {

inline Tensor as_one_dim(const Tensor& x) { return reshape(x, {1}); }
/// Errors: kShapeMismatch unless y has one element.
inline Tensor without_dims(const Tensor& y) { return reshape(y, {}); }
inline ValuesIndices without_dims(const ValuesIndices& y) {
  return {without_dims(y.values), without_dims(y.indices)};
}

}  // namespace wick
