// Creating tensors; random.h has the random ones.
#pragma once
#include "wick/core/number.h"
#include "wick/core/tensor.h"
#include "wick/ops/random.h"

namespace wick {

/// A tensor filled with `value`. Rounded to floats; integers truncate it (3.7 in i64 is 3), and
/// bool is true for all but 0. Errors: kInvalidArgument for a number outside the dtype's range.
WICK_API Tensor full(const Shape& shape, Number value, const TensorOptions& options = {});
/// A tensor filled with 0.
WICK_API Tensor zeros(const Shape& shape, const TensorOptions& options = {});
/// A tensor filled with 1.
WICK_API Tensor ones(const Shape& shape, const TensorOptions& options = {});

/// @name Like another tensor
/// Tensors with the shape, dtype and device of x.
/// @{

/// Filled with `value`, by full's rules.
WICK_API Tensor full_like(const Tensor& x, Number value);
/// Filled with 0.
WICK_API Tensor zeros_like(const Tensor& x);
/// Filled with 1.
WICK_API Tensor ones_like(const Tensor& x);
/// Uninitialized.
WICK_API Tensor empty_like(const Tensor& x);

/// @}

/// The numbers 0, 1, ... n - 1. dtype: i64 unless options give another.
WICK_API Tensor arange(int64_t n, const CountOptions& options = {});
/// The numbers start + i step for i = 0, 1, ... while they are before end. Each is computed by this
/// formula and not by repeated addition, in i64 for integers, else in f64. dtype: i64 for integers,
/// f32 otherwise, unless options give another. Errors: kInvalidArgument if step is 0 or points away
/// from end.
WICK_API Tensor arange(Number start, Number end, Number step = 1);
WICK_API Tensor arange(Number start, Number end, Number step, const CountOptions& options);
/// n evenly spaced numbers from start to end, both included. Computed in f64.
WICK_API Tensor linspace(double start, double end, int64_t n, const TensorOptions& options = {});
/// A matrix with ones on the main diagonal and zeros elsewhere; square unless `columns` is given.
WICK_API Tensor eye(int64_t rows, const TensorOptions& options = {});
WICK_API Tensor eye(int64_t rows, int64_t columns, const TensorOptions& options = {});
/// A bool mask [rows, columns]: true where column - row <= diagonal.
WICK_API Tensor tril_mask(int64_t rows, int64_t columns, int64_t diagonal = 0,
                          const Device& device = Device::cpu());
/// A bool mask [rows, columns]: true where column - row >= diagonal.
WICK_API Tensor triu_mask(int64_t rows, int64_t columns, int64_t diagonal = 0,
                          const Device& device = Device::cpu());

/// The order of the first two dims of a grid.
enum class MeshIndexing {
  kIj,  // the first input varies along the first dim
  kXy,  // the first input varies along the second dim
};
/// Each one-dimensional input repeated over the grid of all inputs: views of one shape. Errors:
/// kShapeMismatch.
WICK_API std::vector<Tensor> meshgrid(const std::vector<Tensor>& axes,
                                      MeshIndexing indexing = MeshIndexing::kIj);
/// A vector per id with 1 at the id and 0 elsewhere: [ids' dims..., num_classes]. ids: integers.
/// Errors: kOutOfRange for an id outside [0, num_classes).
WICK_API Tensor one_hot(const Tensor& ids, int64_t num_classes, DType dtype = DType::kI64);

}  // namespace wick
