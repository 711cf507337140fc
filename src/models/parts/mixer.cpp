#include "models/parts/mixer.h"

#include <algorithm>

#include "core/graph.h"
#include "wick/ops/arrange.h"
#include "wick/ops/binary.h"
#include "wick/ops/create.h"
#include "wick/ops/gather.h"
#include "wick/ops/shape.h"

namespace wick {

Tensor new_tokens(const ModelCache* cache, int64_t tokens, const Device& device) {
  if (!cache) return {};
  const std::vector<int64_t>& counts = cache->new_tokens();
  const bool all = std::all_of(counts.begin(), counts.end(),
                               [tokens](int64_t count) { return count == tokens; });
  return all ? Tensor() : Tensor::from(counts, device);
}

Tensor held_outputs(const Tensor& y, const Tensor& new_tokens, StateCache* cache, int64_t index) {
  if (!cache) return y;
  const int64_t b = y.size(0), t = y.size(1), width = y.size(2);
  if (!new_tokens) {
    // A copy, unless it is all of y: a view would keep all of y.
    cache->set_state(index, t > 1 ? clone(narrow(y, 1, t - 1, 1)) : y);
    return y;
  }
  const Tensor all = cat({cache->state(index), y}, 1);  // [B, T + 1, E]
  const Tensor last = reshape(new_tokens, {b, 1, 1});   // in all
  const Tensor next =
      reshape(arange(t, {.dtype = DType::kI64, .device = y.device()}) + 1, {1, t, 1});
  cache->set_state(index, gather(all, 1, broadcast_to(last, {b, 1, width})));
  return gather(all, 1, broadcast_to(minimum(next, last), {b, t, width}));
}

std::unique_ptr<LayerCache> Mixer::make_cache(const CacheOptions& cache,
                                              const std::shared_ptr<BlockTable>&,
                                              const TensorOptions& options) const {
  return std::make_unique<StateCache>(cache.sequences, state_kinds(options.dtype), options.device);
}

int64_t Mixer::cache_bytes(const CacheOptions& cache, DType dtype) const {
  int64_t bytes = 0;
  for (const StateCache::Kind& kind : state_kinds(dtype))
    bytes += bytes_of(kind.dtype, numel(kind.shape));
  return cache.sequences * bytes;
}

bool overwrites_state(const StateCache* cache) {
  return cache && is_capturing(cache->state(0).device());
}

}  // namespace wick
