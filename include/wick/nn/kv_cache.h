// Keys and values of earlier tokens, for attention.
#pragma once
#include <vector>

#include "wick/core/var.h"

namespace wick {

struct KvCacheSizes {
  int64_t layers, batch, heads, capacity, head_dim;
};

/// A cache of fixed capacity. The key at position p of a row is at index p, independent of the
/// other rows' positions. The memory and launches of a step depend on the position only through the
/// bucket, the part of the capacity that attention reads.
class WICK_API KvCache {
 public:
  static constexpr int64_t kSmallestBucket = 128;

  explicit KvCache(const KvCacheSizes& sizes, const TensorOptions& options = {});

  const KvCacheSizes& sizes() const { return sizes_; }
  int64_t bucket() const { return bucket_; }
  /// Prepares for attention over `length` positions: sets the bucket to the smallest power of two
  /// that is at least `length` and kSmallestBucket, limited to the capacity. Errors: kOutOfRange if
  /// length exceeds the capacity.
  void cover(int64_t length);

  struct KeysValues {
    Tensor keys, values;  // [B, G, bucket, D]
  };
  /// Writes a layer's keys and values [B, G, T, D] at positions [B, T], and returns the keys and
  /// values to attend to. These include positions that no row has written yet, which causal
  /// attention masks.
  KeysValues write(int64_t layer, const Tensor& keys, const Tensor& values,
                   const Tensor& positions);

 private:
  KvCacheSizes sizes_;
  int64_t bucket_ = 0;
  std::vector<Var> keys_, values_;  // one per layer: [B, G, capacity, D]
};

}  // namespace wick
