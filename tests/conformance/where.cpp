// The choice between two operands.
#include "wick/abi/ops/where.h"

#include "elementwise.h"
#include "wick/ops/where.h"

namespace wick::conformance {
namespace {

Row where_row() {
  Row row;
  row.op = "where";
  row.run = [](std::vector<Tensor> x, const Case&) { return where(x[0], x[1], x[2]); };
  row.reference = [](const std::vector<Array>& x, const Case&) {
    return reference::where(x[0], x[1], x[2]);
  };
  for (const DType dtype : kAll) row.dtypes.push_back({DType::kBool, dtype, dtype});
  for (const auto& [lhs, rhs] : kMixed) row.dtypes.push_back({DType::kBool, lhs, rhs});
  row.dtypes.push_back({DType::kF32, DType::kF32, DType::kF32});
  row.dtypes.push_back({DType::kI32, DType::kBf16, DType::kBf16});
  for (const HostShape& shape : kShapes) row.geometries.push_back({{shape, shape, shape}});
  row.geometries.insert(row.geometries.end(), {{{{3, 11}, {3, 11}, {11}}},
                                               {{{7, 1}, {1, 9}, {7, 9}}},
                                               {{{5}, {2, 1, 5}, {}}},
                                               {{{}, {3, 11}, {3, 1}}},
                                               {{{1, 0}, {3, 1}, {1}}},
                                               {{{300, 1}, {300, 100}, {300, 100}}},
                                               {{{2, 1, 5}, {3, 1}, {}}}});
  row.domain = {-1, 1};  // of integers, as conditions, some are 0
  row.elementwise = true;
  row.signed_zero = true;
  row.differentiable = {1, 2};
  row.bench = Geometry{{{1 << 22}, {1 << 22}, {1 << 22}}};
  row.kernels = [](const std::vector<DType>& d) {
    const DType dtype = reference::promote(d[1], d[2]);
    return std::vector<KernelQuestion>{{kWhere, dtype}};
  };
  return row;
}

}  // namespace

template <>
std::vector<Row> rows_of<"where">() {
  return {where_row()};
}

}  // namespace wick::conformance
