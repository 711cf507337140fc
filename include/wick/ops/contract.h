// Products that are made of matmul and mul: dtypes and errors are as theirs.
#pragma once
#include <string_view>

#include "wick/core/number.h"
#include "wick/core/tensor.h"

namespace wick {

/// The sum of a[i] b[i]. a, b: of one dim and size. Errors, of all: kShapeMismatch.
WICK_API Tensor dot(const Tensor& a, const Tensor& b);
/// The product of a matrix [M, K] and a vector [K] -> [M].
WICK_API Tensor mv(const Tensor& matrix, const Tensor& vector);
/// a [B, M, K] times b [B, K, N] -> [B, M, N]: no dim broadcasts.
WICK_API Tensor bmm(const Tensor& a, const Tensor& b);

struct AddmmOptions {
  Number beta = 1;   // of what is added; 0: it is not looked at
  Number alpha = 1;  // of the product
};
/// beta x + alpha (a b), of matrices a [M, K], b [K, N]; x broadcasts to the product's shape.
WICK_API Tensor addmm(const Tensor& x, const Tensor& a, const Tensor& b,
                      const AddmmOptions& options = {});
/// addmm of batches of matrices: a [B, M, K], b [B, K, N].
WICK_API Tensor baddbmm(const Tensor& x, const Tensor& a, const Tensor& b,
                        const AddmmOptions& options = {});
/// The outer product: [N], [M] -> [N, M]: a[i] b[j].
WICK_API Tensor outer(const Tensor& a, const Tensor& b);
/// The Kronecker product: each element of a times all of b, as blocks. Source: NumPy's kron.
WICK_API Tensor kron(const Tensor& a, const Tensor& b);
/// The vector product along a dim of size 3 of what a and b broadcast to.
WICK_API Tensor cross(const Tensor& a, const Tensor& b, int64_t dim = -1);
/// Sums over dims_a[i] of a with dims_b[i] of b, which are of one size; or over the last `count`
/// dims of a with the first of b. Returns [the other dims of a..., those of b...].
WICK_API Tensor tensordot(const Tensor& a, const Tensor& b, const Dims& dims_a, const Dims& dims_b);
WICK_API Tensor tensordot(const Tensor& a, const Tensor& b, int64_t count = 2);

/// Einstein's summation, written as NumPy and PyTorch do: "bij,bjk->bik". A letter is a dim; twice
/// in one operand it is the diagonal; those that the output lacks are summed over. "..." stands for
/// the dims that are left, which broadcast. Without "->" the output has the ellipsis and the
/// letters that occur once, in ASCII's order. Dims of size 1 broadcast. Pairs of operands are
/// contracted in the order that frees the most elements at each step. Errors: kInvalidArgument of
/// an equation that says no sum, kShapeMismatch of operands that do not fit it.
WICK_API Tensor einsum(std::string_view equation, const std::vector<Tensor>& operands);

}  // namespace wick
