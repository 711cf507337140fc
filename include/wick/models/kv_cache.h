// Keys and values of earlier tokens, for attention.
#pragma once
#include <vector>

#include "wick/core/var.h"

namespace wick {

/// Stores keys and values of a batch of sequences, layer by layer. Models write to it and attend to
/// the tensors that it returns, in which the key at index p is at position p of its row.
class WICK_API KvCache {
 public:
  struct KeysValues {
    Tensor keys, values;  // [B, G, S, D]
  };
  virtual ~KvCache() = default;
  /// The number of positions per row that it can hold.
  virtual int64_t capacity() const = 0;
  /// Prepares for attention over positions 0 to length - 1. Errors: kOutOfRange if length exceeds
  /// the capacity.
  virtual void cover(int64_t length) = 0;
  /// Writes a layer's keys and values [B, G, T, D] at positions [B, T], and returns the keys and
  /// values to attend to. These include positions that no row has written yet, which causal
  /// attention masks.
  virtual KeysValues write(int64_t layer, const Tensor& keys, const Tensor& values,
                           const Tensor& positions) = 0;
};

struct KvCacheSizes {
  int64_t layers, batch, heads, capacity, head_dim;
};

/// A cache that allocates its whole capacity at once. The memory and launches of a step depend on
/// the position only through the bucket, the part of the capacity that attention reads.
class WICK_API FixedKvCache final : public KvCache {
 public:
  static constexpr int64_t kSmallestBucket = 128;

  explicit FixedKvCache(const KvCacheSizes& sizes, const TensorOptions& options = {});

  int64_t capacity() const override { return sizes_.capacity; }
  int64_t bucket() const { return bucket_; }
  /// Sets the bucket to the smallest power of two that is at least `length` and kSmallestBucket,
  /// limited to the capacity.
  void cover(int64_t length) override;
  KeysValues write(int64_t layer, const Tensor& keys, const Tensor& values,
                   const Tensor& positions) override;

 private:
  KvCacheSizes sizes_;
  int64_t bucket_ = 0;
  std::vector<Var> keys_, values_;  // one per layer: [B, G, capacity, D]
};

}  // namespace wick
