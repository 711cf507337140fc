#include "wick/ops/gather.h"

#include <limits>

#include "base/assert.h"
#include "base/calling.h"
#include "core/launch.h"
#include "ops/elementwise/dtypes.h"
#include "ops/elementwise/range.h"
#include "ops/shape/gather.h"
#include "ops/tape/tape.h"
#include "wick/abi/ops/gather.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/compare.h"
#include "wick/ops/create.h"
#include "wick/ops/shape.h"
#include "wick/ops/where.h"

namespace wick {
namespace {

/// The operands of gather or scatter_add, each as [outer, along dim, inner] with common outer and
/// inner sizes.
struct Sides {
  View x;      // [O, N, I]
  View ids;    // [O, J, I]
  View other;  // [O, J, I]: gather's output, scatter_add's src
  Tensor x_copy, ids_copy, other_copy;
};

/// Collapses the dims before `dim` and those after it, in all three operands alike. Requires
/// collapses(). x has the other operands' sizes outside dim.
Sides three_dims(int dim, const Tensor& x, const Tensor& ids, const Tensor& other) {
  Sides sides;
  const Tensor* tensors[3] = {&x, &ids, &other};
  View* views[3] = {&sides.x, &sides.ids, &sides.other};
  const int rank = other.rank();
  Shape outer, inner;
  Dims outer_strides[3], inner_strides[3];
  for (int d = 0; d < rank; d++) {
    if (d == dim) continue;
    (d < dim ? outer : inner).push_back(other.shape()[d]);
    for (int i = 0; i < 3; i++)
      (d < dim ? outer_strides : inner_strides)[i].push_back(tensors[i]->strides()[d]);
  }
  Dims* outer_pointers[3] = {&outer_strides[0], &outer_strides[1], &outer_strides[2]};
  Dims* inner_pointers[3] = {&inner_strides[0], &inner_strides[1], &inner_strides[2]};
  outer = collapse(outer, outer_pointers);
  inner = collapse(inner, inner_pointers);
  WICK_ASSERT(outer.size() <= 1 && inner.size() <= 1);
  for (int i = 0; i < 3; i++) {
    const int64_t along = tensors[i]->shape()[dim];
    *views[i] = make_view(tensors[i]->data(), tensors[i]->dtype(),
                          {outer.empty() ? 1 : outer[0], along, inner.empty() ? 1 : inner[0]},
                          {outer.empty() ? 0 : outer_strides[i][0], tensors[i]->strides()[dim],
                           inner.empty() ? 0 : inner_strides[i][0]});
  }
  return sides;
}

/// Whether the three collapse to [outer, along, inner] without a copy.
bool collapses(int dim, const Tensor& x, const Tensor& ids, const Tensor& other) {
  for (int side = 0; side < 2; side++) {
    const int from = side ? dim + 1 : 0, to = side ? other.rank() : dim;
    int previous = -1;
    for (int d = from; d < to; d++) {
      if (other.shape()[d] == 1) continue;
      if (previous >= 0)
        for (const Tensor* t : {&x, &ids, &other})
          if (t->strides()[previous] != other.shape()[d] * t->strides()[d]) return false;
      previous = d;
    }
  }
  return true;
}

/// One-dimensional ids as a view of `shape`: repeated along every dim but `dim`.
Tensor spread_ids(const Tensor& ids, int dim, const Shape& shape) {
  Dims strides(shape.size(), 0);
  strides[dim] = ids.strides()[0];
  return ids.view({shape, strides, ids.layout().offset});
}

/// x cropped to the sizes of `shape` in every dim but `dim`.
Tensor cut(const Tensor& x, int dim, const Shape& shape) {
  Layout layout = x.layout();
  for (int d = 0; d < x.rank(); d++)
    if (d != dim) layout.shape[d] = shape[d];
  return x.view(layout);
}

/// ids in memory of their own, without the inner dims that they are repeated along.
Tensor packed_ids(const Tensor& ids, int dim) {
  Layout layout = ids.layout();
  for (int d = ids.rank() - 1; d > dim && layout.strides[d] == 0; d--) layout.shape[d] = 1;
  const Tensor packed = own_copy(ids.view(layout));
  Layout repeated = packed.layout();
  for (int d = 0; d < ids.rank(); d++)
    if (layout.shape[d] != ids.shape()[d]) repeated.strides[d] = 0;
  repeated.shape = ids.shape();
  return packed.view(repeated);
}

void run(const Op& op, int dim, const Tensor& x, const Tensor& ids, const Tensor& other) {
  const Tensor source = cut(x, dim, other.shape());
  if (!collapses(dim, source, ids, other)) {
    // A launch takes longer on a card than to copy what a slice reads.
    if (!x.device().is_cpu() && dim > 1 && other.shape()[0] > 2) {
      const Tensor packed = packed_ids(ids, dim);
      if (collapses(dim, source, packed, other)) return run(op, dim, x, packed, other);
      if (op != kGather && collapses(dim, source, packed, packed))
        return run(op, dim, x, packed, own_copy(other));
    }
    // Written memory keeps its layout; the caller may have copied what is read. Loops over dims
    // that still do not collapse.
    const int last = other.rank() - 1, loop = dim == 0 ? last : 0;
    for (int64_t i = 0; i < other.shape()[loop]; i++) {
      const auto slice = [&](const Tensor& t) {
        Layout layout = t.layout();
        layout.offset += i * layout.strides[loop];
        layout.shape.erase(loop);
        layout.strides.erase(loop);
        return t.view(layout);
      };
      run(op, loop < dim ? dim - 1 : dim, slice(source), slice(ids), slice(other));
    }
    return;
  }
  const Sides sides = three_dims(dim, source, ids, other);
  if (op == kGather) {
    const View in[] = {sides.x, sides.ids};
    launch(x.device(), op, in, {&sides.other, 1});
  } else {
    const View in[] = {sides.other, sides.ids};
    launch(x.device(), op, in, {&sides.x, 1});
  }
}

/// Copies t if one copy may let the operands collapse: cheaper than a launch per slice.
Tensor settled(const Tensor& t) { return t.rank() > 3 ? make_contiguous(t) : t; }

Tensor zeros_like_input(const RuleContext& c) {
  return zeros(c.input_shape(0), {.dtype = c.gradient.dtype(), .device = c.gradient.device()});
}

/// ids broadcast to the shape of src.
Tensor ids_like(const char* op, const Tensor& ids, const Shape& shape) {
  Dims strides;
  check(broadcast_strides(ids.layout(), shape, &strides), ErrorCode::kShapeMismatch, op, "ids ",
        ids.shape(), " do not broadcast to ", shape);
  return ids.view({shape, strides, ids.layout().offset});
}

/// Checks that ids are one-dimensional. Errors: kShapeMismatch.
Tensor listed_ids(const char* op, const Tensor& x, const Tensor& ids,
                  BlockDTypes blocks = BlockDTypes::kRejected) {
  const Tensor list = checked_ids(op, x, ids, blocks);
  check(list.rank() == 1, ErrorCode::kShapeMismatch, op, "expected ids of one dim, got ",
        ids.shape());
  return list;
}

/// Checks src: x's rank and dtype, no larger than x in the other dims.
void check_src(const char* op, const Tensor& x, int dim, const Tensor& src) {
  check_defined(op, src);
  check_same_device(op, x, src);
  check(src.rank() == x.rank(), ErrorCode::kShapeMismatch, op, "expected src of rank ", x.rank(),
        ", got ", src.shape());
  for (int i = 0; i < x.rank(); i++)
    check(i == dim || src.shape()[i] <= x.shape()[i], ErrorCode::kShapeMismatch, op, "src ",
          src.shape(), " exceeds the target ", x.shape(), " in dim ", i);
  check(src.dtype() == x.dtype(), ErrorCode::kDTypeMismatch, op, "expected src of ",
        dtype_name(x.dtype()), ", got ", dtype_name(src.dtype()));
}

/// x with src written at ids, which have src's shape.
Tensor scattered(const char* op, const Tensor& x, int dim, const Tensor& ids, const Tensor& src) {
  const Tensor y = own_copy(x);
  scatter_into(kScatter, dim, y, ids, src);
  return record(
      op, y, {&x, &src, &ids}, kKeepInput2, [op, dim](const RuleContext& c, std::span<Tensor> g) {
        const Tensor places = c.input(2);
        // Overwritten elements do not contribute to the result.
        if (c.wants(0))
          g[0] = scattered(
              op, c.gradient, dim, places,
              zeros(places.shape(), {.dtype = c.gradient.dtype(), .device = c.gradient.device()}));
        if (c.wants(1)) g[1] = gather(c.gradient, dim, places);
      });
}

}  // namespace

void check_integers(const char* op, const char* what, const Tensor& x) {
  check(dispatch(x.dtype(), IntegerTypes{}, []<class>() {}), ErrorCode::kDTypeMismatch, op,
        "expected ", what, " of integers, got ", dtype_name(x.dtype()));
}

Tensor ids_as_i64(const char* op, const char* what, const Tensor& ids) {
  check_integers(op, what, ids);
  if (ids.dtype() != DType::kU64) return cast(ids, DType::kI64);
  // 2^64 - 1 would become -1, which some ops interpret as the last element.
  constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
  return where(gt(ids, kLargest), kLargest, cast(ids, DType::kI64));
}

Tensor checked_ids(const char* op, const Tensor& x, const Tensor& ids, BlockDTypes blocks) {
  check_defined(op, x, blocks);
  check_defined(op, ids);
  check_same_device(op, x, ids);
  return ids_as_i64(op, "ids", ids);
}

Tensor ids_from_end(const Tensor& ids, int64_t size) {
  return where(lt(ids, 0), where(ge(ids, -size), ids + size, ids), ids);
}

void scatter_into(const Op& op, int dim, const Tensor& target, const Tensor& ids,
                  const Tensor& src) {
  if (src.numel() > 0) run(op, dim, target, ids, src);
}

Tensor gather(const Tensor& x, int64_t dim, const Tensor& any_ids) {
  const Tensor ids = checked_ids("gather", x, any_ids);
  check(ids.rank() == x.rank(), ErrorCode::kShapeMismatch, "gather", "expected ids of rank ",
        x.rank(), ", got ", ids.shape());
  const int d = normalize_dim("gather", dim, x.rank());
  for (int i = 0; i < x.rank(); i++)
    check(i == d || ids.shape()[i] <= x.shape()[i], ErrorCode::kShapeMismatch, "gather", "ids ",
          ids.shape(), " exceed x ", x.shape(), " in dim ", i);
  const Tensor y = Tensor::empty(ids.shape(), {.dtype = x.dtype(), .device = x.device()});
  if (y.numel() > 0) run(kGather, d, settled(x), settled(ids), y);
  return record("gather", y, {&x, &ids}, kKeepInput1,
                [d](const RuleContext& c, std::span<Tensor> g) {
                  g[0] = scatter_add(zeros_like_input(c), d, c.input(1), c.gradient);
                });
}

Tensor index_select(const Tensor& x, int64_t dim, const Tensor& any_ids) {
  const Calling calling("index_select");
  const Tensor ids = listed_ids("index_select", x, any_ids, BlockDTypes::kAccepted);
  const int d = normalize_dim("index_select", dim, x.rank());
  const bool blocks = is_block(x.dtype());
  check(!blocks || d < x.rank() - 1, ErrorCode::kUnsupported, "index_select", "the last dim of ",
        dtype_name(x.dtype()), " is in blocks, which do not split");
  Shape shape = x.shape();
  shape[d] = ids.numel();
  const Tensor y = Tensor::empty(shape, {.dtype = x.dtype(), .device = x.device()});
  if (y.numel() > 0) {
    const Tensor from = blocks ? as_bytes(x) : x, to = blocks ? as_bytes(y) : y;
    run(kGather, d, settled(from), spread_ids(ids, d, to.shape()), to);
  }
  return record("index_select", y, {&x, &ids}, kKeepInput1,
                [d](const RuleContext& c, std::span<Tensor> g) {
                  g[0] = index_add(zeros_like_input(c), d, c.input(1), c.gradient);
                });
}

Tensor embedding(const Tensor& weight, const Tensor& ids) {
  const DType own = weight ? weight.dtype() : DType::kF32;
  return embedding(weight, ids, is_block(own) ? DType::kF32 : own);
}

Tensor embedding(const Tensor& weight, const Tensor& any_ids, DType dtype) {
  const Calling calling("embedding");
  const Tensor ids = checked_ids("embedding", weight, any_ids, BlockDTypes::kAccepted);
  check(weight.rank() == 2, ErrorCode::kShapeMismatch, "embedding", "expected weight [V, D], got ",
        weight.shape());
  Shape shape = ids.shape();
  shape.push_back(weight.shape()[1]);
  const Tensor rows = index_select(weight, 0, reshape(ids, {ids.numel()}));
  return reshape(cast(rows, dtype), shape);
}

Tensor index_add(const Tensor& x, int64_t dim, const Tensor& any_ids, const Tensor& src) {
  const Calling calling("index_add");
  const Tensor ids = listed_ids("index_add", x, any_ids);
  check_defined("index_add", src);
  check_same_device("index_add", x, src);
  const int d = normalize_dim("index_add", dim, x.rank());
  Shape expected = x.shape();
  expected[d] = ids.numel();
  check(src.shape() == expected, ErrorCode::kShapeMismatch, "index_add", "expected src ", expected,
        ", got ", src.shape());
  check(src.dtype() == x.dtype(), ErrorCode::kDTypeMismatch, "index_add", "expected src of ",
        dtype_name(x.dtype()), ", got ", dtype_name(src.dtype()));
  const Tensor y = own_copy(x);
  if (src.numel() > 0) run(kScatterAdd, d, y, spread_ids(ids, d, expected), settled(src));
  return record("index_add", y, {&x, &src, &ids}, kKeepInput2,
                [d](const RuleContext& c, std::span<Tensor> g) {
                  if (c.wants(0)) g[0] = c.gradient;
                  if (c.wants(1)) g[1] = index_select(c.gradient, d, c.input(2));
                });
}

Tensor scatter_add(const Tensor& x, int64_t dim, const Tensor& any_ids, const Tensor& src) {
  const Tensor ids = checked_ids("scatter_add", x, any_ids);
  check_defined("scatter_add", src);
  check_same_device("scatter_add", x, src);
  const int d = normalize_dim("scatter_add", dim, x.rank());
  check(ids.rank() == x.rank() && src.shape() == ids.shape(), ErrorCode::kShapeMismatch,
        "scatter_add", "expected ids and src of one shape and x's rank, got ids ", ids.shape(),
        ", src ", src.shape(), ", x ", x.shape());
  for (int i = 0; i < x.rank(); i++)
    check(i == d || ids.shape()[i] <= x.shape()[i], ErrorCode::kShapeMismatch, "scatter_add",
          "ids ", ids.shape(), " exceed x ", x.shape(), " in dim ", i);
  check(src.dtype() == x.dtype(), ErrorCode::kDTypeMismatch, "scatter_add", "expected src of ",
        dtype_name(x.dtype()), ", got ", dtype_name(src.dtype()));
  const Tensor y = own_copy(x);
  if (src.numel() > 0) run(kScatterAdd, d, y, settled(ids), settled(src));
  return record("scatter_add", y, {&x, &src, &ids}, kKeepInput2,
                [d](const RuleContext& c, std::span<Tensor> g) {
                  if (c.wants(0)) g[0] = c.gradient;
                  if (c.wants(1)) g[1] = gather(c.gradient, d, c.input(2));
                });
}

Tensor scatter(const Tensor& x, int64_t dim, const Tensor& any_ids, const Tensor& src) {
  const Tensor ids = checked_ids("scatter", x, any_ids);
  const int d = normalize_dim("scatter", dim, x.rank());
  check_src("scatter", x, d, src);
  return scattered("scatter", x, d, ids_like("scatter", ids, src.shape()), src);
}

Tensor index_copy(const Tensor& x, int64_t dim, const Tensor& any_ids, const Tensor& src) {
  const Tensor ids = listed_ids("index_copy", x, any_ids);
  const int d = normalize_dim("index_copy", dim, x.rank());
  check_src("index_copy", x, d, src);
  Shape expected = x.shape();
  expected[d] = ids.numel();
  check(src.shape() == expected, ErrorCode::kShapeMismatch, "index_copy", "expected src ", expected,
        ", got ", src.shape());
  return scattered("index_copy", x, d, spread_ids(ids, d, expected), src);
}

Tensor index_fill(const Tensor& x, int64_t dim, const Tensor& any_ids, Number value) {
  const Tensor ids = listed_ids("index_fill", x, any_ids);
  const int d = normalize_dim("index_fill", dim, x.rank());
  Shape shape = x.shape();
  shape[d] = ids.numel();
  check_holds("index_fill", x.dtype(), value);
  const Tensor src = full({}, value, {.dtype = x.dtype(), .device = x.device()});
  return scattered("index_fill", x, d, spread_ids(ids, d, shape), broadcast_to(src, shape));
}

Tensor take(const Tensor& x, const Tensor& any_ids) {
  const Calling calling("take");
  const Tensor ids = ids_from_end(checked_ids("take", x, any_ids), x.numel());
  return reshape(index_select(reshape(x, {x.numel()}), 0, reshape(ids, {ids.numel()})),
                 ids.shape());
}

Tensor take_along_dim(const Tensor& x, const Tensor& any_ids, int64_t dim) {
  const Calling calling("take_along_dim");
  const Tensor ids = checked_ids("take_along_dim", x, any_ids);
  check(ids.rank() == x.rank(), ErrorCode::kShapeMismatch, "take_along_dim",
        "expected ids of rank ", x.rank(), ", got ", ids.shape());
  const int d = normalize_dim("take_along_dim", dim, x.rank());
  Shape of_x = x.shape(), of_ids = ids.shape();
  of_x[d] = of_ids[d] = 1;
  Shape shape = broadcast_shapes("take_along_dim", of_x, of_ids), whole = shape;
  shape[d] = ids.shape()[d];
  whole[d] = x.shape()[d];
  return gather(broadcast_to(x, whole), d, broadcast_to(ids, shape));
}

void scatter_(Var& target, int64_t dim, const Tensor& any_ids, const Tensor& src) {
  const Calling calling("scatter_");
  check(target.defined(), ErrorCode::kInvalidArgument, "scatter_", "the target is an empty Var()");
  const Tensor y = target.tensor().detach();
  const Tensor ids = checked_ids("scatter_", y, any_ids);
  const int d = normalize_dim("scatter_", dim, y.rank());
  check_src("scatter_", y, d, src);
  if (src.numel() == 0) return;
  // The source may be a view of the target; no order of writing would be safe.
  const auto apart = [&y](const Tensor& x) {
    return x.storage() == y.storage() ? own_copy(x) : x.detach();
  };
  scatter_into(kScatter, d, y, ids_like("scatter_", apart(ids), src.shape()), apart(src));
  y.storage()->bump_version();
}

}  // namespace wick
