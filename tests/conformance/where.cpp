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
  for (const DType dtype : kStored) row.dtypes.push_back({DType::kBool, dtype, dtype});
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

/// A choice between a tensor and a number, or two numbers, which promote to `numbers` of x's dtype.
Row with_number_row(const char* op, std::function<Tensor(const Tensor& mask, const Tensor& x)> run,
                    std::function<Real(bool yes, Real x)> reference,
                    std::function<DType(DType)> promoted, bool has_gradient) {
  Row row;
  row.op = op;
  row.run = [run](std::vector<Tensor> x, const Case&) { return run(x[0], x[1]); };
  row.reference = [reference, promoted](const std::vector<Array>& x, const Case&) {
    Result result{{promoted(x[1].dtype), x[1].shape, {}}, {}, 0};
    for (std::size_t i = 0; i < x[1].values.size(); i++)
      result.array.values.push_back(reference(
          x[0].values[i] != 0, reference::convert(x[1].dtype, result.array.dtype, x[1].values[i])));
    return result;
  };
  for (const DType dtype : kAll) row.dtypes.push_back({DType::kBool, dtype});
  for (const HostShape& shape : {HostShape{0}, {}, {7}, {3, 11}, {2, 3, 4, 5}})
    row.geometries.push_back({{shape, shape}});
  row.signed_zero = true;
  if (has_gradient) row.differentiable = {1};
  return row;
}

DType beside_integer(DType dtype) { return dtype == DType::kBool ? DType::kI64 : dtype; }
DType beside_real(DType dtype) { return is_floating(dtype) ? dtype : DType::kF32; }

}  // namespace

template <>
std::vector<Row> rows_of<"where">() {
  return {
      where_row(),
      with_number_row(
          "where_tensor_number", [](const auto& mask, const auto& x) { return where(mask, x, 2); },
          [](bool yes, Real x) { return yes ? x : 2; }, beside_integer, true),
      with_number_row(
          "where_number_tensor",
          [](const auto& mask, const auto& x) { return where(mask, 0.5, x); },
          [](bool yes, Real x) { return yes ? Real(0.5) : x; }, beside_real, true),
      with_number_row(
          "where_integers", [](const auto& mask, const auto&) { return where(mask, -1, 2); },
          [](bool yes, Real) { return Real(yes ? -1 : 2); }, [](DType) { return DType::kI64; },
          false),
      with_number_row(
          "where_reals", [](const auto& mask, const auto&) { return where(mask, 1, 0.5); },
          [](bool yes, Real) { return yes ? Real(1) : Real(0.5); },
          [](DType) { return DType::kF32; }, false)};
}

}  // namespace wick::conformance
