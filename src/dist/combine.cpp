#include "dist/combine.h"

#include <utility>

#include "wick/ops/binary.h"
#include "wick/ops/cast.h"

namespace wick::dist {

const char* name_of(ReduceOp reduction) {
  constexpr const char* kNames[] = {"sum", "mean", "max", "min"};
  return kNames[int(reduction)];
}

Tensor combine(const std::vector<Tensor>& parts, ReduceOp reduction) {
  const DType dtype = parts[0].dtype();
  const bool is_narrow = is_floating(dtype) && dtype != DType::kF64;
  const bool is_sum = reduction == ReduceOp::kSum || reduction == ReduceOp::kMean;
  const DType wide = is_narrow && is_sum ? DType::kF32 : dtype;
  Tensor result = cast(parts[0], wide);
  for (size_t i = 1; i < parts.size(); i++) {
    const Tensor part = cast(parts[i], wide);
    result = is_sum                        ? add(std::move(result), part)
             : reduction == ReduceOp::kMax ? maximum(std::move(result), part)
                                           : minimum(std::move(result), part);
  }
  if (reduction == ReduceOp::kMean) result = std::move(result) / double(parts.size());
  return cast(result, dtype);
}

}  // namespace wick::dist
