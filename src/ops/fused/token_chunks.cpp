#include "ops/fused/token_chunks.h"

#include <algorithm>
#include <limits>

#include "ops/elementwise/dtypes.h"
#include "ops/fused/fused.h"
#include "ops/shape/gather.h"
#include "scalar/round_up.h"
#include "wick/ops/arrange.h"
#include "wick/ops/create.h"
#include "wick/ops/elementwise.h"
#include "wick/ops/scan.h"
#include "wick/ops/shape.h"

namespace wick {

TokenChunks::TokenChunks(int64_t tokens, int64_t chunk, const Tensor& lengths)
    : tokens_(tokens), length_(std::min(tokens, chunk)), count_(ceil_div(tokens, length_)) {
  if (!lengths) return;
  const Tensor token = arange(tokens, {.dtype = DType::kI64, .device = lengths.device()});
  is_read_ = reshape(lt(token, unsqueeze(lengths, 1)), {lengths.size(0), tokens, 1, 1});
}

Tensor TokenChunks::split(const Tensor& x) const {
  const int64_t b = x.size(0), h = x.size(2), d = x.size(3), rest = count_ * length_ - tokens_;
  Tensor all = is_read_ ? where(is_read_, x, 0) : x;
  if (rest > 0)
    all = cat({all, zeros({b, rest, h, d}, {.dtype = x.dtype(), .device = x.device()})}, 1);
  return transpose(reshape(all, {b, count_, length_, h, d}), 2, 3);
}

Tensor TokenChunks::join(const Tensor& chunks) const {
  const int64_t b = chunks.size(0), h = chunks.size(2), d = chunks.size(4);
  return narrow(reshape(transpose(chunks, 2, 3), {b, count_ * length_, h, d}), 1, 0, tokens_);
}

Tensor decays_between(const Tensor& logarithms) {
  const int64_t n = logarithms.size(-1);
  const auto below = [&](int64_t diagonal) {
    return tril_mask(n, n, diagonal, logarithms.device());
  };
  const Tensor sums = cumsum(where(below(-1), unsqueeze(logarithms, -1), 0), -2);
  return exp(where(below(0), sums, -std::numeric_limits<double>::infinity()));
}

Tensor checked_either(const char* op, const char* what, const Tensor& x, const Shape& shape,
                      const Tensor& like) {
  check_defined(op, x);
  check_same_device(op, like, x);
  check(is_floating(x.dtype()), ErrorCode::kDTypeMismatch, op, "expected ", what,
        " of a floating dtype, got ", dtype_name(x.dtype()));
  check(x.shape() == shape, ErrorCode::kShapeMismatch, op, "expected ", what, " ", shape, ", got ",
        x.shape());
  return x.dtype() == like.dtype() ? x : cast(x, accumulator_of(like.dtype()));
}

Tensor checked_operand(const char* op, const char* what, const Tensor& x, const Shape& shape,
                       const Tensor& like) {
  return cast(checked_either(op, what, x, shape, like), accumulator_of(like.dtype()));
}

Tensor as_rows(const std::vector<Tensor>& vectors) {
  std::vector<Tensor> all;
  for (const Tensor& x : vectors)
    if (x) all.push_back(x);
  const Tensor& first = all.front();
  const int64_t n = first.size(0), count = int64_t(all.size());
  const int64_t gap = count > 1 ? all[1].layout().offset - first.layout().offset : n;
  bool is_even = gap >= n;
  for (int64_t i = 0; i < count; i++) {
    const Tensor& x = all[size_t(i)];
    is_even = is_even && x.storage() == first.storage() && (n <= 1 || x.strides()[0] == 1) &&
              x.layout().offset == first.layout().offset + i * gap;
  }
  if (!is_even) return stack(all, 0);
  Layout layout = first.layout();
  layout.shape = {count, n};
  layout.strides = {gap, 1};
  return Tensor(first.storage(), layout, first.dtype());
}

Tensor checked_lengths(const char* op, const Tensor& lengths, const Tensor& like) {
  if (!lengths) return {};
  check_same_device(op, like, lengths);
  check(lengths.shape() == Shape({like.size(0)}), ErrorCode::kShapeMismatch, op,
        "expected lengths ", Shape({like.size(0)}), ", one of each batch, got ", lengths.shape());
  return ids_as_i64(op, "lengths", lengths);
}

void check_chunk(const char* op, int64_t chunk) {
  check(chunk >= 1, ErrorCode::kInvalidArgument, op, "expected a chunk of at least 1, got ", chunk);
}

}  // namespace wick
