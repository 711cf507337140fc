// Ops that write into a Var while an operand looks at what they write over. The geometry's option
// says which part of the target the operand is; it is of its own when apart, and not looked at
// otherwise.
#include <algorithm>
#include <stdexcept>

#include "shapes.h"
#include "values.h"
#include "wick/ops/arrange.h"
#include "wick/ops/gather.h"
#include "wick/ops/indexing.h"
#include "wick/ops/inplace.h"
#include "wick/ops/shape.h"

namespace wick::conformance {
namespace {

enum Overlap : int64_t { kApart, kItself, kTransposed, kLastRow, kLastColumn, kDiagonal };

/// The operand, given the target and what the operand is when apart.
Tensor operand_of(const Tensor& target, const Tensor& apart, Overlap overlap) {
  switch (overlap) {
    case kItself:
      return target.detach();
    case kTransposed:
      return transpose(target.detach());
    case kLastRow:
      return narrow(target.detach(), 0, target.size(0) - 1, 1);
    case kLastColumn:
      return narrow(target.detach(), 1, target.size(1) - 1, 1);
    case kDiagonal:
      return diagonal(target.detach());
    default:
      return apart;
  }
}
/// Its values, repeated to the target's shape.
Array operand_of(const Array& target, const Array& apart, Overlap overlap) {
  const HostShape& shape = target.shape;
  return reference::build(target.dtype, shape, [&](const Index& at) {
    const Index from = overlap == kTransposed   ? Index{at[1], at[0]}
                       : overlap == kLastRow    ? Index{shape[0] - 1, at[1]}
                       : overlap == kLastColumn ? Index{at[0], shape[1] - 1}
                       : overlap == kDiagonal   ? Index{at[1], at[1]}
                                                : at;
    const Array& x = overlap == kApart ? apart : target;
    return x.values[std::size_t(reference::position(shape, from))];
  });
}
Overlap overlap_of(const Case& c) { return Overlap(c.geometry.dims.at(0)); }

std::vector<Geometry> overlapping() {
  std::vector<Geometry> result;
  for (const int64_t n : {1, 2, 7, 33, 130})
    for (const Overlap overlap : {kApart, kItself, kTransposed, kLastRow, kLastColumn, kDiagonal})
      result.push_back({{{n, n}, {n, n}}, {overlap}});
  for (const Overlap overlap : {kItself, kLastRow, kLastColumn})
    result.push_back({{{5, 205}, {5, 205}}, {overlap}});
  return result;
}

struct InPlace {
  const char* name;
  void (*write)(Var& target, const Tensor& other);
  const char* function;  // the row of what the op does when it writes elsewhere
};
const std::vector<InPlace> kOfTwo = {{"add_", add_, "add"},
                                     {"sub_", sub_, "sub"},
                                     {"mul_", mul_, "mul"},
                                     {"div_", div_, "div"},
                                     {"pow_", pow_, "pow"},
                                     {"maximum_", maximum_, "maximum"},
                                     {"minimum_", minimum_, "minimum"}};

Row common(const char* name) {
  Row row;
  row.op = name;
  row.geometries = overlapping();
  row.distinct = {0, 1};
  return row;
}

Row row_of(const InPlace& op, const std::vector<Row>& functions) {
  const auto found = std::find_if(functions.begin(), functions.end(),
                                  [&](const Row& row) { return row.op == op.function; });
  if (found == functions.end()) throw std::logic_error(std::string("no row ") + op.function);
  Row row = common(op.name);
  row.run = [write = op.write](std::vector<Tensor> x, const Case& c) {
    Var target(x[0], false);
    write(target, operand_of(target.tensor(), x[1], overlap_of(c)));
    return target.tensor();
  };
  row.reference = [function = found->reference](const std::vector<Array>& x, const Case& c) {
    return function({x[0], operand_of(x[0], x[1], overlap_of(c))}, c);
  };
  row.loop = "in place";
  for (const DType dtype : kFloats) row.dtypes.push_back({dtype, dtype});
  row.domain = found->domain;
  row.tolerance = found->tolerance;
  // A wider bound beyond the domain is of an element's own operands, which here stand elsewhere.
  row.special = !found->edge;
  row.kernels = found->kernels;
  return row;
}

Row copy_row() {
  Row row = common("copy_");
  row.run = [](std::vector<Tensor> x, const Case& c) {
    Var target(x[0], false);
    copy_(target, operand_of(target.tensor(), x[1], overlap_of(c)));
    return target.tensor();
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    return Result{operand_of(x[0], x[1], overlap_of(c)), {}, 0};
  };
  for (const DType dtype : kAll) row.dtypes.push_back({dtype, dtype});
  row.signed_zero = true;
  return row;
}

Row lerp_row() {
  Row row = common("lerp_");
  row.run = [](std::vector<Tensor> x, const Case& c) {
    Var target(x[0], false);
    lerp_(target, operand_of(target.tensor(), x[1], overlap_of(c)), 0.25);
    return target.tensor();
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    const Array end = operand_of(x[0], x[1], overlap_of(c));
    Result y{x[0], {}, 0};
    for (std::size_t i = 0; i < end.values.size(); i++) {
      const Real apart = end.values[i] - x[0].values[i];
      y.array.values[i] += apart / 4;
      y.magnitude.push_back(std::fabs(x[0].values[i]) + std::fabs(apart) / 4);
    }
    return y;
  };
  for (const DType dtype : kFloats) row.dtypes.push_back({dtype, dtype});
  row.domain = {-4, 4};
  row.tolerance = condition(1.5);
  row.special = false;
  return row;
}

/// A mask that is the target itself, or a part of it.
Row masked_fill_row() {
  Row row = common("masked_fill_");
  row.run = [](std::vector<Tensor> x, const Case& c) {
    Var target(x[0], false);
    masked_fill_(target, operand_of(target.tensor(), x[1], overlap_of(c)), true);
    return target.tensor();
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    const Array mask = operand_of(x[0], x[1], overlap_of(c));
    Result y{x[0], {}, 0};
    for (std::size_t i = 0; i < mask.values.size(); i++)
      if (mask.values[i] != 0) y.array.values[i] = 1;
    return y;
  };
  row.dtypes = {{DType::kBool, DType::kBool}};
  return row;
}

/// Rows written in another order: ids are a permutation, what is written looks at the target.
Row permuting_row(const char* name, void (*write)(Var& target, const Tensor& ids, const Tensor&)) {
  Row row = common(name);
  row.run = [write](std::vector<Tensor> x, const Case& c) {
    Var target(x[0], false);
    write(target, x[2], operand_of(target.tensor(), x[1], overlap_of(c)));
    return target.tensor();
  };
  row.reference = [](const std::vector<Array>& x, const Case& c) {
    const Array from = operand_of(x[0], x[1], overlap_of(c));
    Result y{x[0], {}, 0};
    const int64_t n = x[0].shape[0], width = x[0].shape[1];
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = 0; j < width; j++)
        y.array.values[std::size_t(int64_t(x[2].values[std::size_t(i)]) * width + j)] =
            from.values[std::size_t(i * width + j)];
    return y;
  };
  row.make = [](std::size_t operand, const Case& c, Random& random) {
    const HostShape& shape = c.geometry.operands[operand];
    if (operand < 2) return random_array(c.dtypes[0], shape, {-10, 10}, random);
    Array ids{DType::kI64, shape, {}};
    for (int64_t i = 0; i < shape[0]; i++) ids.values.push_back(Real(i));
    for (std::size_t i = ids.values.size(); i > 1; i--)
      std::swap(ids.values[i - 1], ids.values[std::size_t(random.below(int64_t(i)))]);
    return ids;
  };
  row.special = false;
  row.geometries.clear();
  for (const HostShape& shape : {HostShape{1, 1}, {7, 7}, {33, 33}, {5, 205}, {130, 130}})
    for (const Overlap overlap : {kApart, kItself, kTransposed})
      if (overlap != kTransposed || shape[0] == shape[1])
        row.geometries.push_back({{shape, shape, {shape[0]}}, {overlap}});
  row.distinct = {0, 1, 2};
  for (const DType dtype : {DType::kI8, DType::kBf16, DType::kF32, DType::kI64})
    row.dtypes.push_back({dtype, dtype, DType::kI64});
  return row;
}

}  // namespace

template <>
std::vector<Row> rows_of<"inplace">() {
  const std::vector<Row> functions = rows_of<"binary">();
  std::vector<Row> rows = {copy_row(), lerp_row(), masked_fill_row()};
  for (const InPlace& op : kOfTwo) rows.push_back(row_of(op, functions));
  rows.push_back(permuting_row("scatter_ of overlapping",
                               [](Var& target, const Tensor& ids, const Tensor& src) {
                                 scatter_(target, 0, reshape(ids, {ids.numel(), 1}), src);
                               }));
  rows.push_back(permuting_row(
      "index_put_ of overlapping",
      [](Var& target, const Tensor& ids, const Tensor& src) { index_put_(target, {ids}, src); }));
  return rows;
}

}  // namespace wick::conformance
