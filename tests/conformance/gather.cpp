// Ops that take ids: index_select, gather, embedding, index_add, scatter_add, scatter; and what
// they do with ids that are out of range.
#include <algorithm>
#include <map>
#include <numeric>
#include <stdexcept>

#include "placement.h"
#include "shapes.h"
#include "wick/abi/ops/gather.h"
#include "wick/core/var.h"
#include "wick/ops/arrange.h"
#include "wick/ops/create.h"
#include "wick/ops/gather.h"
#include "wick/ops/loss.h"
#include "wick/ops/matmul.h"
#include "wick/ops/rope.h"
#include "wick/ops/shape.h"

namespace wick::conformance {
namespace {

int dim_of(const Case& c) {
  return reference::normalize_dim(c.geometry.dims.at(0), c.geometry.operands[0].size());
}

/// x and src hold values, ids numbers below the size of x's dim.
Array make(std::size_t operand, const Case& c, Random& random, int dim) {
  const HostShape& shape = c.geometry.operands[operand];
  if (operand == 1)
    return random_ids(shape, std::max<int64_t>(1, c.geometry.operands[0][std::size_t(dim)]), random,
                      c.dtypes[1]);
  const DType dtype = c.dtypes[operand];
  if (c.values == Values::kRandom) return random_array(dtype, shape, {-4, 4}, random);
  // What is added up carries NaN and infinity through sums; what is only read may be anything.
  return c.geometry.operands.size() == 3 ? sprinkled_array(dtype, shape, {-4, 4}, random)
                                         : special_array(dtype, shape, operand, random);
}

Row common(const char* op, const std::vector<DType>& dtypes, std::size_t operands) {
  Row row;
  row.op = op;
  row.make = [](std::size_t operand, const Case& c, Random& random) {
    return make(operand, c, random, dim_of(c));
  };
  for (const DType dtype : dtypes) {
    row.dtypes.push_back({dtype, DType::kI64});
    if (operands == 3) row.dtypes.back().push_back(dtype);
  }
  for (const DType ids : kIds) {
    row.dtypes.push_back({DType::kF32, ids});
    if (operands == 3) row.dtypes.back().push_back(DType::kF32);
  }
  row.differentiable = operands == 3 ? std::vector<std::size_t>{0, 2} : std::vector<std::size_t>{0};
  row.kernels = [adds = operands == 3](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{adds ? kScatterAdd : kGather, d[0]}};
  };
  return row;
}

Row index_select_row() {
  Row row = common("index_select", kStored, 2);
  row.run = [](std::vector<Tensor> x, const Case& c) {
    return index_select(x[0], c.geometry.dims[0], x[1]);
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    return reference::index_select(x[0], c.geometry.dims[0], x[1]);
  };
  row.geometries = {{{{5}, {1}}, {0}},
                    {{{5, 3}, {7}}, {0}},
                    {{{5, 3}, {4}}, {1}},
                    {{{2, 3, 4}, {6}}, {-2}},
                    {{{3, 5}, {0}}, {0}},
                    {{{3, 0}, {2}}, {0}},
                    {{{0, 3}, {0}}, {0}},
                    {{{1025}, {33}}, {0}},
                    {{{2, 3, 1, 2, 2, 3, 2, 1, 2, 2}, {3}}, {4}},
                    {{{300, 100}, {700}}, {0}},
                    {{{70, 900}, {1025}}, {1}}};
  row.long_geometries = {{{{500, 211}, {331}}, {0}}, {{{100003}, {40009}}, {0}}};
  row.bench = Geometry{{{32000, 512}, {2048}}, {0}};
  return row;
}

Row gather_row() {
  Row row = common("gather", kStored, 2);
  row.run = [](std::vector<Tensor> x, const Case& c) {
    return gather(x[0], c.geometry.dims[0], x[1]);
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    return reference::gather(x[0], c.geometry.dims[0], x[1]);
  };
  row.geometries = {{{{5}, {7}}, {0}},
                    {{{5, 3}, {2, 3}}, {0}},
                    {{{5, 3}, {5, 7}}, {1}},
                    {{{5, 6}, {3, 2}}, {0}},
                    {{{2, 3, 4}, {2, 5, 3}}, {-2}},
                    {{{3, 4, 2, 5}, {2, 4, 2, 3}}, {1}},
                    {{{3, 5}, {0, 5}}, {0}},
                    {{{33, 31}, {33, 1}}, {1}},
                    {{{205, 5}, {205, 5}}, {0}},
                    {{{300, 100}, {300, 70}}, {1}}};
  row.long_geometries = {{{{307, 331}, {307, 211}}, {1}}, {{{331, 307}, {211, 307}}, {0}}};
  row.bench = Geometry{{{4096, 512}, {4096, 512}}, {1}};
  return row;
}

Row embedding_row() {
  Row row = common("embedding", kAll, 2);
  row.make = [](std::size_t operand, const Case& c, Random& random) {
    return make(operand, c, random, 0);
  };
  row.run = [](std::vector<Tensor> x, const Case&) { return embedding(x[0], x[1]); };
  row.reference = [](const std::vector<Array>& x, const Case&) {
    return reference::embedding(x[0], x[1]);
  };
  row.geometries = {{{{10, 8}, {2, 3}}}, {{{10, 8}, {}}}, {{{50, 33}, {7}}},
                    {{{5, 3}, {0}}},     {{{4, 0}, {3}}}, {{{1000, 64}, {5, 60}}}};
  row.long_geometries = {{{{1000, 101}, {7, 61}}}};
  row.bench = Geometry{{{32000, 512}, {2048}}};
  return row;
}

/// Sums in an order that may change: compared within c of what is accumulated in, however ids
/// repeat.
Row adding(const char* op) {
  Row row = common(op, kNumeric, 3);
  row.unordered = true;
  row.tolerance = sums(2, 1);
  row.loose = kHoldsInAnyOrder;
  return row;
}

Row index_add_row() {
  Row row = adding("index_add");
  row.run = [](std::vector<Tensor> x, const Case& c) {
    return index_add(x[0], c.geometry.dims[0], x[1], x[2]);
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    return reference::index_add(x[0], c.geometry.dims[0], x[1], x[2]);
  };
  row.geometries = {{{{5}, {9}, {9}}, {0}},
                    {{{5, 3}, {7}, {7, 3}}, {0}},
                    {{{5, 3}, {4}, {5, 4}}, {1}},
                    {{{2, 3, 4}, {6}, {2, 6, 4}}, {-2}},
                    {{{3, 5}, {0}, {0, 5}}, {0}},
                    {{{3, 0}, {2}, {2, 0}}, {0}},
                    {{{33, 31}, {64}, {64, 31}}, {0}},
                    {{{100, 70}, {300}, {300, 70}}, {0}}};
  row.long_geometries = {{{{331, 307}, {401}, {401, 307}}, {0}},
                         {{{10007}, {100003}, {100003}}, {0}},
                         {{{11, 9001}, {10007}, {11, 10007}}, {1}}};
  row.bench = Geometry{{{32000, 128}, {2048}, {2048, 128}}, {0}};
  return row;
}

Row scatter_add_row() {
  Row row = adding("scatter_add");
  row.run = [](std::vector<Tensor> x, const Case& c) {
    return scatter_add(x[0], c.geometry.dims[0], x[1], x[2]);
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    return reference::scatter_add(x[0], c.geometry.dims[0], x[1], x[2]);
  };
  row.geometries = {{{{5}, {7}, {7}}, {0}},
                    {{{5, 3}, {2, 3}, {2, 3}}, {0}},
                    {{{5, 3}, {5, 7}, {5, 7}}, {1}},
                    {{{5, 6}, {3, 2}, {3, 2}}, {0}},
                    {{{2, 3, 4}, {2, 5, 3}, {2, 5, 3}}, {-2}},
                    {{{3, 4, 2, 5}, {2, 4, 2, 3}, {2, 4, 2, 3}}, {1}},
                    {{{3, 5}, {0, 5}, {0, 5}}, {0}},
                    {{{205, 5}, {205, 5}, {205, 5}}, {0}},
                    {{{300, 10}, {300, 50}, {300, 50}}, {1}}};
  row.long_geometries = {{{{307, 331}, {307, 401}, {307, 401}}, {1}},
                         {{{331, 307}, {401, 307}, {401, 307}}, {0}}};
  row.bench = Geometry{{{1024, 512}, {1024, 512}, {1024, 512}}, {1}};
  return row;
}

/// Ids that are different along the dim of ids that src's dim stands for: what is set is
/// determined.
Array different_ids(const Case& c, Random& random) {
  const HostShape& shape = c.geometry.operands[1];
  const int along = dim_of(c) - int(c.geometry.operands[2].size() - shape.size());
  const int64_t limit = c.geometry.operands[0][std::size_t(dim_of(c))];
  std::map<Index, std::vector<int64_t>> lines;  // what is left to choose from
  return reference::build(DType::kI64, shape, [&](Index index) {
    index[std::size_t(along)] = 0;
    std::vector<int64_t>& left = lines[index];
    if (left.empty()) {
      left.resize(std::size_t(limit));
      std::iota(left.begin(), left.end(), 0);
    }
    std::swap(left[std::size_t(random.below(int64_t(left.size())))], left.back());
    const int64_t id = left.back();
    left.pop_back();
    return Real(id);
  });
}

Row scatter_row() {
  Row row = common("scatter", kStored, 3);
  row.make = [](std::size_t operand, const Case& c, Random& random) {
    if (operand == 1) return different_ids(c, random);
    const HostShape& shape = c.geometry.operands[operand];
    return c.values == Values::kRandom ? random_array(c.dtypes[0], shape, {-4, 4}, random)
                                       : special_array(c.dtypes[0], shape, operand, random);
  };
  row.run = [](std::vector<Tensor> x, const Case& c) {
    return scatter(x[0], c.geometry.dims[0], x[1], x[2]);
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    return reference::scatter(x[0], c.geometry.dims[0], x[1], x[2]);
  };
  // Ids of src's shape, and such as repeat: those of a cache's positions.
  row.geometries = {{{{5}, {5}, {5}}, {0}},
                    {{{5, 3}, {2, 1}, {2, 3}}, {0}},
                    {{{5, 3}, {3}, {4, 3}}, {-1}},
                    {{{2, 6, 4}, {2, 3, 2}, {2, 3, 2}}, {1}},
                    {{{2, 6, 4}, {3, 1}, {2, 3, 4}}, {1}},
                    {{{3, 5}, {0, 5}, {0, 5}}, {0}},
                    {{{2, 2, 9, 4}, {2, 1, 3, 1}, {2, 2, 3, 4}}, {2}},
                    {{{3, 9, 2, 4}, {3, 1, 1, 1}, {3, 1, 2, 4}}, {1}},
                    {{{205, 5}, {200, 5}, {200, 5}}, {0}},
                    {{{300, 10}, {300, 7}, {300, 7}}, {1}},
                    {{{4, 300, 40}, {4, 70, 1}, {4, 70, 40}}, {1}}};
  row.distinct = {1};
  row.signed_zero = true;
  row.long_geometries = {{{{307, 331}, {307, 211}, {307, 211}}, {1}},
                         {{{331, 307}, {211, 1}, {211, 307}}, {0}}};
  row.bench = Geometry{{{8, 8, 4096, 64}, {8, 1, 512, 1}, {8, 8, 512, 64}}, {2}};
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kScatter, d[0]}};
  };
  return row;
}

