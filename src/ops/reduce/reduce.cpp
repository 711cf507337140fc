#include "ops/reduce/reduce.h"

#include <algorithm>

#include "base/calling.h"
#include "core/launch.h"
#include "ops/elementwise/dtypes.h"
#include "ops/fused/fused.h"
#include "ops/shape/one_dim.h"
#include "ops/tape/tape.h"
#include "scalar/reduce.h"
#include "wick/abi/ops/reduce.h"
#include "wick/ops/arrange.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/compare.h"
#include "wick/ops/create.h"
#include "wick/ops/gather.h"
#include "wick/ops/scan.h"
#include "wick/ops/shape.h"
#include "wick/ops/unary.h"
#include "wick/ops/where.h"

namespace wick {

Dims reduced_dims(const char* op, const Tensor& x, const Dims& dims) {
  const int rank = std::max(1, x.rank());  // ops/shape/one_dim.h: PyTorch's rule
  Dims mask(rank, dims.empty() ? 1 : 0);
  for (const int64_t dim : dims) {
    const int d = normalize_dim(op, dim, rank);
    check(mask[d] == 0, ErrorCode::kInvalidArgument, op, "dim ", d, " is named twice");
    mask[d] = 1;
  }
  return x.rank() == 0 ? Dims() : mask;
}

Shape reduced_shape(const Shape& shape, const Dims& mask, bool keepdim) {
  Shape result;
  for (int d = 0; d < shape.size(); d++) {
    if (!mask[d])
      result.push_back(shape[d]);
    else if (keepdim)
      result.push_back(1);
  }
  return result;
}

Tensor reduced_last(const Tensor& x, const Dims& mask) {
  Dims order;
  Shape shape;
  for (int side = 0; side < 2; side++)
    for (int d = 0; d < x.rank(); d++)
      if (bool(mask[d]) == bool(side)) order.push_back(d);
  for (int d = 0; d < x.rank(); d++)
    if (!mask[d]) shape.push_back(x.shape()[d]);
  shape.push_back(reduced_count(x, mask));
  return reshape(permute(x, order), shape);
}

namespace {

/// x with the kept dims first, as a view [K..., R...] of at most kMaxRank dims; copied if
/// necessary.
View kept_first(const Tensor& x, const Dims& mask, int* kept, Tensor* copy) {
  Shape shapes[2];
  Dims strides[2];
  for (int d = 0; d < x.rank(); d++) {
    const int side = mask[d] ? 1 : 0;
    shapes[side].push_back(x.shape()[d]);
    strides[side].push_back(x.strides()[d]);
  }
  for (int side = 0; side < 2; side++) {
    Dims* one[] = {&strides[side]};
    shapes[side] = collapse(shapes[side], one);
  }
  *kept = shapes[0].size();
  Shape shape = shapes[0];
  Dims all = strides[0];
  for (int d = 0; d < shapes[1].size(); d++) {
    shape.push_back(shapes[1][d]);
    all.push_back(strides[1][d]);
  }
  if (shape.size() <= kMaxRank) return make_view(x.data(), x.dtype(), shape, all);
  *copy = make_contiguous(x.view({shape, all, x.layout().offset}));
  const int64_t rows = numel(shapes[0]), columns = numel(shapes[1]);
  *kept = rows == 1 ? 0 : 1;
  if (rows == 1) return make_view(copy->data(), x.dtype(), {columns}, {1});
  if (columns == 1) return make_view(copy->data(), x.dtype(), {rows}, {1});
  return make_view(copy->data(), x.dtype(), {rows, columns}, {columns, 1});
}

/// The result of an attempt to run a reduction kernel, off the tape.
struct Reduced {
  Tensor y;
  Declined declined;
  bool ran;
};
Reduced try_reduce(const Op& op, const Tensor& x, const Dims& mask, bool keepdim, DType dtype) {
  Reduced result{Tensor::empty(reduced_shape(x.shape(), mask, keepdim),
                               {.dtype = dtype, .device = x.device()}),
                 {},
                 false};
  Tensor copy;
  ReduceAttributes attributes{0};
  const View in = kept_first(x, mask, &attributes.kept, &copy);
  const Shape kept(std::span<const int64_t>(in.shape, size_t(attributes.kept)));
  const View out = make_view(result.y.data(), dtype, kept, contiguous_strides(kept));
  result.ran =
      try_launch(x.device(), op, {&in, 1}, {&out, 1}, attributes_of(attributes), &result.declined);
  return result;
}

Tensor reduce(const Op& op, const Tensor& x, const Dims& mask, bool keepdim, DType dtype) {
  const Reduced result = try_reduce(op, x, mask, keepdim, dtype);
  if (!result.ran) fail_unsupported(x.device(), op, x.dtype(), result.declined);
  return result.y;
}

/// Reduces with the op's kernel if the mode wants kernels and one accepts the call, else with the
/// composite.
template <class Composite>
Tensor reduce_fused(const Op& op, const Tensor& x, const Dims& mask, bool keepdim, DType dtype,
                    const Composite& composite) {
  if (wants_kernel()) {
    const Reduced result = try_reduce(op, x, mask, keepdim, dtype);
    if (result.ran) return result.y;
    if (!allows_composite())
      fail_unsupported(x.device(), op, x.dtype(), result.declined, kCompositeOff);
  }
  return composite();
}

void check_some(const char* op, const Tensor& x, const Dims& mask) {
  for (int d = 0; d < x.rank(); d++)
    check(!mask[d] || x.shape()[d] > 0, ErrorCode::kInvalidArgument, op,
          "expected at least one element in dim ", d, ", got shape ", x.shape());
}

/// Maps x so that its order is reversed: -x for floats; -1 - x for integers, which never overflows.
Tensor reverse_order(const Tensor& x) { return is_floating(x.dtype()) ? -x : -x - 1; }

/// The maximum or minimum, off the tape.
Tensor extreme(const Op& op, const Tensor& x, const Dims& mask, bool keepdim) {
  if (op == Max::op) return reduce(op, x, mask, keepdim, x.dtype());
  return reduce_fused(op, x, mask, keepdim, x.dtype(), [&] {
    return reverse_order(reduce(Max::op, reverse_order(x), mask, keepdim, x.dtype()));
  });
}

/// The indices of the winners along one dim, off the tape; keeps the dim with size 1.
Tensor arg_extreme(const Op& op, const Tensor& x, int dim) {
  Dims mask(x.rank(), 0);
  mask[dim] = 1;
  return reduce_fused(op, x, mask, true, DType::kI64, [&] {
    const Tensor rising = op == kArgmax ? x : reverse_order(x);
    Shape along(x.rank(), 1);
    along[dim] = x.size(dim);
    // The first winner has the largest negated index. If there is a NaN, it wins.
    const Tensor places =
        reshape(-arange(x.size(dim), {.dtype = DType::kI64, .device = x.device()}), along);
    const Number none = -x.size(dim);
    Tensor won = where(eq(rising, reduce(Max::op, rising, mask, true, x.dtype())), places, none);
    if (is_floating(x.dtype())) won = where(ne(x, x), places, won);
    return -reduce(Max::op, won, mask, true, DType::kI64);
  });
}

/// Scatters a gradient [..., 1, ...] to the winners along dim.
Tensor place_gradient(const Tensor& gradient, const Tensor& ids, int dim, const Shape& shape) {
  const Tensor nothing = zeros(shape, {.dtype = gradient.dtype(), .device = gradient.device()});
  return scatter_add(nothing, dim, ids, gradient);
}

/// Each element's share of the gradient: 1 / n for n elements equal to the extreme, else 0.
Tensor tie_shares(const Tensor& x, const Tensor& y, const Dims& mask) {
  const Tensor wide = spread(y, x.shape(), mask);
  Tensor ties = eq(x, wide);
  if (is_floating(x.dtype())) ties = where(ne(wide, wide), ne(x, x), ties);
  ties = cast(ties, computed_in(x.dtype()));
  return cast(ties / sum(ties, {.dims = dims_of(mask), .keepdim = true}), x.dtype());
}

/// The elements that receive the gradient: the first winner, or all that tie.
enum class Winners { kFirst, kAll };

Tensor extreme(const char* name, const Op& op, const Tensor& x, const ReduceOptions& options,
               Winners winners) {
  check_defined(name, x);
  const Dims mask = reduced_dims(name, x, options.dims);
  check_some(name, x, mask);
  if (x.dtype() == DType::kBool)
    return cast(extreme(name, op, cast(x, DType::kU8), options, winners), DType::kBool);
  const Tensor y = extreme(op, x.detach(), mask, options.keepdim);
  return record(name, y, {&x}, kKeepInput0 | kKeepOutput,
                [op, mask, winners](const RuleContext& c, std::span<Tensor> g) {
                  const Tensor x = c.input(0).detach();
                  if (winners == Winners::kAll) {
                    g[0] = spread(c.gradient, x.shape(), mask) *
                           tie_shares(x, c.output().detach(), mask);
                    return;
                  }
                  const int dim = int(dims_of(mask)[0]);
                  const Tensor ids = arg_extreme(op == Max::op ? kArgmax : kArgmin, x, dim);
                  g[0] = place_gradient(reshape(c.gradient, ids.shape()), ids, dim, x.shape());
                });
}

/// With one dim named, the first winner receives the gradient.
Winners winners_of(const Tensor& x, const ReduceOptions& options) {
  return options.dims.size() == 1 && x.rank() > 0 ? Winners::kFirst : Winners::kAll;
}

Tensor arg_extreme(const char* name, const Op& op, const Tensor& x, std::optional<int64_t> dim,
                   bool keepdim) {
  check_defined(name, x);
  if (x.dtype() == DType::kBool) return arg_extreme(name, op, cast(x, DType::kU8), dim, keepdim);
  const Tensor values = x.detach();
  const Dims mask = reduced_dims(name, x, dim ? Dims{*dim} : Dims{});
  check_some(name, x, mask);
  const bool along = dim && x.rank() > 0;
  const int d = along ? normalize_dim(name, *dim, x.rank()) : 0;
  const Tensor ids = arg_extreme(op, along ? values : reshape(values, {x.numel()}), d);
  return reshape(ids, reduced_shape(x.shape(), mask, keepdim));
}

ValuesIndices with_indices(const char* name, const Op& op, const Tensor& x, int64_t dim,
                           bool keepdim) {
  check_defined(name, x);
  if (x.rank() == 0) return with_indices(name, op, as_one_dim(x), dim, false);
  const Tensor ids = arg_extreme(name, op, x, dim, true);
  const int d = normalize_dim(name, dim, x.rank());
  const Tensor values = gather(x, d, ids);
  if (keepdim) return {values, ids};
  return {squeeze(values, d), squeeze(ids, d)};
}

/// Whether any or all elements are not 0.
Tensor truth(const char* name, const Op& op, const Tensor& x, const ReduceOptions& options) {
  check_defined(name, x);
  const Dims mask = reduced_dims(name, x, options.dims);
  const Tensor values = x.detach();
  return reduce_fused(op, values, mask, options.keepdim, DType::kBool, [&] {
    // Counts, so that an empty reduction has a result too.
    const bool any = op == Any::op;
    const Tensor hits = any ? ne(values, 0) : eq(values, 0);
    const Tensor count = reduce(Sum::op, hits, mask, options.keepdim, DType::kI64);
    return any ? ne(count, 0) : eq(count, 0);
  });
}

/// The inverse of reduced_last, for a result of the same shape.
Tensor reduced_back(const Tensor& y, const Shape& shape, const Dims& mask) {
  Dims order(shape.size(), 0);
  Shape sizes;
  int at = 0;
  for (int side = 0; side < 2; side++)
    for (int d = 0; d < shape.size(); d++)
      if (bool(mask[d]) == bool(side)) {
        sizes.push_back(shape[d]);
        order[d] = at++;
      }
  return permute(reshape(y, sizes), order);
}

/// For each element along the last dim, the product of all elements before it.
Tensor products_before(const Tensor& x) {
  const Tensor products = cumprod(x, -1);
  Shape first = x.shape();
  first[x.rank() - 1] = 1;
  const TensorOptions options{.dtype = x.dtype(), .device = x.device()};
  return cat({ones(first, options), narrow(products, -1, 0, x.size(-1) - 1)}, -1);
}

Tensor backwards(const Tensor& x) {
  const int64_t n = x.size(-1);
  return index_select(x, -1, -arange(n, {.dtype = DType::kI64, .device = x.device()}) + (n - 1));
}

/// For each element, the product of all others. It does not divide, so zeros need no special case.
Tensor products_of_others(const Tensor& x, const Dims& mask) {
  const Tensor rows = reduced_last(cast(x, computed_in(x.dtype())), mask);
  if (rows.numel() == 0) return x;
  const Tensor others = products_before(rows) * backwards(products_before(backwards(rows)));
  return reduced_back(cast(others, x.dtype()), x.shape(), mask);
}

}  // namespace

int64_t reduced_count(const Tensor& x, const Dims& mask) {
  int64_t count = 1;
  for (int d = 0; d < x.rank(); d++)
    if (mask[d]) count *= x.shape()[d];
  return count;
}

Dims dims_of(const Dims& mask) {
  Dims dims;
  for (int d = 0; d < mask.size(); d++)
    if (mask[d]) dims.push_back(d);
  return dims;
}

Tensor spread(const Tensor& reduced, const Shape& shape, const Dims& mask) {
  return broadcast_to(reshape(reduced, reduced_shape(shape, mask, true)), shape);
}

Tensor sum_to(const Tensor& gradient, const Shape& shape) {
  if (gradient.shape() == shape) return gradient;
  const int lead = gradient.rank() - shape.size();
  Dims dims;
  for (int d = 0; d < gradient.rank(); d++)
    if (d < lead || (shape[d - lead] == 1 && gradient.shape()[d] != 1)) dims.push_back(d);
  const Tensor total = dims.empty() ? gradient : sum(gradient, {.dims = dims, .keepdim = true});
  return reshape(total, shape);
}

Tensor sum(const Tensor& x, const ReduceOptions& options) {
  check_defined("sum", x);
  const Dims mask = reduced_dims("sum", x, options.dims);
  const Tensor y = reduce(Sum::op, x, mask, options.keepdim, summed_dtype(x.dtype()));
  return record("sum", y, {&x}, kKeepNothing, [mask](const RuleContext& c, std::span<Tensor> g) {
    g[0] = spread(c.gradient, c.input_shape(0), mask);
  });
}

Tensor squares_summed(const char* name, const Tensor& x, const ReduceOptions& options) {
  const Dims mask = reduced_dims(name, x, options.dims);
  const Tensor values = x.detach();
  const Tensor y = reduce_fused(SumOfSquares::op, values, mask, options.keepdim, x.dtype(),
                                [&] { return sum(values * values, options); });
  return record(name, y, {&x}, kKeepInput0, [mask](const RuleContext& c, std::span<Tensor> g) {
    g[0] = spread(c.gradient * 2, c.input_shape(0), mask) * c.input(0);
  });
}

Tensor mean(const Tensor& x, const ReduceOptions& options) {
  check_defined("mean", x);
  const Dims mask = reduced_dims("mean", x, options.dims);
  const int64_t count = reduced_count(x, mask);
  // 0 / 0 gives NaN for no elements, as documented.
  const DType dtype = is_floating(x.dtype()) ? x.dtype() : DType::kF32;
  // A sum may overflow a narrow dtype where its mean does not.
  return cast(div(sum(cast(x, computed_in(dtype)), options), double(count)), dtype);
}

Tensor max(const Tensor& x, const ReduceOptions& options) {
  check_defined("max", x);
  return extreme("max", Max::op, x, options, winners_of(x, options));
}
Tensor min(const Tensor& x, const ReduceOptions& options) {
  const Calling calling("min");
  check_defined("min", x);
  return extreme("min", Min::op, x, options, winners_of(x, options));
}
Tensor amax(const Tensor& x, const ReduceOptions& options) {
  const Calling calling("amax");
  return extreme("amax", Max::op, x, options, Winners::kAll);
}
Tensor amin(const Tensor& x, const ReduceOptions& options) {
  const Calling calling("amin");
  return extreme("amin", Min::op, x, options, Winners::kAll);
}

Tensor prod(const Tensor& x, const ReduceOptions& options) {
  check_defined("prod", x);
  const Dims mask = reduced_dims("prod", x, options.dims);
  const Tensor y = reduce(Prod::op, x.detach(), mask, options.keepdim, summed_dtype(x.dtype()));
  return record("prod", y, {&x}, kKeepInput0, [mask](const RuleContext& c, std::span<Tensor> g) {
    g[0] = spread(c.gradient, c.input_shape(0), mask) * products_of_others(c.input(0), mask);
  });
}

Tensor any(const Tensor& x, const ReduceOptions& options) {
  const Calling calling("any");
  return truth("any", Any::op, x, options);
}
Tensor all(const Tensor& x, const ReduceOptions& options) {
  const Calling calling("all");
  return truth("all", All::op, x, options);
}

Tensor argmax(const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  const Calling calling("argmax");
  return arg_extreme("argmax", kArgmax, x, dim, keepdim);
}
Tensor argmin(const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  const Calling calling("argmin");
  return arg_extreme("argmin", kArgmin, x, dim, keepdim);
}
ValuesIndices max_with_indices(const Tensor& x, int64_t dim, bool keepdim) {
  const Calling calling("max_with_indices");
  return with_indices("max_with_indices", kArgmax, x, dim, keepdim);
}
ValuesIndices min_with_indices(const Tensor& x, int64_t dim, bool keepdim) {
  const Calling calling("min_with_indices");
  return with_indices("min_with_indices", kArgmin, x, dim, keepdim);
}

}  // namespace wick
