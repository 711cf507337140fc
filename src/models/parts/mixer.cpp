#include "models/parts/mixer.h"

#include "wick/ops/arrange.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/compare.h"
#include "wick/ops/create.h"
#include "wick/ops/gather.h"
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

Tensor held_outputs(const Tensor& y, const NewTokens& tokens, StateCache* cache, int64_t index) {
  if (!cache) return y;
  const int64_t b = y.size(0), t = y.size(1), width = y.size(2);
  const Tensor all = cat({cache->state(index), y}, 1);     // [B, T + 1, E]
  const Tensor last = reshape(tokens.lengths, {b, 1, 1});  // in all
  const Tensor next =
      reshape(arange(t, {.dtype = DType::kI64, .device = y.device()}) + 1, {1, t, 1});
  cache->set_state(index, gather(all, 1, broadcast_to(last, {b, 1, width})));
  return gather(all, 1, broadcast_to(minimum(next, last), {b, t, width}));
}

}  // namespace wick
