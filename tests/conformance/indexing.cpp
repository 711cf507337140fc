// x[...] as NumPy and PyTorch have it: patterns of numbers, slices, new axes, ids and masks, read
// and written. The reference knows each pattern as lists of positions.
#include <algorithm>

#include "reference/arrange.h"
#include "shapes.h"
#include "values.h"
#include "wick/abi/ops/gather.h"
#include "wick/core/var.h"
#include "wick/ops/indexing.h"

namespace wick::conformance {
namespace {

using reference::IndexItem;
using Kind = IndexItem::Kind;

IndexItem at(int64_t i) { return {Kind::kNumber, {i}, {}}; }
IndexItem list(std::vector<int64_t> positions) { return {Kind::kList, std::move(positions), {}}; }
const IndexItem kNew = {Kind::kNewAxis, {}, {}};
IndexItem ids(HostShape shape, std::vector<Real> values) {
  return {Kind::kIds, {}, {DType::kI64, std::move(shape), std::move(values)}};
}

/// Ids and masks as tensors on the device where x is.
struct Ids {
  HostShape shape;
  std::vector<int64> values;
  DType dtype = DType::kI64;
};
struct Item {
  Item(wick::Index index) : index(index) {}
  template <std::integral T>
  Item(T i) : index(i) {}
  Item(Slice slice) : index(slice) {}
  Item(Ellipsis all) : index(all) {}
  Item(NewAxis axis) : index(axis) {}
  Item(Ids ids) : index(0), ids(std::move(ids)) {}

