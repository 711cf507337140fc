#include "wick/ops/contract.h"

#include <algorithm>

#include "base/calling.h"
#include "ops/elementwise/dtypes.h"
#include "wick/ops/arrange.h"
#include "wick/ops/binary.h"
#include "wick/ops/matmul.h"
#include "wick/ops/reduce.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

void check_rank(const char* op, const char* what, const Tensor& x, int rank) {
  check_defined(op, x);
  check(x.rank() == rank, ErrorCode::kShapeMismatch, op, "expected ", what, " of rank ", rank,
        ", got shape ", x.shape());
}

void check_same_shape(const char* op, const Tensor& a, const Tensor& b) {
  check(a.shape() == b.shape(), ErrorCode::kShapeMismatch, op, "shapes ", a.shape(), " and ",
        b.shape(), " differ");
}

/// beta x + alpha y.
Tensor add_scaled(const char* op, const Tensor& x, Tensor y, const AddmmOptions& options) {
  check_defined(op, x);
  check(broadcast_shapes(op, x.shape(), y.shape()) == y.shape(), ErrorCode::kShapeMismatch, op,
        "x ", x.shape(), " does not broadcast to the product's ", y.shape());
  if (options.alpha.real() != 1) y = mul(std::move(y), options.alpha);
  if (options.beta.real() == 0) return y;
  return add(std::move(y), options.beta.real() == 1 ? x : mul(x, options.beta));
}

int64_t product_of(const Shape& shape, int first, int last) {
  int64_t n = 1;
  for (int d = first; d < last; d++) n *= shape[d];
  return n;
}

}  // namespace

Tensor dot(const Tensor& a, const Tensor& b) {
  const Calling calling("dot");
  check_rank("dot", "a", a, 1);
  check_rank("dot", "b", b, 1);
  check_same_shape("dot", a, b);
  return matmul(a, b);
}

Tensor mv(const Tensor& matrix, const Tensor& vector) {
  const Calling calling("mv");
  check_rank("mv", "a matrix", matrix, 2);
  check_rank("mv", "a vector", vector, 1);
  return matmul(matrix, vector);
}

Tensor bmm(const Tensor& a, const Tensor& b) {
  const Calling calling("bmm");
  check_rank("bmm", "a", a, 3);
  check_rank("bmm", "b", b, 3);
  check(a.size(0) == b.size(0), ErrorCode::kShapeMismatch, "bmm", "batches differ: ", a.shape(),
        " @ ", b.shape());
  return matmul(a, b);
}

Tensor addmm(const Tensor& x, const Tensor& a, const Tensor& b, const AddmmOptions& options) {
  const Calling calling("addmm");
  check_rank("addmm", "a", a, 2);
  check_rank("addmm", "b", b, 2);
  return add_scaled("addmm", x, matmul(a, b), options);
}

Tensor baddbmm(const Tensor& x, const Tensor& a, const Tensor& b, const AddmmOptions& options) {
  const Calling calling("baddbmm");
  return add_scaled("baddbmm", x, bmm(a, b), options);
}

Tensor outer(const Tensor& a, const Tensor& b) {
  check_rank("outer", "a", a, 1);
  check_rank("outer", "b", b, 1);
  return mul(unsqueeze(a, 1), b);
}

Tensor kron(const Tensor& a, const Tensor& b) {
  const Calling calling("kron");
  check_defined("kron", a);
  check_defined("kron", b);
  const int rank = std::max(a.rank(), b.rank());
  const auto size_of = [rank](const Tensor& t, int d) {
    const int own = d - (rank - t.rank());
    return own < 0 ? 1 : t.shape()[own];
  };
  Shape apart_a, apart_b, shape;  // [a, 1], [1, b] and [a b] for each dim
  for (int d = 0; d < rank; d++) {
    const int64_t of_a = size_of(a, d), of_b = size_of(b, d);
    for (const int64_t size : {of_a, int64_t(1)}) apart_a.push_back(size);
    for (const int64_t size : {int64_t(1), of_b}) apart_b.push_back(size);
    shape.push_back(of_a * of_b);
  }
  return reshape(mul(reshape(a, apart_a), reshape(b, apart_b)), shape);
}

Tensor cross(const Tensor& a, const Tensor& b, int64_t dim) {
  check_defined("cross", a);
  check_defined("cross", b);
  check(a.rank() == b.rank(), ErrorCode::kShapeMismatch, "cross",
        "expected operands of one rank, got ", a.shape(), " and ", b.shape());
  const int d = normalize_dim("cross", dim, a.rank());
  check(a.shape()[d] == 3 && b.shape()[d] == 3, ErrorCode::kShapeMismatch, "cross",
        "expected size 3 in dim ", d, ", got ", a.shape(), " and ", b.shape());
  const auto next = [d](const Tensor& x, int64_t by) { return roll(x, {-by}, {d}); };
  return next(a, 1) * next(b, 2) - next(a, 2) * next(b, 1);
}

Tensor tensordot(const Tensor& a, const Tensor& b, const Dims& dims_a, const Dims& dims_b) {
  const Calling calling("tensordot");
  check_defined("tensordot", a);
  check_defined("tensordot", b);
  check(dims_a.size() == dims_b.size(), ErrorCode::kInvalidArgument, "tensordot",
        "expected as many dims of a as of b, got ", dims_a, " and ", dims_b);
  const int count = dims_a.size();
  Dims last, first;  // target positions of the summed dims
  for (int i = 0; i < count; i++) {
    check(a.size(dims_a[i]) == b.size(dims_b[i]), ErrorCode::kShapeMismatch, "tensordot", "dim ",
          dims_a[i], " of a ", a.shape(), " and dim ", dims_b[i], " of b ", b.shape(), " differ");
    last.push_back(a.rank() - count + i);
    first.push_back(i);
  }
  const Tensor left = movedim(a, dims_a, last), right = movedim(b, dims_b, first);
  const int kept = a.rank() - count;
  const int64_t m = product_of(left.shape(), 0, kept), k = product_of(right.shape(), 0, count),
                n = product_of(right.shape(), count, b.rank());
  Shape shape;
  for (int d = 0; d < kept; d++) shape.push_back(left.shape()[d]);
  for (int d = count; d < b.rank(); d++) shape.push_back(right.shape()[d]);
  return reshape(matmul(reshape(left, {m, k}), reshape(right, {k, n})), shape);
}

Tensor tensordot(const Tensor& a, const Tensor& b, int64_t count) {
  const Calling calling("tensordot");
  check_defined("tensordot", a);
  check_defined("tensordot", b);
  check(0 <= count && count <= std::min(a.rank(), b.rank()), ErrorCode::kInvalidArgument,
        "tensordot", "expected a count of 0 to ", std::min(a.rank(), b.rank()), " dims, got ",
        count);
  Dims last, first;
  for (int64_t i = 0; i < count; i++) {
    last.push_back(a.rank() - count + i);
    first.push_back(i);
  }
  return tensordot(a, b, last, first);
}

}  // namespace wick
