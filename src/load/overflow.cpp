#include "load/overflow.h"

#include <cmath>

#include "wick/ops/cast.h"

namespace wick {

void require_no_overflow(const Tensor& before, const Tensor& after, const std::string& where,
                         const std::string& name) {
  const Tensor y = cast(after, DType::kF32).contiguous();
  const float* const now = static_cast<const float*>(y.data());
  int64_t i = 0;
  while (i < y.numel() && std::isfinite(now[i])) i++;
  if (i == y.numel()) return;
  const Tensor x = cast(before, DType::kF64).contiguous();
  const double* const was = static_cast<const double*>(x.data());
  for (; i < y.numel(); i++)
    check(std::isfinite(now[i]) || !std::isfinite(was[i]), ErrorCode::kFormat, where, "tensor \"",
          name, "\": element ", i, " is ", was[i], ", which overflows ", dtype_name(after.dtype()),
          "; choose a type of larger range, or allow overflow (--allow-overflow)");
}

Tensor cast_weights(const Tensor& x, DType dtype, const std::string& where, const std::string& name,
                    bool allow_overflow) {
  if (x.dtype() == dtype) return x;
  const Tensor y = cast(x, dtype);
  const bool may_overflow = dtype == DType::kF16 || x.dtype() == DType::kF64 ||
                            (dtype == DType::kBf16 && x.dtype() == DType::kF32);
  if (may_overflow && !allow_overflow) require_no_overflow(x, y, where, name);
  return y;
}

}  // namespace wick
