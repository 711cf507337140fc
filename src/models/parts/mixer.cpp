#include "models/parts/mixer.h"

#include "wick/ops/arrange.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/compare.h"
#include "wick/ops/reduce.h"
#include "wick/ops/shape.h"

namespace wick {

NewTokens new_tokens(const Tensor& positions, const StateCache& cache) {
  const int64_t tokens = positions.size(1);
  Tensor is_new = cast(positions >= cache.next(), DType::kI64);  // [B, T]
  if (tokens > 1) {
    const Tensor rises = cast(
        narrow(positions, 1, 1, tokens - 1) > narrow(positions, 1, 0, tokens - 1), DType::kI64);
    is_new = is_new * cat({narrow(is_new, 1, 0, 1) * 0 + 1, rises}, 1);
  }
  return {sum(is_new, {.dims = {1}}),
          maximum(cache.next(), amax(positions, {.dims = {1}, .keepdim = true}) + 1)};
}

}  // namespace wick