/// Equal ids: the last one stays. Few of a column, more, and so few for many targets that they are
/// found by hashing; ids that repeat along a dim.
Row scatter_equal_row() {
  Row row = scatter_row();
  row.op = "scatter of equal ids";
  row.make = [](std::size_t operand, const Case& c, Random& random) {
    const HostShape& shape = c.geometry.operands[operand];
    if (operand != 1) return random_array(c.dtypes[0], shape, {-100, 100}, random);
    const int64_t limit = c.geometry.operands[0][std::size_t(dim_of(c))];
    // Some of all targets, or three that lie together.
    Array ids = random_ids(shape, random.below(2) ? limit : std::min<int64_t>(3, limit), random,
                           c.dtypes[1]);
    return ids;
  };
  row.geometries = {{{{5}, {9}, {9}}, {0}},
                    {{{5}, {40}, {40}}, {0}},
                    {{{5, 3}, {2, 1}, {2, 3}}, {0}},
                    {{{7, 3}, {64, 3}, {64, 3}}, {0}},
                    {{{7, 3}, {64, 1}, {64, 3}}, {0}},
                    {{{2, 6, 4}, {2, 50, 3}, {2, 50, 3}}, {1}},
                    {{{2, 6, 4}, {50, 1}, {2, 50, 4}}, {1}},
                    {{{900, 8}, {70, 1}, {70, 8}}, {0}},
                    {{{2, 700, 3}, {2, 40, 3}, {2, 40, 3}}, {1}},
                    {{{300, 10}, {300, 40}, {300, 40}}, {1}}};
  row.long_geometries = {{{{100003}, {10007}, {10007}}, {0}},
                         {{{307, 331}, {307, 611}, {307, 611}}, {1}}};
  row.differentiable = {};
  return row;
}

