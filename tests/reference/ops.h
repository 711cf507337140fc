// The ops, naively. A result's values are exact or as near as Reals are, and not rounded to its
// dtype (integers are).
#pragma once
#include "array.h"

namespace wick::reference {

/// A result, and for each element what its rounding errors are measured by.
struct Result {
  Array array;
  /// The sum of the terms' magnitudes, of sums and products; else empty.
  std::vector<Real> magnitude;
  /// How many terms an element sums; 0 if it is no sum.
  int64_t terms = 0;
};

/// PyTorch's promotion between dtypes. Where PyTorch refuses (f8 with another float): the narrowest
/// float that holds both.
DType promote(DType lhs, DType rhs);
/// Between arrays: one without dims does not promote one that has some, within its kind (bool,
/// integers, floats).
DType promote(const Array& lhs, const Array& rhs);
/// The dtype in which an op computes that needs floats: integers and bool in f32.
DType floating(DType dtype);

/// The slopes of log |gamma|, by long recurrences.
Real digamma(Real x);
Real trigamma(Real x);
Real polygamma(int order, Real x);

/// Reduces `dims` (none: all); reduced dims stay, of size 1, if keepdim.
struct Reduction {
  std::vector<int64_t> dims = {};
  bool keepdim = false;
};
/// The sum; of integers and bool in i64, wrapping.
Result sum(const Array& x, const Reduction& reduction);
Result mean(const Array& x, const Reduction& reduction);
/// NaN wins.
Result max(const Array& x, const Reduction& reduction);

/// a [..., M, K] times b [..., K, N]; a vector counts as a row (a) or a column (b).
Result matmul(const Array& a, const Array& b);
/// x times the transpose of weight, plus bias if it is not null.
Result linear(const Array& x, const Array& weight, const Array* bias);
/// x [T, K] or [T, J, K], weight [E, N, K], ids [T, J]: row [t, j] times the transpose of
/// weight[ids[t, j]], in x's dtype.
Result expert_linear(const Array& x, const Array& weight, const Array& ids);

Result index_select(const Array& x, int64_t dim, const Array& ids);
Result gather(const Array& x, int64_t dim, const Array& ids);
Result embedding(const Array& weight, const Array& ids);
Result index_add(const Array& x, int64_t dim, const Array& ids, const Array& src);
Result scatter_add(const Array& x, int64_t dim, const Array& ids, const Array& src);
/// x with src set where gather with the same ids would read; ids broadcast to src's shape.
Result scatter(const Array& x, int64_t dim, const Array& ids, const Array& src);

/// The arrays one after another along dim.
Result cat(const std::vector<Array>& arrays, int64_t dim);
Result where(const Array& condition, const Array& a, const Array& b);

// Softmax and what is built on it: `magnitude` is the condition, the sum of the intermediate
// results' magnitudes as they reach the result: errors of one rounding each multiply it.
Result softmax(const Array& x, int64_t dim);
Result log_softmax(const Array& x, int64_t dim);
/// How losses of rows become one.
struct Loss {
  enum class Reduction { kMean, kSum, kNone };
  const Array* weight = nullptr;  // of each class; null: 1
  Real ignored = -100;            // a target that does not count
  Reduction reduction = Reduction::kMean;
  Real smoothing = 0;
};
/// The losses are of f32; of f64 for f64.
Result cross_entropy(const Array& logits, const Array& targets, const Loss& loss = {});
Result cross_entropy_of_probabilities(const Array& logits, const Array& p, const Loss& loss);
Result nll_loss(const Array& log_probabilities, const Array& targets, const Loss& loss = {});

}  // namespace wick::reference
