#include "wick/ops/sort.h"

#include <cmath>

#include "base/calling.h"
#include "ops/elementwise/dtypes.h"
#include "ops/fused/fused.h"
#include "ops/shape/one_dim.h"
#include "ops/tape/tape.h"
#include "wick/abi/ops/sort.h"
#include "wick/ops/arrange.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/compare.h"
#include "wick/ops/create.h"
#include "wick/ops/gather.h"
#include "wick/ops/scan.h"
#include "wick/ops/shape.h"
#include "wick/ops/where.h"

namespace wick {
namespace {

/// The first k sorted elements along the last dim, by kSort or kTopk.
ValuesIndices ordered(const char* name, const Op& op, const Tensor& x, int64_t k, bool descending) {
  Shape shape = x.shape();
  shape[x.rank() - 1] = k;
  const Tensor values = Tensor::empty(shape, {.dtype = x.dtype(), .device = x.device()});
  const Tensor indices = Tensor::empty(shape, {.dtype = DType::kI64, .device = x.device()});
  if (values.numel() > 0) {
    const SortAttributes attributes{descending};
    launch(op, {rows(x)}, {rows(values), rows(indices)}, attributes_of(attributes));
  }
  return {record(name, values, {&x, &indices}, kKeepInput1,
                 [](const RuleContext& c, std::span<Tensor> g) {
                   const Tensor nothing = zeros(c.input_shape(0), {.dtype = c.gradient.dtype(),
                                                                   .device = c.gradient.device()});
                   g[0] = scatter_add(nothing, -1, c.input(1), c.gradient);
                 }),
          indices};
}

/// The first k sorted elements along any dim.
ValuesIndices ordered(const char* name, const Op& op, const Tensor& x, int dim, int64_t k,
                      bool descending) {
  if (dim == x.rank() - 1) return ordered(name, op, x, k, descending);
  const ValuesIndices last = ordered(name, op, transpose(x, dim, -1), k, descending);
  return {transpose(last.values, dim, -1), transpose(last.indices, dim, -1)};
}

ValuesIndices without(const ValuesIndices& x, int dim, bool keepdim) {
  if (keepdim) return x;
  return {squeeze(x.values, dim), squeeze(x.indices, dim)};
}

/// dim in [0, rank). Errors: kInvalidArgument if the dim has no elements.
int some_dim(const char* name, const Tensor& x, int64_t dim) {
  const int d = normalize_dim(name, dim, x.rank());
  check(x.size(d) > 0, ErrorCode::kInvalidArgument, name, "expected at least one element in dim ",
        d, ", got shape ", x.shape());
  return d;
}

/// Gathers the sorted elements at ids [..., 1, ...].
ValuesIndices chosen(const ValuesIndices& sorted, const Tensor& ids, int dim) {
  return {gather(sorted.values, dim, ids), gather(sorted.indices, dim, ids)};
}

/// Whether neighbours along dim differ: [..., n - 1, ...]. NaN counts as equal to NaN.
Tensor neighbours_differ(const Tensor& x, int dim) {
  const int64_t n = x.size(dim);
  const Tensor a = narrow(x, dim, 0, n - 1), b = narrow(x, dim, 1, n - 1);
  if (!is_floating(x.dtype())) return ne(a, b);
  return logical_and(ne(a, b), logical_or(eq(a, a), eq(b, b)));
}

}  // namespace

ValuesIndices sort(const Tensor& x, int64_t dim, const SortOptions& options) {
  check_defined("sort", x);
  if (x.rank() == 0) return without_dims(sort(as_one_dim(x), dim, options));
  const int d = normalize_dim("sort", dim, x.rank());
  return ordered("sort", kSort, x, d, x.size(d), options.descending);
}

Tensor argsort(const Tensor& x, int64_t dim, const SortOptions& options) {
  check_defined("argsort", x);
  if (x.rank() == 0) return without_dims(argsort(as_one_dim(x), dim, options));
  const int d = normalize_dim("argsort", dim, x.rank());
  return ordered("argsort", kSort, x.detach(), d, x.size(d), options.descending).indices;
}

ValuesIndices topk(const Tensor& x, int64_t k, int64_t dim, const TopkOptions& options) {
  check_defined("topk", x);
  if (x.rank() == 0) {
    check(k == 1, ErrorCode::kInvalidArgument, "topk", "expected k of 1 for shape [], got ", k);
    return without_dims(topk(as_one_dim(x), k, dim, options));
  }
  const int d = normalize_dim("topk", dim, x.rank());
  check(0 <= k && k <= x.size(d), ErrorCode::kInvalidArgument, "topk", "expected k in [0, ",
        x.size(d), "], got ", k);
  return ordered("topk", kTopk, x, d, k, options.largest);
}

ValuesIndices kthvalue(const Tensor& x, int64_t k, int64_t dim, bool keepdim) {
  const Calling calling("kthvalue");
  check_defined("kthvalue", x);
  if (x.rank() == 0) return kthvalue(as_one_dim(x), k, dim);
  const int d = some_dim("kthvalue", x, dim);
  check(1 <= k && k <= x.size(d), ErrorCode::kInvalidArgument, "kthvalue", "expected k in [1, ",
        x.size(d), "], got ", k);
  const ValuesIndices first = topk(x, k, d, {.largest = false});
  return without({narrow(first.values, d, k - 1, 1), narrow(first.indices, d, k - 1, 1)}, d,
                 keepdim);
}

ValuesIndices median(const Tensor& x, int64_t dim, bool keepdim) {
  check_defined("median", x);
  if (x.rank() == 0) return median(as_one_dim(x), dim);
  const int d = some_dim("median", x, dim);
  const int64_t n = x.size(d);
  const ValuesIndices sorted = sort(x, d);
  const Tensor values = sorted.values.detach(), last = narrow(values, d, n - 1, 1);
  Tensor place = full(last.shape(), (n - 1) / 2, {.dtype = DType::kI64, .device = x.device()});
  if (is_floating(x.dtype()))  // NaNs sort last: take the first one
    place = where(ne(last, last), sum(eq(values, values), {.dims = {d}, .keepdim = true}), place);
  return without(chosen(sorted, place, d), d, keepdim);
}

ValuesIndices mode(const Tensor& x, int64_t dim, bool keepdim) {
  check_defined("mode", x);
  if (x.rank() == 0) return mode(as_one_dim(x), dim);
  const int d = some_dim("mode", x, dim);
  const int64_t n = x.size(d);
  const ValuesIndices sorted = sort(x, d);
  Shape along(x.rank(), 1), first = x.shape();
  along[d] = n;
  first[d] = 1;
  const TensorOptions ids{.dtype = DType::kI64, .device = x.device()};
  const Tensor places = reshape(arange(n, ids), along);
  // The number of equal elements before each; its maximum is at the end of the longest run.
  const Tensor starts = cat({zeros(first, ids), where(neighbours_differ(sorted.values.detach(), d),
                                                      narrow(places, d, 1, n - 1), 0)},
                            d);
  const Tensor before = places - cummax(starts, d).values;
  return without(chosen(sorted, argmax(before, d, true), d), d, keepdim);
}

Tensor quantile(const Tensor& x, double q, int64_t dim, bool keepdim) {
  check_defined("quantile", x);
  if (x.rank() == 0) return quantile(as_one_dim(x), q, dim);
  const int d = some_dim("quantile", x, dim);
  check(q >= 0 && q <= 1, ErrorCode::kInvalidArgument, "quantile", "expected q in [0, 1], got ", q);
  const DType dtype = floating(x.dtype());
  const int64_t n = x.size(d);
  const Tensor sorted = cast(sort(cast(x, dtype), d).values, computed_in(dtype));
  const double place = q * double(n - 1);
  const int64_t below = int64_t(place), above = below + 1 < n ? below + 1 : below;
  const Tensor low = narrow(sorted, d, below, 1), last = narrow(sorted, d, n - 1, 1);
  Tensor y = low;
  if (place > double(below)) {
    const Tensor high = narrow(sorted, d, above, 1);
    // The difference of equal infinities is NaN, but they enclose no gap.
    const Tensor apart = where(logical_and(eq(low, high), isinf(low)), 0, high - low);
    y = low + apart * (place - double(below));
  }
  y = cast(where(ne(last, last), last, y), dtype);
  return keepdim ? y : squeeze(y, d);
}

}  // namespace wick
