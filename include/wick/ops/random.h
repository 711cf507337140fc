// Random tensors and sampling. All numbers come from Philox4x32-10 with the device's seed,
// generated on the host: the same seed gives the same bits on every device, with any number of
// threads. The tape does not record these ops.
#pragma once
#include "wick/core/tensor.h"

namespace wick {

/// Uniform numbers in [low, high), with the resolution of the dtype (f64: 2^-53 of the interval).
/// dtype: floating. Errors: kDTypeMismatch; kInvalidArgument unless low <= high and both are
/// finite.
WICK_API Tensor rand(const Shape& shape, const TensorOptions& options = {}, double low = 0,
                     double high = 1);
/// Normally distributed numbers with the given mean and standard deviation, by the Box-Muller
/// method, computed in f32 (f64 for f64). The farthest from the mean is 6.7 deviations (f64: 8.6).
/// dtype: floating. Errors: kDTypeMismatch; kInvalidArgument if deviation < 0, or either is not
/// finite.
WICK_API Tensor randn(const Shape& shape, const TensorOptions& options = {}, double mean = 0,
                      double deviation = 1);
/// rand with x's shape, dtype and device.
WICK_API Tensor rand_like(const Tensor& x, double low = 0, double high = 1);
/// randn with x's shape, dtype and device.
WICK_API Tensor randn_like(const Tensor& x, double mean = 0, double deviation = 1);

/// Uniform integers low, low + 1, ... high - 1, equally likely to within 2^-64 times their number.
/// dtype: i64 unless options give another; floats are rounded to the nearest. Errors:
/// kInvalidArgument if low >= high, or if the range exceeds the dtype's.
WICK_API Tensor randint(int64_t low, int64_t high, const Shape& shape,
                        const CountOptions& options = {});
/// A random permutation of 0 ... n - 1. dtype: as for randint. Errors: kInvalidArgument.
WICK_API Tensor randperm(int64_t n, const CountOptions& options = {});

/// 1 with probability p, else 0, in any dtype. Errors: kInvalidArgument unless 0 <= p <= 1.
WICK_API Tensor bernoulli(double p, const Shape& shape, const TensorOptions& options = {});
/// 1 with the probability given by each element of p, else 0, in p's shape, dtype (floating) and
/// device. The host reads p.
WICK_API Tensor bernoulli(const Tensor& p);
/// The factors that dropout multiplies by: 0 with probability p, else 1 / (1 - p). dtype: floating.
WICK_API Tensor dropout_mask(const Shape& shape, double p, const TensorOptions& options = {});

struct MultinomialOptions {
  bool replacement = false;  // whether an index may be drawn more than once
};
/// Draws indices over the last dim with weights [..., N] (floating; the host reads them). Returns
/// i64 [..., count], in the order drawn. Errors: kInvalidArgument if a weight is negative or not
/// finite, if a row has no positive weight, or if without replacement it has fewer than count.
WICK_API Tensor multinomial(const Tensor& weights, int64_t count,
                            const MultinomialOptions& options = {});

}  // namespace wick
