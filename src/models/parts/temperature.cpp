#include "models/parts/temperature.h"

#include "wick/ops/arrange.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/shape.h"
#include "wick/ops/unary.h"

namespace wick {

Tensor Temperature::operator()(const Tensor& q, const Tensor& positions) const {
  if (scale == 0) return q;
  const Tensor lengths = cast(floor_divide(positions + offset, length),
                              q.dtype() == DType::kF64 ? DType::kF64 : DType::kF32);
  const Tensor factors = log(lengths + 1) * scale + 1;
  return q * cast(unsqueeze(unsqueeze(factors, 1), 3), q.dtype());
}

}  // namespace wick
