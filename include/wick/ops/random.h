// Random tensors, and random choices. All come of Philox4x32-10 under the device's seed, made on
// the host: the same seed gives the same bits on every device and with any number of threads.
// Nothing here is on the tape.
#pragma once
#include "wick/core/tensor.h"

namespace wick {

/// Numbers uniform in [low, high), as fine as the dtype (f64: 2^-53 of the interval). dtype:
/// floating. Errors: kDTypeMismatch; kInvalidArgument unless low <= high and both are finite.
WICK_API Tensor rand(const Shape& shape, const TensorOptions& options = {}, double low = 0,
                     double high = 1);
/// Normal numbers of this mean and deviation, by Box and Muller's method: computed in f32, f64 in
/// f64. The farthest from the mean is 6.7 deviations, in f64 8.6. dtype: floating. Errors:
/// kDTypeMismatch; kInvalidArgument if deviation < 0 or one of both is not finite.
WICK_API Tensor randn(const Shape& shape, const TensorOptions& options = {}, double mean = 0,
                      double deviation = 1);
/// rand with x's shape, dtype and device.
WICK_API Tensor rand_like(const Tensor& x, double low = 0, double high = 1);
/// randn with x's shape, dtype and device.
WICK_API Tensor randn_like(const Tensor& x, double mean = 0, double deviation = 1);

/// Integers low, low + 1, ... high - 1, all as likely (to 2^-64 of their number). dtype: i64, or
/// any that holds them; of floats the nearest. Errors: kInvalidArgument if low >= high or the dtype
/// does not reach.
WICK_API Tensor randint(int64_t low, int64_t high, const Shape& shape,
                        const TensorOptions& options = {.dtype = DType::kI64});
/// The numbers 0 ... n - 1 in random order. dtype: as randint. Errors: kInvalidArgument.
WICK_API Tensor randperm(int64_t n, const TensorOptions& options = {.dtype = DType::kI64});

/// 1 with probability p, else 0, in any dtype. Errors: kInvalidArgument unless 0 <= p <= 1.
WICK_API Tensor bernoulli(double p, const Shape& shape, const TensorOptions& options = {});
/// 1 with each element's own probability p, else 0: p's shape, dtype (floating) and device. Reads p
/// on the host.
WICK_API Tensor bernoulli(const Tensor& p);
/// 0 with probability p, else 1 / (1 - p): what dropout multiplies by. dtype: floating.
WICK_API Tensor dropout_mask(const Shape& shape, double p, const TensorOptions& options = {});

struct MultinomialOptions {
  bool replacement = false;  // whether one index may be drawn several times
};
/// Indices drawn with weights [..., N] (floating, on the host read) over the last dim: i64 [...,
/// count], in the order in which they were drawn. Errors: kInvalidArgument if a weight is negative
/// or not finite, if a row has no weight above 0, or without replacement fewer than count.
WICK_API Tensor multinomial(const Tensor& weights, int64_t count,
                            const MultinomialOptions& options = {});

}  // namespace wick
