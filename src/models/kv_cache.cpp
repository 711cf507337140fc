#include "wick/models/kv_cache.h"

#include <algorithm>

#include "wick/ops/create.h"
#include "wick/ops/gather.h"
#include "wick/ops/shape.h"

namespace wick {

FixedKvCache::FixedKvCache(const KvCacheSizes& sizes, const TensorOptions& options)
    : sizes_(sizes) {
  // Must be zeros, not uninitialized: a weight of 0 times NaN is NaN.
  const auto nothing = [&] {
    return Var(zeros({sizes.batch, sizes.heads, sizes.capacity, sizes.head_dim}, options), false);
  };
  for (int64_t i = 0; i < sizes.layers; i++) {
    keys_.push_back(nothing());
    values_.push_back(nothing());
  }
  cover(0);
}

void FixedKvCache::cover(int64_t length) {
  check(length <= sizes_.capacity, ErrorCode::kOutOfRange, "KvCache", "length ", length,
        " exceeds the capacity ", sizes_.capacity);
  bucket_ = kSmallestBucket;
  while (bucket_ < length) bucket_ *= 2;
  bucket_ = std::min(bucket_, sizes_.capacity);
}

KvCache::KeysValues FixedKvCache::write(int64_t layer, const Tensor& keys, const Tensor& values,
                                        const Tensor& positions) {
  // A position for each row that is written: keys and values then take a launch each.
  const int64_t tokens = positions.size(1);
  Tensor at = reshape(positions, {sizes_.batch, 1, tokens, 1});
  if (sizes_.batch > 1) at = broadcast_to(at, {sizes_.batch, sizes_.heads, tokens, 1}).contiguous();
  const auto written = [&](Var& cache, const Tensor& rows) {
    scatter_(cache, 2, at, rows);
    return narrow(cache, 2, 0, bucket_);
  };
  return {written(keys_[size_t(layer)], keys), written(values_[size_t(layer)], values)};
}

}  // namespace wick
