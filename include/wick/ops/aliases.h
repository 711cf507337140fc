// Alternative op names: candle's, and second names from PyTorch. scripts/manifest reads the aliases
// from this file. An alias returns the op called with the alias's own parameters.
#pragma once
#include "wick/ops/shape.h"
#include "wick/ops/statistics.h"
#include "wick/ops/unary.h"

namespace wick {

inline Tensor sqr(Tensor x) { return square(std::move(x)); }
inline Tensor recip(Tensor x) { return reciprocal(std::move(x)); }
inline Tensor round_to(const Tensor& x, int decimals) { return round(x, decimals); }
inline Tensor log_sum_exp(const Tensor& x, const ReduceOptions& options = {}) {
  return logsumexp(x, options);
}
inline Tensor swapaxes(const Tensor& x, int64_t dim0, int64_t dim1) {
  return transpose(x, dim0, dim1);
}
inline Tensor swapdims(const Tensor& x, int64_t dim0, int64_t dim1) {
  return transpose(x, dim0, dim1);
}

}  // namespace wick
