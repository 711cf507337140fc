// Keys or values in the memory of a cache.
#pragma once
#include <vector>

#include "wick/core/var.h"
#include "wick/models/model_cache.h"

namespace wick {

/// The dtype in which caches of a model in `model` hold rows.
DType stored_dtype(CacheType type, DType model);
/// Bytes of a token's `elements` in a cache.
int64_t stored_bytes(CacheType type, DType model, int64_t elements);

/// Rows of a cache, the last dim of [..., D], and their scales [..., D / 32] if they are of kQ8.
class CachedRows {
 public:
  CachedRows() = default;
  /// Zeros, not uninitialized: a weight of 0 times NaN is NaN. Errors: kUnsupported for kQ8 if D is
  /// no multiple of 32.
  CachedRows(const Shape& shape, CacheType type, const TensorOptions& options);

  bool defined() const { return rows_.defined(); }
  int64_t bytes() const;
  const Shape& shape() const { return rows_.shape(); }
  /// From now on, all but bytes and parts is about the `count` first-dim rows from `first` on.
  void select(int64_t first, int64_t count);
  const Device& device() const { return rows_.tensor().device(); }

  Tensor rows() const { return rows_; }
  Tensor scales() const { return scales_.defined() ? Tensor(scales_) : Tensor(); }
  Var* rows_var() { return &rows_; }
  Var* scales_var() { return scales_.defined() ? &scales_ : nullptr; }
  /// The whole memory of rows, and of scales.
  std::vector<Var> parts() const;

  /// Calls write(memory, x) for rows and scales of x [..., D] in the cache's dtype.
  template <class F>
  void write(const Tensor& x, F&& write) {
    const auto [rows, scales] = stored(x);
    write(rows_, rows);
    if (scales_.defined()) write(scales_, scales);
  }

 private:
  struct Stored {
    Tensor rows, scales;
  };
  Stored stored(const Tensor& x) const;

  Var all_rows_, all_scales_;
  Var rows_, scales_;  // the selected ones
};

}  // namespace wick
