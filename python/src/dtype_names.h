// Names of dtypes.
#pragma once
#include <optional>
#include <string_view>

#include "wick/abi/dtype.h"

namespace wick::python {

/// NumPy's and PyTorch's names of dtypes, beside wick's own.
struct DTypeAlias {
  std::string_view name;
  DType dtype;
  bool is_method = false;  // x.half() converts to it, as in PyTorch
};
inline constexpr DTypeAlias kDTypeAliases[] = {
    {"bool_", DType::kBool},
    {"uint8", DType::kU8},
    {"int8", DType::kI8},
    {"uint16", DType::kU16},
    {"int16", DType::kI16},
    {"short", DType::kI16, true},
    {"uint32", DType::kU32},
    {"int32", DType::kI32},
    {"int", DType::kI32, true},
    {"uint64", DType::kU64},
    {"int64", DType::kI64},
    {"long", DType::kI64, true},
    {"float8_e4m3fn", DType::kF8E4M3},
    {"float8_e5m2", DType::kF8E5M2},
    {"float8_e8m0fnu", DType::kF8E8M0},
    {"bfloat16", DType::kBf16, true},
    {"float16", DType::kF16},
    {"half", DType::kF16, true},
    {"float32", DType::kF32},
    {"float", DType::kF32, true},
    {"float64", DType::kF64},
    {"double", DType::kF64, true},
};

/// The dtype with this name, of wick or an alias.
inline std::optional<DType> dtype_of_any_name(std::string_view name) {
  for (int d = 0; d < kNumDTypes; d++)
    if (name == dtype_name(DType(d))) return DType(d);
  for (const DTypeAlias& alias : kDTypeAliases)
    if (name == alias.name) return alias.dtype;
  return {};
}

}  // namespace wick::python