  wick::Index on(const Device& device) const {
    if (!ids) return index;
    const Dims shape(std::span<const int64_t>(ids->shape));
    return Tensor::from(ids->values, shape).to(ids->dtype).to(device);
  }
  wick::Index index;
  std::optional<Ids> ids;
};

struct Pattern {
  HostShape x;
  std::vector<Item> items;
  std::vector<IndexItem> reference;
};

Ids mask(HostShape shape, std::vector<int64> values) {
  return {std::move(shape), std::move(values), DType::kBool};
}
Ids ids_of(DType dtype, HostShape shape, std::vector<int64> values) {
  return {std::move(shape), std::move(values), dtype};
}
std::vector<int64_t> all(int64_t size) {
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < size; i++) positions.push_back(i);
  return positions;
}

const std::vector<Pattern>& patterns() {
  static const std::vector<Pattern> list_of = {
      {{5}, {2}, {at(2)}},
      {{5}, {-5}, {at(0)}},
      {{5}, {Slice{1, 4}}, {list({1, 2, 3})}},
      {{5}, {Slice{.step = 2}}, {list({0, 2, 4})}},
      {{5}, {Slice{.step = -1}}, {list({4, 3, 2, 1, 0})}},
      {{6}, {Slice{-2, {}, -2}}, {list({4, 2, 0})}},
      {{5}, {Slice{4, 1}}, {list({})}},
      {{5}, {Slice{-100, 100, 3}}, {list({0, 3})}},
      {{5}, {Slice{100, -100, -3}}, {list({4, 1})}},
      {{}, {}, {}},
      {{}, {kNewAxis}, {kNew}},
      {{3, 4}, {1}, {at(1), list(all(4))}},
      {{3, 4}, {kEllipsis, 1}, {list(all(3)), at(1)}},
      {{3, 4}, {kNewAxis, Slice{1}, kNewAxis, -1}, {kNew, list({1, 2}), kNew, at(3)}},
      {{2, 3, 4},
       {kEllipsis, Slice{{}, {}, -1}, kNewAxis},
       {list(all(2)), list(all(3)), list({3, 2, 1, 0}), kNew}},
      {{5}, {ids_of(DType::kI64, {3}, {4, 0, -2})}, {ids({3}, {4, 0, -2})}},
      {{5}, {ids_of(DType::kU8, {}, {3})}, {ids({}, {3})}},
      {{5, 3},
       {ids_of(DType::kI32, {2, 2}, {0, 2, 4, 1})},
       {ids({2, 2}, {0, 2, 4, 1}), list(all(3))}},
      {{3, 5},
       {Slice{0, 2}, ids_of(DType::kI8, {3}, {-1, 0, 2})},
       {list({0, 1}), ids({3}, {-1, 0, 2})}},
      {{4, 5},
       {ids_of(DType::kI64, {3}, {0, 3, -2}), ids_of(DType::kI64, {3}, {1, -5, 4})},
       {ids({3}, {0, 3, -2}), ids({3}, {1, -5, 4})}},
      {{4, 5},
       {ids_of(DType::kI64, {2, 1}, {3, 1}), ids_of(DType::kU16, {3}, {1, 0, 4})},
       {ids({2, 1}, {3, 1}), ids({3}, {1, 0, 4})}},
      {{3, 4, 2},
       {ids_of(DType::kI64, {2}, {0, 2}), Slice{}, ids_of(DType::kI64, {2}, {1, 0})},
       {ids({2}, {0, 2}), list(all(4)), ids({2}, {1, 0})}},
      {{3, 4, 2},
       {ids_of(DType::kI64, {2}, {0, 2}), 1, ids_of(DType::kI64, {2}, {1, 0})},
       {ids({2}, {0, 2}), at(1), ids({2}, {1, 0})}},
      {{2, 3, 4},
       {Slice{}, ids_of(DType::kI64, {2}, {2, 0}), ids_of(DType::kI64, {2}, {3, 1})},
       {list(all(2)), ids({2}, {2, 0}), ids({2}, {3, 1})}},
      {{2, 3, 4},
       {Slice{}, ids_of(DType::kI64, {2}, {2, 0}), Slice{{}, {}, -2}},
       {list(all(2)), ids({2}, {2, 0}), list({3, 1})}},
      {{2, 3, 4},
       {ids_of(DType::kI64, {2}, {1, 0}), kNewAxis, ids_of(DType::kI64, {2}, {2, 1})},
       {ids({2}, {1, 0}), kNew, ids({2}, {2, 1}), list(all(4))}},
      {{5}, {mask({5}, {1, 0, 0, 1, 1})}, {ids({3}, {0, 3, 4})}},
      {{3, 2}, {mask({3}, {0, 1, 1})}, {ids({2}, {1, 2}), list(all(2))}},
      {{3, 2}, {mask({3, 2}, {0, 1, 1, 0, 0, 1})}, {ids({3}, {0, 1, 2}), ids({3}, {1, 0, 1})}},
      {{2, 3, 2},
       {1, mask({3, 2}, {0, 1, 1, 0, 0, 1})},
       {at(1), ids({3}, {0, 1, 2}), ids({3}, {1, 0, 1})}},
      {{2, 3, 2}, {Slice{}, mask({3}, {0, 0, 0})}, {list(all(2)), ids({0}, {}), list(all(2))}},
      {{3, 4},
       {mask({3}, {1, 0, 1}), ids_of(DType::kI64, {2}, {3, -4})},
       {ids({2}, {0, 2}), ids({2}, {3, -4})}},
      {{0, 3}, {Slice{}, ids_of(DType::kI64, {2}, {0, 2})}, {list({}), ids({2}, {0, 2})}},
      {{2, 2, 2, 2, 2, 2, 2, 2, 3},
       {kEllipsis, ids_of(DType::kI64, {2}, {2, 0})},
       {list(all(2)), list(all(2)), list(all(2)), list(all(2)), list(all(2)), list(all(2)),
        list(all(2)), list(all(2)), ids({2}, {2, 0})}},
      {{40, 50},
       {Slice{3, -2, 5}, ids_of(DType::kI64, {4}, {49, 0, 7, -1 - 25})},
       {list({3, 8, 13, 18, 23, 28, 33}), ids({4}, {49, 0, 7, 24})}},
  };
  return list_of;
}

const Pattern& pattern_of(const Case& c) { return patterns()[std::size_t(c.geometry.dims[0])]; }

std::vector<wick::Index> items_of(const Pattern& pattern, const Device& device) {
  std::vector<wick::Index> items;
  for (const Item& item : pattern.items) items.push_back(item.on(device));
  return items;
}

Row index_row() {
  Row row;
  row.op = "index";
  row.run = [](std::vector<Tensor> x, const Case& c) {
    return x[0].index(items_of(pattern_of(c), x[0].device()));
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    const reference::Indexed read = reference::indexed(x[0].shape, pattern_of(c).reference);
    Array y{x[0].dtype, read.shape, {}};
    for (const int64_t p : read.positions) y.values.push_back(x[0].values[std::size_t(p)]);
    return Result{y, {}, 0};
  };
  for (const DType dtype : kAll) row.dtypes.push_back({dtype});
  for (std::size_t i = 0; i < patterns().size(); i++)
    row.geometries.push_back({{patterns()[i].x}, {int64_t(i)}});
  row.signed_zero = true;
  row.differentiable = {0};
  return row;
}

/// Written where the pattern reads: a value of the shape that is read, or one number for all.
Row put_row(const char* op, bool accumulate) {
  Row row;
  row.op = op;
  row.run = [accumulate](std::vector<Tensor> x, const Case& c) {
    return index_put(x[0], items_of(pattern_of(c), x[0].device()), x[1],
                     {.accumulate = accumulate});
  };
  row.reference = [accumulate](const std::vector<Array>& x, const Case& c) {
    const reference::Indexed read = reference::indexed(x[0].shape, pattern_of(c).reference);
    const Array value = reference::expand(x[1], read.shape);
    Result result{x[0], {}, 0};
    for (const Real v : x[0].values) result.magnitude.push_back(std::fabs(v));
    for (std::size_t i = 0; i < value.values.size(); i++) {
      const std::size_t p = std::size_t(read.positions[i]);
      Real& y = result.array.values[p];
      y = accumulate ? y + value.values[i] : value.values[i];
      if (!is_floating(x[0].dtype)) y = reference::wrap(x[0].dtype, Wide(y));
      result.magnitude[p] += std::fabs(value.values[i]);
    }
    result.terms = accumulate ? 2 : 0;
    if (!accumulate) result.magnitude.clear();
    return result;
  };
  for (const DType dtype : accumulate ? kNumeric : kAll) row.dtypes.push_back({dtype});
  for (std::size_t i = 0; i < patterns().size(); i++) {
    const HostShape shape = reference::indexed(patterns()[i].x, patterns()[i].reference).shape;
    row.geometries.push_back({{patterns()[i].x, i % 4 == 3 ? HostShape{} : shape}, {int64_t(i)}});
  }
  row.domain = {-4, 4};
  row.special = !accumulate;
  if (accumulate) row.tolerance = sums(2, 1);
  row.unordered = accumulate;
  row.signed_zero = !accumulate;
  row.differentiable = {0, 1};
  row.kernels = [accumulate](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{accumulate ? kScatterAdd : kScatter, d[0]}};
  };
  return row;
}

