#include "wick/ops/indexing.h"

#include <algorithm>

#include "base/assert.h"
#include "base/calling.h"
#include "core/launch.h"
#include "ops/elementwise/dtypes.h"
#include "ops/reduce/reduce.h"
#include "ops/shape/gather.h"
#include "ops/shape/view.h"
#include "ops/tape/tape.h"
#include "wick/abi/ops/gather.h"
#include "wick/ops/arrange.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/compare.h"
#include "wick/ops/create.h"
#include "wick/ops/gather.h"
#include "wick/ops/search.h"
#include "wick/ops/shape.h"
#include "wick/ops/where.h"

namespace wick {
namespace {

/// An index expression split into two steps: a strided view, then ids.
struct Plan {
  Tensor view;              // x after integers, slices and new axes
  Dims flipped;             // dims of the view whose slice has a negative step
  Dims dims;                // dims of the view indexed by ids, ascending
  std::vector<Tensor> ids;  // i64, one per entry of dims; negative ids already mapped
};

/// A slice of a dim of known size, in ascending order.
struct Range {
  int64_t start, count, step;
  bool down;
};

Range range_of(const Slice& slice, int64_t size) {
  const int64_t step = slice.step.value_or(1);
  check(step != 0, ErrorCode::kInvalidArgument, "index", "expected a step other than 0, got 0");
  const bool down = step < 0;
  const int64_t low = down ? -1 : 0, high = down ? size - 1 : size;
  const auto within = [&](std::optional<int64_t> at, int64_t otherwise) {
    if (!at) return otherwise;
    return std::clamp(*at < 0 ? *at + size : *at, low, high);
  };
  const int64_t start = within(slice.start, down ? high : low),
                stop = within(slice.stop, down ? low : high);
  const int64_t distance = down ? start - stop : stop - start;
  if (distance <= 0) return {0, 0, 1, down};
  // A step beyond the end selects one element, however large it is.
  const int64_t apart = down ? -std::max(step, -size - 1) : std::min(step, size + 1);
  const int64_t count = (distance - 1) / apart + 1;
  return {down ? start - (count - 1) * apart : start, count, apart, down};
}

int dims_of(const Index& index) {
  const auto& item = index.item();
  if (const Tensor* ids = std::get_if<Tensor>(&item)) {
    check_defined("index", *ids);
    return ids->dtype() == DType::kBool ? ids->rank() : 1;
  }
  return std::holds_alternative<Ellipsis>(item) || std::holds_alternative<NewAxis>(item) ? 0 : 1;
}

class Planner {
 public:
  explicit Planner(const Tensor& x) { plan_.view = x; }

  Plan run(const std::vector<Index>& items) {
    int named = 0, ellipses = 0;
    for (const Index& index : items) {
      named += dims_of(index);
      ellipses += std::holds_alternative<Ellipsis>(index.item());
    }
    const int rank = plan_.view.rank();
    check(named <= rank, ErrorCode::kInvalidArgument, "index", "expected indices for at most ",
          rank, " dims of shape ", plan_.view.shape(), ", got ", named);
    check(ellipses <= 1, ErrorCode::kInvalidArgument, "index",
          "expected at most one ellipsis, got ", ellipses);
    rest_ = rank - named;
    for (const Index& index : items)
      std::visit([&](const auto& item) { take(item); }, index.item());
    return std::move(plan_);
  }