/// scatter in the memory of a Var.
Row scatter_in_place_row() {
  Row row = scatter_row();
  row.op = "scatter_";
  row.run = [](std::vector<Tensor> x, const Case& c) {
    Var target(x[0], false);
    scatter_(target, c.geometry.dims[0], x[1], x[2]);
    return target.tensor();
  };
  row.differentiable = {};
  return row;
}

/// scatter with ids of one dim, which are different ones.
Row index_copy_row() {
  Row row = scatter_row();
  row.op = "index_copy";
  row.run = [](std::vector<Tensor> x, const Case& c) {
    return index_copy(x[0], c.geometry.dims[0], x[1], x[2]);
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    Array ids = x[1];
    ids.shape.resize(std::size_t(int(x[0].shape.size()) - dim_of(c)), 1);
    return reference::scatter(x[0], c.geometry.dims[0], ids, x[2]);
  };
  row.make = [](std::size_t operand, const Case& c, Random& random) {
    if (operand != 1)
      return random_array(c.dtypes[0], c.geometry.operands[operand], {-4, 4}, random);
    Case one_dim = c;
    one_dim.geometry.operands = {{c.geometry.operands[0][std::size_t(dim_of(c))]},
                                 c.geometry.operands[1],
                                 c.geometry.operands[1]};
    one_dim.geometry.dims = {0};
    return different_ids(one_dim, random);
  };
  row.long_geometries = {{{{331, 307}, {211}, {211, 307}}, {0}},
                         {{{307, 331}, {211}, {307, 211}}, {1}}};
  row.geometries = {{{{5}, {3}, {3}}, {0}},
                    {{{5, 3}, {2}, {2, 3}}, {0}},
                    {{{2, 6, 3}, {4}, {2, 4, 3}}, {1}},
                    {{{3, 5}, {0}, {3, 0}}, {-1}},
                    {{{30, 70}, {20}, {20, 70}}, {0}}};
  return row;
}

