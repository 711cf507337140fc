// Tensors from nothing; random.h has the random ones.
#pragma once
#include "wick/core/number.h"
#include "wick/core/tensor.h"
#include "wick/ops/random.h"

namespace wick {

/// A tensor whose every element is `value`, converted as cast would (3.7 in i64 is 3).
WICK_API Tensor full(const Shape& shape, Number value, const TensorOptions& options = {});
/// A tensor whose every element is 0.
WICK_API Tensor zeros(const Shape& shape, const TensorOptions& options = {});
/// A tensor whose every element is 1.
WICK_API Tensor ones(const Shape& shape, const TensorOptions& options = {});

/// @name Like another tensor
/// Tensors of the shape, dtype and device of x.
/// @{

/// Every element is `value`, converted as cast would.
WICK_API Tensor full_like(const Tensor& x, Number value);
/// Every element is 0.
WICK_API Tensor zeros_like(const Tensor& x);
/// Every element is 1.
WICK_API Tensor ones_like(const Tensor& x);
/// The content is undefined.
WICK_API Tensor empty_like(const Tensor& x);

/// @}

/// The numbers 0, 1, ... n - 1. dtype: i64 or as given.
WICK_API Tensor arange(int64_t n, const TensorOptions& options = {.dtype = DType::kI64});
/// The numbers start + i step for every i >= 0 for which that is before end: computed so and not by
/// adding, in i64 for integers, else in f64. dtype: i64 of integers, else f32, or as given. Errors:
/// kInvalidArgument of a step of 0 or one away from end.
WICK_API Tensor arange(Number start, Number end, Number step = 1);
WICK_API Tensor arange(Number start, Number end, Number step, const TensorOptions& options);
/// n numbers at equal distances, of which the first is start and the last end, in f64.
WICK_API Tensor linspace(double start, double end, int64_t n, const TensorOptions& options = {});
/// A matrix with 1 where row and column are equal, else 0; columns: as many as rows, or as given.
WICK_API Tensor eye(int64_t rows, const TensorOptions& options = {});
WICK_API Tensor eye(int64_t rows, int64_t columns, const TensorOptions& options = {});
/// The mask [rows, columns] of bool: whether column - row <= diagonal.
WICK_API Tensor tril_mask(int64_t rows, int64_t columns, int64_t diagonal = 0,
                          const Device& device = Device::cpu());
/// The mask [rows, columns] of bool: whether column - row >= diagonal.
WICK_API Tensor triu_mask(int64_t rows, int64_t columns, int64_t diagonal = 0,
                          const Device& device = Device::cpu());

/// Which of two leading dims of a grid is which input's.
enum class MeshIndexing {
  kIj,  // the first input's is the first
  kXy,  // the first input's is the second
};
/// Each one-dimensional input repeated over the grid of all: views, of one shape. Errors:
/// kShapeMismatch.
WICK_API std::vector<Tensor> meshgrid(const std::vector<Tensor>& axes,
                                      MeshIndexing indexing = MeshIndexing::kIj);
/// A vector for each id, [ids' dims..., num_classes]: 1 at the id, else 0. ids: integers. Errors:
/// kOutOfRange of an id outside of [0, num_classes).
WICK_API Tensor one_hot(const Tensor& ids, int64_t num_classes, DType dtype = DType::kI64);

}  // namespace wick
