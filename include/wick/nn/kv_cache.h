// Keys and values of the tokens so far, for attention of those to come.
#pragma once
#include <vector>

#include "wick/core/var.h"

namespace wick {

struct KvCacheSizes {
  int64_t layers, batch, heads, capacity, head_dim;
};

/// A cache of fixed capacity: a row's key at position p lies at index p, whatever the other rows'
/// positions are. Memory and launches of a step do not depend on the position, but for the bucket:
/// the part of the capacity that attention looks at.
class WICK_API KvCache {
 public:
  static constexpr int64_t kSmallestBucket = 128;

  explicit KvCache(const KvCacheSizes& sizes, const TensorOptions& options = {});

  const KvCacheSizes& sizes() const { return sizes_; }
  int64_t bucket() const { return bucket_; }
  /// Attention of the steps to come reaches `length` positions: the bucket becomes the smallest
  /// power of two that has them, and kSmallestBucket at least. Errors: kOutOfRange if length is
  /// more than the capacity.
  void cover(int64_t length);

  struct KeysValues {
    Tensor keys, values;  // [B, G, bucket, D]
  };
  /// Writes keys and values [B, G, T, D] of a layer at positions [B, T], and gives what is to be
  /// attended to: positions that no row has written are there too, and hidden by causal attention.
  KeysValues write(int64_t layer, const Tensor& keys, const Tensor& values,
                   const Tensor& positions);

 private:
  KvCacheSizes sizes_;
  int64_t bucket_ = 0;
  std::vector<Var> keys_, values_;  // a layer's: [B, G, capacity, D]
};

}  // namespace wick