/// index_put in the memory of a Var.
Row put_in_place_row() {
  Row row = put_row("index_put_", false);
  row.run = [](std::vector<Tensor> x, const Case& c) {
    Var target(x[0], false);
    index_put_(target, items_of(pattern_of(c), x[0].device()), x[1]);
    return target.tensor();
  };
  row.differentiable = {};
  return row;
}

/// The geometry's dims: dim, start, stop, step; the reference writes each position.
Row slice_row(const char* op, Tensor (*run)(const Tensor&, const Tensor&, int64_t, const Slice&)) {
  Row row;
  row.op = op;
  row.run = [run](std::vector<Tensor> x, const Case& c) {
    const std::vector<int64_t>& o = c.geometry.dims;
    return run(x[0], x[1], o[0], {o[1], o[2], o[3]});
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    const std::vector<int64_t>& o = c.geometry.dims;
    std::vector<IndexItem> items;
    for (const int64_t size : x[0].shape) items.push_back(list(all(size)));
    std::vector<int64_t> positions;
    for (int64_t i = o[1]; i < o[2]; i += o[3]) positions.push_back(i);
    items[std::size_t(o[0])] = list(positions);
    const reference::Indexed read = reference::indexed(x[0].shape, items);
    Array y = x[0];
    for (std::size_t i = 0; i < read.positions.size(); i++)
      y.values[std::size_t(read.positions[i])] = x[1].values[i];
    return Result{y, {}, 0};
  };
  for (const DType dtype : kAll) row.dtypes.push_back({dtype});
  row.geometries = {{{{5}, {2}}, {0, 1, 3, 1}},
                    {{{5, 3}, {2, 3}}, {0, 1, 5, 2}},
                    {{{2, 6, 2}, {2, 3, 2}}, {1, 0, 6, 2}},
                    {{{3, 4}, {3, 0}}, {1, 2, 2, 1}},
                    {{{40, 30}, {40, 7}}, {1, 11, 18, 1}}};
  row.signed_zero = true;
  row.differentiable = {0, 1};
  return row;
}

}  // namespace

template <>
std::vector<Row> rows_of<"indexing">() {
  return {index_row(),
          put_row("index_put", false),
          put_row("index_put accumulating", true),
          put_in_place_row(),
          slice_row("slice_scatter", slice_scatter),
          slice_row("slice_assign",
                    [](const Tensor& x, const Tensor& src, int64_t dim, const Slice& slice) {
                      std::vector<Slice> slices(std::size_t(dim + 1));
                      slices.back() = slice;
                      return slice_assign(x, slices, src);
                    })};
}

}  // namespace wick::conformance