Row index_fill_row() {
  Row row = common("index_fill", kAll, 2);
  row.run = [](std::vector<Tensor> x, const Case& c) {
    return index_fill(x[0], c.geometry.dims[0], x[1], 1);
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    Array ids = x[1];
    ids.shape.resize(std::size_t(int(x[0].shape.size()) - dim_of(c)), 1);
    HostShape shape = x[0].shape;
    shape[std::size_t(dim_of(c))] = int64_t(x[1].values.size());
    const Array ones = reference::build(x[0].dtype, shape, [](const Index&) { return Real(1); });
    return reference::scatter(x[0], c.geometry.dims[0], ids, ones);
  };
  row.geometries = {
      {{{5}, {3}}, {0}}, {{{5, 3}, {2}}, {1}}, {{{2, 6, 3}, {4}}, {-2}}, {{{3, 5}, {0}}, {0}}};
  row.kernels = [](const std::vector<DType>& d) {
    return std::vector<KernelQuestion>{{kScatter, d[0]}};
  };
  return row;
}

/// take reads all of x as one dim; every second id counts from the end.
Row take_row() {
  Row row = common("take", kAll, 2);
  row.make = [](std::size_t operand, const Case& c, Random& random) {
    const HostShape& shape = c.geometry.operands[operand];
    if (operand == 0) return random_array(c.dtypes[0], shape, {-4, 4}, random);
    const int64_t size = reference::numel(c.geometry.operands[0]);
    Array ids = random_ids(shape, std::max<int64_t>(1, size), random, c.dtypes[1]);
    for (std::size_t i = 1; is_signed(ids.dtype) && i < ids.values.size(); i += 2)
      ids.values[i] -= Real(size);
    return ids;
  };
  row.run = [](std::vector<Tensor> x, const Case&) { return take(x[0], x[1]); };
  row.reference = [](const std::vector<Array>& x, const Case&) {
    return Result{
        reference::build(x[0].dtype, x[1].shape,
                         [&](const Index& index) {
                           const Real id =
                               x[1].values[std::size_t(reference::position(x[1].shape, index))];
                           const Real size = Real(x[0].values.size());
                           return x[0].values[std::size_t(id < 0 ? id + size : id)];
                         }),
        {},
        0};
  };
  row.geometries = {{{{5}, {3}}}, {{{2, 3}, {2, 2}}}, {{{2, 3, 4}, {}}}, {{{3}, {0, 2}}}};
  return row;
}

