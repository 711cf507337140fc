// Shapes and dtypes that several tables share.
#pragma once
#include "row.h"

namespace wick::conformance {

inline const std::vector<DType> kFloats = {DType::kF8E4M3, DType::kF8E5M2, DType::kBf16,
                                           DType::kF16,    DType::kF32,    DType::kF64};
inline const std::vector<DType> kIntegers = {DType::kU8,  DType::kI8,  DType::kU16, DType::kI16,
                                             DType::kU32, DType::kI32, DType::kU64, DType::kI64};
/// What ids may be beside the i64 that kernels read.
inline const std::vector<DType> kIds(kIntegers.begin(), kIntegers.end() - 1);
/// Every dtype of the lists, one after another.
inline std::vector<DType> joined(std::vector<DType> a, const std::vector<DType>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
inline const std::vector<DType> kNumeric = joined(kIntegers, kFloats);
inline const std::vector<DType> kAll = joined({DType::kBool}, kNumeric);
/// Every dtype that has elements: those that are only stored too.
inline const std::vector<DType> kStored =
    joined(kAll, {DType::kF4, DType::kF6E2M3, DType::kF6E3M2, DType::kF8E8M0});

/// 0, 1, 7, 33, 1025 elements and several blocks, in no to four dims.
inline const std::vector<HostShape> kShapes = {
    {0}, {}, {1}, {7}, {3, 11}, {3, 0, 2}, {5, 205}, {2, 3, 4, 5}, {7, 100, 100}};

// Why bounds may be loose: they promise more than a sample on a CPU can show.
inline constexpr const char* kHoldsInAnyOrder =
    "holds for terms added in any order and number; of the sample's few, signs and sizes differ";
inline constexpr const char* kHoldsOfItsOp =
    "made of an op whose own row comes near the bound; here fewer and smaller operands do";
inline constexpr const char* kHoldsOnCards =
    "exponentials and logarithms of some cards err by 2 ulp, the CPU's by less than one";

inline Row loosely(Row row, const char* why) {
  row.loose = why;
  return row;
}

inline std::vector<Geometry> one_operand() {
  std::vector<Geometry> result;
  for (const HostShape& shape : kShapes) result.push_back({{shape}});
  return result;
}

/// The row of an op along a dim, which takes x without dims as one of one dim, and gives such: the
/// reference is asked of that. options: what a geometry's dims say after the dim.
inline Row and_without_dims(Row row, const std::vector<int64_t>& options = {}) {
  row.reference = [of_one_dim = row.reference](const std::vector<Array>& x, const Case& c) {
    if (!c.geometry.operands[0].empty() || c.geometry.dims.empty()) return of_one_dim(x, c);
    Array one = x[0];
    Case with_dim = c;
    one.shape = with_dim.geometry.operands[0] = {1};
    Result result = of_one_dim({one}, with_dim);
    result.array.shape = {};
    return result;
  };
  for (const int64_t dim : {0, -1}) {
    row.geometries.push_back({{{}}, {dim}, dim == 0});
    row.geometries.back().dims.insert(row.geometries.back().dims.end(), options.begin(),
                                      options.end());
  }
  return row;
}

}  // namespace wick::conformance