 private:
  void take(int64_t at) {
    const int64_t size = plan_.view.shape()[dim_];
    check(-size <= at && at < size, ErrorCode::kOutOfRange, "index", "expected an index in [",
          -size, ", ", size, "), got ", at);
    plan_.view = select(plan_.view, dim_, at);
  }
  void take(const Slice& slice) {
    const Range range = range_of(slice, plan_.view.shape()[dim_]);
    if (range.count != plan_.view.shape()[dim_])
      plan_.view = part_of("index", plan_.view, [d = dim_, range](Layout layout) {
        if (range.count > 0) layout.offset += range.start * layout.strides[d];
        layout.shape[d] = range.count;
        layout.strides[d] *= range.step;
        return layout;
      });
    if (range.down && range.count > 1) plan_.flipped.push_back(dim_);
    dim_++;
  }
  void take(Ellipsis) { dim_ += rest_; }
  void take(NewAxis) { plan_.view = unsqueeze(plan_.view, dim_++); }
  void take(const Tensor& ids) {
    check_same_device("index", plan_.view, ids);
    if (ids.dtype() == DType::kBool) return take_mask(ids);
    plan_.ids.push_back(ids_from_end(checked_ids("index", plan_.view, ids, BlockDTypes::kAccepted),
                                     plan_.view.shape()[dim_]));
    plan_.dims.push_back(dim_++);
  }
  /// A mask becomes the ids of its true elements, and its dims of x are merged into one.
  void take_mask(const Tensor& mask) {
    const int last = dim_ + mask.rank();
    for (int d = dim_; d < last; d++)
      check(mask.shape()[d - dim_] == plan_.view.shape()[d], ErrorCode::kShapeMismatch, "index",
            "a mask ", mask.shape(), " does not fit dims ", dim_, " to ", last - 1, " of ",
            plan_.view.shape());
    plan_.view =
        mask.rank() == 0 ? unsqueeze(plan_.view, dim_) : flatten(plan_.view, dim_, last - 1);
    plan_.ids.push_back(reshape(nonzero(reshape(mask, {mask.numel()})), {-1}));
    plan_.dims.push_back(dim_++);
  }