/// Ids and x repeat along dims where they have size 1.
Row take_along_dim_row() {
  Row row = common("take_along_dim", kAll, 2);
  row.run = [](std::vector<Tensor> x, const Case& c) {
    return take_along_dim(x[0], x[1], c.geometry.dims[0]);
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    HostShape whole = x[0].shape, shape = x[1].shape;
    for (std::size_t d = 0; d < whole.size(); d++)
      if (int(d) != dim_of(c)) whole[d] = shape[d] = std::max(whole[d], shape[d]);
    return reference::gather(reference::expand(x[0], whole), c.geometry.dims[0],
                             reference::expand(x[1], shape));
  };
  row.geometries = {{{{5}, {3}}, {0}},
                    {{{1, 5}, {3, 2}}, {1}},
                    {{{4, 3}, {2, 1}}, {0}},
                    {{{2, 1, 4}, {1, 3, 4}}, {-1}}};
  return row;
}

// ---- ids out of range

using Call = std::function<Tensor(const Tensor& x, const Tensor& ids)>;

constexpr int64_t kRows = 6, kColumns = 40;

/// f() or the synchronization after it must fail with kOutOfRange, and the next one must not: the
/// error is handed out once.
void expect_out_of_range(const Device& device, int64_t id, const std::function<void()>& f) {
  const std::string of = "id " + std::to_string(id) + ": ";
  try {
    f();
    device.synchronize();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kOutOfRange)
      throw std::runtime_error(of + "expected kOutOfRange, got " + error.what());
    if (std::string(error.what()).find(std::to_string(id)) == std::string::npos) {
      throw std::runtime_error(of + "the error does not name it: " + error.what());
    }
    device.synchronize();
    return;
  }
  throw std::runtime_error(of + "no error");
}

void expect_unchanged(const Tensor& buffer, const Array& before, const char* what) {
  const std::vector<unsigned char> bytes = read_bytes(buffer);
  if (bytes != bytes_of(before)) throw std::runtime_error(std::string(what) + " was written to");
}

/// Tries ids that are wrong by a little and by a lot, one among good ones. x lies in a larger
/// buffer; memory of the size of the result is held before and after it, and none of that may
/// change either.
void check_out_of_range(const Device& device, const Call& call) {
  Random random(7);
  const HostShape shape = {kRows, kColumns};
  const Placement placed =
      place(random_array(DType::kF32, shape, {-1, 1}, random), OperandLayout::kSliced, random);
  const Tensor buffer = upload(placed.buffer, device);
  const Tensor x = placed.view(buffer);
  constexpr int64_t kLowest = std::numeric_limits<int64_t>::min(),
                    kLargest = std::numeric_limits<int64_t>::max();
  for (const int64_t bad :
       {int64_t(-1), -kRows, kRows, kRows + 5, int64_t(1) << 32, kLowest, kLargest}) {
    std::vector<Tensor> neighbours;
    const Array canary{DType::kF32, shape, std::vector<Real>(std::size_t(kRows * kColumns), 0.5)};
    for (int i = 0; i < 8; i++) neighbours.push_back(upload(canary, device));
    neighbours.erase(neighbours.begin() + 4);  // the result may well get this place
    const Tensor ids = upload({DType::kI64, {4}, {0, 3, Real(bad), 1}}, device);
    expect_out_of_range(device, bad, [&] { call(x, ids); });
    expect_unchanged(buffer, placed.buffer, "x or what is around it");
    for (const Tensor& neighbour : neighbours)
      expect_unchanged(neighbour, canary, "memory beside the result");
    call(x, upload({DType::kI64, {4}, {0, 3, 2, 1}}, device));
    device.synchronize();
  }
}

