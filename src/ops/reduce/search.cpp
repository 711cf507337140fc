#include "wick/ops/search.h"

#include <algorithm>
#include <cmath>

#include "base/calling.h"
#include "core/launch.h"
#include "ops/elementwise/dtypes.h"
#include "ops/fused/fused.h"
#include "wick/abi/ops/search.h"
#include "wick/ops/arrange.h"
#include "wick/ops/create.h"
#include "wick/ops/elementwise.h"
#include "wick/ops/gather.h"
#include "wick/ops/scan.h"
#include "wick/ops/shape.h"
#include "wick/ops/sort.h"

namespace wick {
namespace {

/// The flat indices at which mask is true, in row-major order. Reads their number back from the
/// device.
Tensor places_of(const Tensor& mask) {
  const Tensor flat = make_contiguous(mask);
  const int64_t count = sum(flat).item<int64>();
  const Tensor ids = Tensor::empty({count}, {.dtype = DType::kI64, .device = mask.device()});
  if (count == 0) return ids;
  const View in = make_view(flat.data(), DType::kBool, {flat.numel()}, {1}), out = make_view(ids);
  launch(mask.device(), kNonzero, {&in, 1}, {&out, 1});
  return ids;
}

Tensor flat(const Tensor& x) { return reshape(x, {x.numel()}); }

/// The runs of equal elements in a flat x.
struct Runs {
  Tensor first;   // [M]: index of each run's first element
  Tensor number;  // [N]: number of the run each element belongs to
  Tensor counts;  // [M]
};
Runs runs_of(const Tensor& x) {
  const int64_t n = x.numel();
  const TensorOptions ids{.dtype = DType::kI64, .device = x.device()};
  if (n == 0) return {zeros({0}, ids), zeros({0}, ids), zeros({0}, ids)};
  const Tensor begins = cat({ones({1}, {.dtype = DType::kBool, .device = x.device()}),
                             ne(narrow(x, 0, 0, n - 1), narrow(x, 0, 1, n - 1))},
                            0);
  const Tensor first = places_of(begins);
  const Tensor ends = cat({narrow(first, 0, 1, first.numel() - 1), full({1}, n, ids)}, 0);
  return {first, cumsum(begins, 0) - 1, ends - first};
}

void check_searched(const char* name, const Tensor& sorted, const Tensor& values) {
  check_defined(name, sorted);
  check_defined(name, values);
  check_same_device(name, sorted, values);
  check(sorted.dtype() == values.dtype(), ErrorCode::kDTypeMismatch, name, "expected values of ",
        dtype_name(sorted.dtype()), ", got ", dtype_name(values.dtype()));
  bool good = sorted.rank() >= 1;
  if (sorted.rank() > 1) {
    good = values.rank() == sorted.rank();
    for (int d = 0; good && d < sorted.rank() - 1; d++)
      good = sorted.shape()[d] == values.shape()[d];
  }
  check(good, ErrorCode::kShapeMismatch, name,
        "expected sorted [D] or sorted [..., D] and values [..., J], got ", sorted.shape(), " and ",
        values.shape());
}

Tensor search(const char* name, const Tensor& sorted, const Tensor& values,
              const SearchOptions& options) {
  check_searched(name, sorted, values);
  const Tensor ids =
      Tensor::empty(values.shape(), {.dtype = DType::kI64, .device = values.device()});
  if (ids.numel() == 0) return ids;
  if (sorted.numel() == 0)
    return zeros(values.shape(), {.dtype = DType::kI64, .device = values.device()});
  const Tensor looked_up = sorted.rank() == 1 ? flat(values.detach()) : values.detach();
  const Tensor result = sorted.rank() == 1 ? flat(ids) : ids;
  const SearchAttributes attributes{options.right};
  launch(kSearchSorted, {rows(sorted), rows(looked_up)}, {rows(result)}, attributes_of(attributes));
  return ids;
}

}  // namespace

Tensor nonzero(const Tensor& x) {
  const Calling calling("nonzero");
  check_defined("nonzero", x);
  Tensor rest = places_of(ne(x.detach(), 0));
  const int64_t count = rest.numel();
  if (x.rank() == 0) return zeros({count, 0}, {.dtype = DType::kI64, .device = x.device()});
  std::vector<Tensor> columns(static_cast<size_t>(x.rank()));
  for (int d = x.rank(); d-- > 0;) {
    const int64_t size = x.shape()[d];
    columns[size_t(d)] = unsqueeze(d == 0 ? rest : remainder(rest, size), 1);
    if (d > 0) rest = floor_divide(rest, size);
  }
  return cat(columns, 1);
}

Tensor masked_select(const Tensor& x, const Tensor& mask) {
  check_defined("masked_select", x);
  check_defined("masked_select", mask);
  check_same_device("masked_select", x, mask);
  check(mask.dtype() == DType::kBool, ErrorCode::kDTypeMismatch, "masked_select",
        "expected a mask of bool, got ", dtype_name(mask.dtype()));
  const Shape shape = broadcast_shapes("masked_select", x.shape(), mask.shape());
  return index_select(flat(broadcast_to(x, shape)), 0, places_of(broadcast_to(mask, shape)));
}

Unique unique_consecutive(const Tensor& x) {
  const Calling calling("unique_consecutive");
  check_defined("unique_consecutive", x);
  const Tensor values = flat(x.detach());
  const Runs runs = runs_of(values);
  return {index_select(values, 0, runs.first), reshape(runs.number, x.shape()), runs.counts};
}

Unique unique(const Tensor& x) {
  const Calling calling("unique");
  check_defined("unique", x);
  const ValuesIndices sorted = sort(flat(x.detach()), 0);
  const Runs runs = runs_of(sorted.values);
  // Scatters the run numbers back to the elements' original indices, each of which occurs once.
  const Tensor nothing = zeros({x.numel()}, {.dtype = DType::kI64, .device = x.device()});
  const Tensor inverse = scatter_add(nothing, 0, sorted.indices, runs.number);
  return {index_select(sorted.values, 0, runs.first), reshape(inverse, x.shape()), runs.counts};
}

Tensor searchsorted(const Tensor& sorted, const Tensor& values, const SearchOptions& options) {
  return search("searchsorted", sorted, values, options);
}

Tensor bucketize(const Tensor& values, const Tensor& boundaries, const SearchOptions& options) {
  check_defined("bucketize", boundaries);
  check(boundaries.rank() == 1, ErrorCode::kShapeMismatch, "bucketize",
        "expected boundaries of one dim, got ", boundaries.shape());
  return search("bucketize", boundaries, values, options);
}

Tensor bincount(const Tensor& x, const Tensor& weights, int64_t minlength) {
  check_defined("bincount", x);
  check(!is_floating(x.dtype()), ErrorCode::kDTypeMismatch, "bincount", "expected integers, got ",
        dtype_name(x.dtype()));
  check(x.rank() == 1 && (!weights || weights.shape() == x.shape()), ErrorCode::kShapeMismatch,
        "bincount", "expected x [N] and weights [N], got ", x.shape(), " and ",
        weights ? weights.shape() : x.shape());
  check(minlength >= 0, ErrorCode::kInvalidArgument, "bincount", "expected minlength >= 0, got ",
        minlength);
  if (weights) check_same_device("bincount", x, weights);
  const Tensor ids = cast(x, DType::kI64);
  int64_t length = minlength;
  if (ids.numel() > 0) {
    const int64_t least = min(ids).item<int64>(), most = max(ids).item<int64>();
    check(least >= 0 && most < INT64_MAX, ErrorCode::kInvalidArgument, "bincount",
          "expected elements of at least 0, got ", least < 0 ? least : most);
    length = std::max(length, most + 1);
  }
  const DType dtype = weights ? weights.dtype() : DType::kI64;
  Tensor terms = broadcast_to(ones({}, {.dtype = DType::kI64, .device = x.device()}), x.shape());
  if (weights) terms = is_floating(dtype) ? cast(weights.detach(), DType::kF64) : weights.detach();
  const Tensor nothing = zeros({length}, {.dtype = terms.dtype(), .device = x.device()});
  return cast(index_add(nothing, 0, ids, terms), dtype);
}

Tensor histc(const Tensor& x, int64_t bins, double low, double high) {
  const Calling calling("histc");
  check_defined("histc", x);
  check(is_floating(x.dtype()), ErrorCode::kDTypeMismatch, "histc",
        "expected a floating dtype, got ", dtype_name(x.dtype()));
  const Tensor values = cast(flat(x.detach()), computed_in(x.dtype()));
  if (low == high && values.numel() > 0) {
    low = cast(min(values), DType::kF64).item<double>();
    high = cast(max(values), DType::kF64).item<double>();
  }
  check(bins > 0 && std::isfinite(low) && std::isfinite(high) && low <= high,
        ErrorCode::kInvalidArgument, "histc",
        "expected bins > 0 and a finite range min <= max, got ", bins, " and ", low, " to ", high);
  if (low == high) low -= 1, high += 1;
  const Tensor inside = logical_and(ge(values, low), le(values, high));
  const Tensor scaled = where(inside, (values - low) * double(bins) / (high - low), 0);
  const Tensor ids = minimum(cast(floor(scaled), DType::kI64), bins - 1);
  const Tensor counts = zeros({bins}, {.dtype = DType::kI64, .device = x.device()});
  return cast(index_add(counts, 0, ids, cast(inside, DType::kI64)), x.dtype());
}

}  // namespace wick