  Plan plan_;
  int dim_ = 0;   // dim of the view that the next index applies to
  int rest_ = 0;  // number of dims an ellipsis stands for
};

/// The order of the view's dims in which the indexed dims are adjacent.
struct Order {
  explicit Order(const Plan& plan) {
    const Dims& dims = plan.dims;
    const bool together = dims[dims.size() - 1] - dims[0] == dims.size() - 1;
    first = together ? int(dims[0]) : 0;
    Dims kept;
    for (int d = 0; d < plan.view.rank(); d++)
      if (std::find(dims.begin(), dims.end(), d) == dims.end()) kept.push_back(d);
    for (int d = 0; d <= kept.size(); d++) {
      for (int i = 0; d == first && i < dims.size(); i++) permutation.push_back(dims[i]);
      if (d < kept.size()) permutation.push_back(kept[d]);
    }
  }
  int first;  // position of the first indexed dim
  Dims permutation;
};

Shape shape_of_ids(const Plan& plan) {
  Shape shape;
  for (const Tensor& ids : plan.ids) shape = broadcast_shapes("index", shape, ids.shape());
  return shape;
}

/// On the CPU, an out-of-range id throws at once, with the id in the message.
void check_on_host(const Tensor& ids, int64_t dim, int64_t size) {
  if (!ids.device().is_cpu()) return;
  const std::vector<int64> all = ids.to_vector<int64>();
  for (size_t k = 0; k < all.size(); k++)
    check(0 <= all[k] && all[k] < size, ErrorCode::kOutOfRange, "index", "id ", all[k],
          " at position ", k, " of the ids of dim ", dim, " is outside [", -size, ", ", size, ")");
}

Tensor either(const Tensor& a, const Tensor& b) { return where(a, a, b); }

/// Combines the ids of several dims into ids of the merged dim; -1 where one is out of range.
Tensor joined_ids(const Plan& plan, const Shape& shape) {
  int64_t stride = 1;
  Tensor joined, outside;
  for (size_t i = plan.ids.size(); i-- > 0;) {
    const int64_t dim = plan.dims[int(i)], size = plan.view.shape()[int(dim)];
    const Tensor& ids = plan.ids[i];
    check_on_host(ids, dim, size);
    const Tensor wrong = either(lt(ids, 0), ge(ids, size));
    joined = joined ? joined + ids * stride : ids;
    outside = outside ? either(outside, wrong) : wrong;
    stride *= size;
  }
  return broadcast_to(where(outside, -1, joined), shape);
}

/// The ids for the merged dim. Those of a single dim are returned as they are, since the op that
/// takes them checks them.
Tensor ids_in_place(const Plan& plan, const Shape& shape) {
  return plan.ids.size() == 1 ? plan.ids[0] : joined_ids(plan, shape);
}

/// shape with dim `at` replaced by the dims of `to`.
Shape with_dims(const Shape& shape, int at, const Shape& to) {
  Shape result;
  for (int d = 0; d < shape.size(); d++) {
    for (int i = 0; d == at && i < to.size(); i++) result.push_back(to[i]);
    if (d != at) result.push_back(shape[d]);
  }
  return result;
}

Tensor read(const Plan& plan) {
  const Tensor view = plan.flipped.empty() ? plan.view : flip(plan.view, plan.flipped);
  if (plan.ids.empty()) return view;
  const Order order(plan);
  const int last = order.first + plan.dims.size() - 1;
  const Tensor x = flatten(permute(view, order.permutation), order.first, last);
  const Shape shape = shape_of_ids(plan);
  const Tensor ids = ids_in_place(plan, shape);
  const Tensor y = index_select(x, order.first, reshape(ids, {ids.numel()}));
  return reshape(y, with_dims(x.shape(), order.first, shape));
}

/// The index in the view's storage of each element that read returns; -1 for an out-of-range id.
Tensor places(const Plan& plan, const Order& order, const Shape& shape_of_ids) {
  const Layout& layout = plan.view.layout();
  const TensorOptions options{.dtype = DType::kI64, .device = plan.view.device()};
  const int count = shape_of_ids.size(), kept = plan.view.rank() - plan.dims.size();
  Tensor total = full({}, layout.offset, options);
  for (int i = 0; i < plan.dims.size(); i++) {
    Shape shape = plan.ids[size_t(i)].shape();
    for (int d = order.first; d < kept; d++) shape.push_back(1);
    total = total + reshape(plan.ids[size_t(i)], shape) * layout.strides[int(plan.dims[i])];
  }
  int at = 0;  // dim of the result
  for (int i = 0; i < order.permutation.size(); i++) {
    if (i == order.first) {
      at += count;
      i += plan.dims.size() - 1;
      continue;
    }
    const int d = int(order.permutation[i]);
    const bool down = std::find(plan.flipped.begin(), plan.flipped.end(), d) != plan.flipped.end();
    const int64_t size = layout.shape[d], stride = layout.strides[d];
    Shape shape(count + kept - at, 1);
    shape[0] = size;
    total = total +
            reshape(down ? arange((size - 1) * stride, -1, -std::max<int64_t>(1, stride), options)
                         : arange(size, options) * stride,
                    shape);
    at++;
  }
  Tensor joined = joined_ids(plan, shape_of_ids);
  for (int d = order.first; d < kept; d++) joined = unsqueeze(joined, -1);
  return where(lt(joined, 0), joined, total);
}

/// Writes value into the memory of target, which is contiguous.
void write(const Tensor& target, const std::vector<Index>& items, const Tensor& any_value,
           bool accumulate) {
  const Plan plan = Planner(target).run(items);
  WICK_ASSERT(plan.view.storage() == target.storage());
  const Tensor value = cast(any_value, plan.view.dtype());
  if (plan.ids.empty()) {
    const Tensor whole = broadcast_to(value, plan.view.shape());
    const Tensor src = plan.flipped.empty() ? whole : flip(whole, plan.flipped);
    if (src.numel() > 0) copy_elements(accumulate ? plan.view + src : src, plan.view);
    return;
  }
  const Order order(plan);
  const Tensor permuted = permute(plan.view, order.permutation);
  const Shape of_ids = shape_of_ids(plan);
  const int last = order.first + plan.dims.size() - 1;
  Shape flat = flatten(permuted, order.first, last).shape();
  const Tensor whole = broadcast_to(value, with_dims(flat, order.first, of_ids));
  const Op& op = accumulate ? kScatterAdd : kScatter;
  Dims strides;
  if (plan.flipped.empty() && reshape_strides(permuted.layout(), flat, &strides)) {
    const Tensor ids = ids_in_place(plan, of_ids);
    const Tensor rows = permuted.view({flat, strides, permuted.layout().offset});
    flat[order.first] = ids.numel();
    Shape along(flat.size(), 1);
    along[order.first] = ids.numel();
    return scatter_into(op, order.first, rows, broadcast_to(reshape(ids, along), flat),
                        reshape(whole, flat));
  }
  const int64_t n = whole.numel(),
                all = plan.view.storage()->bytes() / dtype_size(plan.view.dtype());
  const Tensor at = broadcast_to(places(plan, order, of_ids), whole.shape());
  scatter_into(op, 0, plan.view.view(Layout::contiguous({all})), reshape(at, {n}),
               reshape(whole, {n}));
}

Tensor put(const char* op, const Tensor& x, const std::vector<Index>& items, const Tensor& value,
           bool accumulate) {
  const Calling calling(op);
  check_defined(op, x);
  check_defined(op, value);
  check_same_device(op, x, value);
  const Tensor y = off_tape([&] {
    const Tensor y = own_copy(x);
    write(y, items, value.detach(), accumulate);
    return y;
  });
  return record(op, y, {&x, &value}, kKeepNothing,
                [op, items, accumulate](const RuleContext& c, std::span<Tensor> g) {
                  if (c.wants(0)) {
                    const Tensor zero =
                        full({}, 0, {.dtype = c.gradient.dtype(), .device = c.gradient.device()});
                    g[0] = accumulate ? c.gradient : put(op, c.gradient, items, zero, false);
                  }
                  if (c.wants(1))
                    g[1] =
                        cast(sum_to(index(c.gradient, items), c.input_shape(1)), c.input_dtype(1));
                });
}

}  // namespace

Tensor index(const Tensor& x, const std::vector<Index>& items) {
  const Calling calling("index");
  check_defined("index", x, BlockDTypes::kAccepted);
  return read(Planner(x).run(items));
}

Tensor Tensor::index(const std::vector<Index>& items) const { return wick::index(*this, items); }

Tensor index_put(const Tensor& x, const std::vector<Index>& items, const Tensor& value,
                 const IndexPutOptions& options) {
  const Calling calling("index_put");
  return put("index_put", x, items, value, options.accumulate);
}

void index_put_(Var& target, const std::vector<Index>& items, const Tensor& value,
                const IndexPutOptions& options) {
  const Calling calling("index_put_");
  check(target.defined(), ErrorCode::kInvalidArgument, "index_put_",
        "the target is an empty Var()");
  check_defined("index_put_", target.tensor());
  check_defined("index_put_", value);
  check_same_device("index_put_", target.tensor(), value);
  const NoGrad off;
  // value may be a view of the target's memory.
  const bool shared = value.storage() == target.tensor().storage();
  write(target.tensor().detach(), items, shared ? own_copy(value) : value.detach(),
        options.accumulate);
  target.tensor().storage()->bump_version();
}

void index_put_(Var& target, const std::vector<Index>& items, Number value) {
  const Calling calling("index_put_");
  check(target.defined(), ErrorCode::kInvalidArgument, "index_put_",
        "the target is an empty Var()");
  const Tensor& y = target.tensor();
  index_put_(target, items, full({}, value, {.dtype = y.dtype(), .device = y.device()}));
}

Tensor slice_assign(const Tensor& x, const std::vector<Slice>& slices, const Tensor& src) {
  const Calling calling("slice_assign");
  check_defined("slice_assign", x);
  check_defined("slice_assign", src);
  check(int64_t(slices.size()) <= x.rank(), ErrorCode::kInvalidArgument, "slice_assign",
        "expected at most ", x.rank(), " slices, got ", slices.size());
  Shape expected = x.shape();
  for (size_t d = 0; d < slices.size(); d++)
    expected[int(d)] = range_of(slices[d], expected[int(d)]).count;
  check(src.shape() == expected, ErrorCode::kShapeMismatch, "slice_assign", "expected src ",
        expected, ", got ", src.shape());
  check(src.dtype() == x.dtype(), ErrorCode::kDTypeMismatch, "slice_assign", "expected src of ",
        dtype_name(x.dtype()), ", got ", dtype_name(src.dtype()));
  return put("slice_assign", x, std::vector<Index>(slices.begin(), slices.end()), src, false);
}

Tensor slice_scatter(const Tensor& x, const Tensor& src, int64_t dim, const Slice& slice) {
  const Calling calling("slice_scatter");
  check_defined("slice_scatter", x);
  std::vector<Slice> slices(size_t(normalize_dim("slice_scatter", dim, x.rank())));
  slices.push_back(slice);
  return slice_assign(x, slices, src);
}

}  // namespace wick
