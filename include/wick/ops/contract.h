// Products built from matmul and mul; dtypes and errors are theirs.
#pragma once
#include <string_view>

#include "wick/core/number.h"
#include "wick/core/tensor.h"

namespace wick {

/// The sum of a[i] b[i]. a, b: [N]. All functions here throw kShapeMismatch for other shapes.
WICK_API Tensor dot(const Tensor& a, const Tensor& b);
/// The product of a matrix [M, K] and a vector [K]: [M].
WICK_API Tensor mv(const Tensor& matrix, const Tensor& vector);
/// Batched matrix product: a [B, M, K] times b [B, K, N] -> [B, M, N]. No dim broadcasts.
WICK_API Tensor bmm(const Tensor& a, const Tensor& b);

struct AddmmOptions {
  Number beta = 1;   // factor of x; 0: x is not read
  Number alpha = 1;  // factor of the product
};
/// beta x + alpha (a b) for matrices a [M, K] and b [K, N]; x broadcasts to the product's shape.
WICK_API Tensor addmm(const Tensor& x, const Tensor& a, const Tensor& b,
                      const AddmmOptions& options = {});
/// addmm for batches of matrices: a [B, M, K], b [B, K, N].
WICK_API Tensor baddbmm(const Tensor& x, const Tensor& a, const Tensor& b,
                        const AddmmOptions& options = {});
/// The outer product a[i] b[j]: [N], [M] -> [N, M].
WICK_API Tensor outer(const Tensor& a, const Tensor& b);
/// The Kronecker product: the block matrix of each element of a times all of b. Source: NumPy's
/// kron.
WICK_API Tensor kron(const Tensor& a, const Tensor& b);
/// The vector (cross) product along a dim of size 3; a and b broadcast.
WICK_API Tensor cross(const Tensor& a, const Tensor& b, int64_t dim = -1);
/// Sums products over dims_a[i] of a paired with dims_b[i] of b, which must have equal sizes; or
/// over the last `count` dims of a paired with the first `count` of b. Returns [a's other dims...,
/// b's other dims...].
WICK_API Tensor tensordot(const Tensor& a, const Tensor& b, const Dims& dims_a, const Dims& dims_b);
WICK_API Tensor tensordot(const Tensor& a, const Tensor& b, int64_t count = 2);

/// Einstein summation in the notation of NumPy and PyTorch: "bij,bjk->bik". Each letter names a
/// dim. A letter that occurs twice in one operand takes the diagonal; letters missing from the
/// output are summed over. "..." stands for the remaining dims, which broadcast. Without "->" the
/// output has the ellipsis, then the letters that occur once, in ASCII order. Dims of size 1
/// broadcast. Operands are contracted pairwise, in the order that frees the most elements at each
/// step. Errors: kInvalidArgument for a malformed equation; kShapeMismatch for operands that do not
/// fit it.
WICK_API Tensor einsum(std::string_view equation, const std::vector<Tensor>& operands);

}  // namespace wick