/// ids [4] as ids of gather over whole rows: [4, columns].
Tensor over_columns(const Tensor& ids) { return broadcast_to(unsqueeze(ids, 1), {4, kColumns}); }

Tensor source(const Tensor& x) {
  return ones({4, kColumns}, {.dtype = x.dtype(), .device = x.device()});
}

Tensor scattered(const Tensor& x, const Tensor& ids) {
  Var target(x, false);
  scatter_(target, 0, over_columns(ids), source(x));
  return target.tensor();
}

/// rope_thd with x as the tables of kRows positions.
Tensor rotated(const Tensor& x, const Tensor& ids) {
  return rope_thd(ones({2, 2, 3, 2 * kColumns}, {.device = x.device()}), x, x,
                  reshape(ids, {2, 2}));
}

/// x as logits of kRows classes.
Tensor loss_of_columns(const Tensor& x, const Tensor& ids) {
  return cross_entropy(transpose(narrow(x, 1, 7, 4)), ids);
}

/// x as the weights of kRows experts of one row each.
Tensor by_expert(const Tensor& x, const Tensor& ids) {
  return expert_linear(ones({ids.numel(), kColumns}, {.device = x.device()}), unsqueeze(x, 1),
                       unsqueeze(ids, 1));
}

}  // namespace

template <>
std::vector<Row> rows_of<"gather">() {
  return {index_select_row(), gather_row(),     embedding_row(),     index_add_row(),
          scatter_add_row(),  scatter_row(),    scatter_equal_row(), scatter_in_place_row(),
          index_copy_row(),   index_fill_row(), take_row(),          take_along_dim_row()};
}

template <>
std::vector<Behaviour> behaviours_of<"gather">() {
  const char* const name = "an id out of range is an error and touches nothing";
  const std::pair<const char*, Call> calls[] = {
      {"index_select", [](const Tensor& x, const Tensor& ids) { return index_select(x, 0, ids); }},
      {"gather",
       [](const Tensor& x, const Tensor& ids) { return gather(x, 0, over_columns(ids)); }},
      {"embedding", [](const Tensor& x, const Tensor& ids) { return embedding(x, ids); }},
      {"index_add",
       [](const Tensor& x, const Tensor& ids) { return index_add(x, 0, ids, source(x)); }},
      {"scatter_add",
       [](const Tensor& x, const Tensor& ids) {
         return scatter_add(x, 0, over_columns(ids), source(x));
       }},
      {"scatter", [](const Tensor& x,
                     const Tensor& ids) { return scatter(x, 0, over_columns(ids), source(x)); }},
      {"scatter_", scattered},
      {"index_copy",
       [](const Tensor& x, const Tensor& ids) { return index_copy(x, 0, ids, source(x)); }},
      {"index_fill", [](const Tensor& x, const Tensor& ids) { return index_fill(x, 0, ids, 1); }},
      {"rope_thd", rotated},
      {"cross_entropy", loss_of_columns},
      {"expert_linear", by_expert},
      {"expert_linear of many rows",
       [](const Tensor& x, const Tensor& ids) { return by_expert(x, repeat(ids, {8})); }},
  };
  std::vector<Behaviour> result;
  for (const auto& [op, call] : calls) {
    result.push_back(
        {op, name, [call = call](const Device& device) { check_out_of_range(device, call); }});
  }
  return result;
}

}  // namespace wick::conformance
