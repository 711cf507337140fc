// PyTorch's rule for ops along a dim: a tensor without dims is taken as one of a single dim, 0 or
// -1, with one element, and what comes of it has no dims again.
#pragma once
#include "wick/ops/reduce.h"
#include "wick/ops/shape.h"

namespace wick {

inline Tensor as_one_dim(const Tensor& x) { return reshape(x, {1}); }
/// Errors: kShapeMismatch unless it has one element.
inline Tensor without_dims(const Tensor& y) { return reshape(y, {}); }
inline ValuesIndices without_dims(const ValuesIndices& y) {
  return {without_dims(y.values), without_dims(y.indices)};
}

}  // namespace wick
