// The caches of single layers, by kind.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "models/caches/block_table.h"
#include "models/caches/cached_rows.h"
#include "wick/core/var.h"
#include "wick/ops/attention.h"

namespace wick {

/// The memory of a layer for the earlier tokens of several sequences.
class LayerCache {
 public:
  virtual ~LayerCache() = default;
  virtual int64_t bytes() const = 0;
  /// From now on, layers read and write the tokens of the sequences first ... first + count - 1
  /// alone; before the first call, the tokens of all. truncate, snapshot, restore, fork and clear
  /// take any sequence's number.
  virtual void select(int64_t first, int64_t count) = 0;
  /// Prepares for tokens at positions starts[b] to ends[b] - 1 of each selected sequence b.
  virtual void prepare(const std::vector<int64_t>& starts, const std::vector<int64_t>& ends) = 0;
  /// Whether truncate can go back to `length` tokens of a sequence that has `now`.
  virtual bool can_truncate(int64_t sequence, int64_t length, int64_t now) const = 0;
  /// Drops the tokens of a sequence from `length` on; 0 is always possible.
  virtual void truncate(int64_t sequence, int64_t length) = 0;
  /// Copies of the state after `length` tokens, for a layer that may refuse to truncate; else
  /// empty.
  virtual std::vector<Tensor> snapshot(int64_t sequence, int64_t length) const = 0;
  /// Takes the sequence back to a snapshot of `length` tokens.
  virtual void restore(int64_t sequence, int64_t length, const std::vector<Tensor>& snapshot) = 0;
  virtual void fork(int64_t from, int64_t to) = 0;
  /// Writes zeros over the memory that truncate(sequence, 0) leaves as it is.
  virtual void clear(int64_t sequence) { (void)sequence; }
  /// Whether the layer keeps a state in place of keys and values.
  virtual bool keeps_state() const { return false; }
  /// Whether all that it keeps lies in blocks of the pool.
  virtual bool has_blocks() const { return false; }
  /// The positions that attention reads: calls with one number launch the same kernels.
  virtual int64_t extent() const { return 0; }
  /// Counts the times that the cache's memory was replaced.
  virtual int64_t replaced() const { return 0; }
};

/// The cache of a layer that remembers nothing by itself.
class NoCache final : public LayerCache {
 public:
  bool has_blocks() const override { return true; }
  int64_t bytes() const override { return 0; }
  void select(int64_t, int64_t) override {}
  void prepare(const std::vector<int64_t>&, const std::vector<int64_t>&) override {}
  bool can_truncate(int64_t, int64_t, int64_t) const override { return true; }
  void truncate(int64_t, int64_t) override {}
  std::vector<Tensor> snapshot(int64_t, int64_t) const override { return {}; }
  void restore(int64_t, int64_t, const std::vector<Tensor>&) override {}
  void fork(int64_t, int64_t) override {}
};

/// Sizes of a cache of keys and values.
struct KeysValuesSizes {
  int64_t sequences, heads, capacity, head_dim;
  /// Values are the leading elements of the keys, so many, and take no memory; 0: they are tensors
  /// of their own.
  int64_t shared_values = 0;
  CacheType type = CacheType::kModel;
  bool spans_capacity = false;  // as of CacheOptions
};

/// The bytes of such a cache, in blocks if the options say so. dtype: of the computation.
int64_t bytes_of(const KeysValuesSizes& sizes, DType dtype, const CacheOptions& options);

/// A cache of keys and values that attention reads.
class AttentionCache : public LayerCache {
 public:
  struct KeysValues {
    Tensor keys, values;  // [B, G, S, D]; shared values [B, G, S, shared_values]
    Tensor positions;     // [B, T]: of the queries, as sdpa counts them in keys
    // As of SdpaOptions.
    Tensor key_scales = {}, value_scales = {}, blocks = {};
    int64_t block_size = 0;

    /// The same on another device.
    KeysValues to(const Device& device) const;
    /// S.
    int64_t count() const { return blocks ? blocks.size(1) * block_size : keys.size(2); }
    /// Options of sdpa of these keys and values.
    SdpaOptions in(SdpaOptions options) const {
      options.key_scales = key_scales, options.value_scales = value_scales;
      options.blocks = blocks, options.block_size = block_size;
      if (options.is_causal) options.positions = positions;
      return options;
    }
  };
  /// Writes keys and values [B, G, T, D] of tokens at positions [B, T], and returns those to attend
  /// to. `visible` [B, T]: the last position that each query attends to. Keys that no sequence has
  /// written yet are among them; causal attention masks these. values: empty if they are shared.
  virtual KeysValues write(const Tensor& keys, const Tensor& values, const Tensor& positions,
                           const Tensor& visible) = 0;
  /// Keys and values of a cache in rows, and the rows [B, T] of tokens at `positions`: for
  /// rope_into. Empty if the cache does not lie so.
  struct Rows {
    Var *keys = nullptr, *values = nullptr;  // [B, G, S, D], or a pool [1, G, S, D]
    Tensor at = {};
    Var *key_scales = nullptr, *value_scales = nullptr;  // [..., D / 32], if they are i8
  };
  virtual Rows rows_at(const Tensor& positions) {
    (void)positions;
    return {};
  }
  /// The result of `write`, of a cache with rows.
  virtual KeysValues written(const Tensor& visible) const {
    (void)visible;
    return {};
  }
  /// Whether a sequence has tokens before the starts that `prepare` got last.
  bool has_earlier() const { return has_earlier_; }

 protected:
  void note_starts(const std::vector<int64_t>& starts) {
    has_earlier_ = std::any_of(starts.begin(), starts.end(), [](int64_t at) { return at > 0; });
  }

 private:
  bool has_earlier_ = false;
};

/// A cache of every position, each apart: it forgets any of them by itself, and needs no snapshots.
class PositionsCache : public AttentionCache {
 public:
  bool can_truncate(int64_t, int64_t, int64_t) const override { return true; }
  void truncate(int64_t, int64_t) override {}
  std::vector<Tensor> snapshot(int64_t, int64_t) const override { return {}; }
  void restore(int64_t, int64_t, const std::vector<Tensor>&) override {}
};

/// Keys and values of all positions: the key at index p of its sequence is at position p. Allocates
/// the whole capacity at once. The memory and launches of a step depend on the position only
/// through the bucket, the part of the capacity that attention reads.
class RowsCache final : public PositionsCache {
 public:
  RowsCache(const KeysValuesSizes& sizes, const TensorOptions& options);

  /// The smallest power of two that is at least 128 and all ends, limited to the capacity; that, if
  /// the cache spans it.
  int64_t bucket() const { return bucket_; }

  int64_t extent() const override { return bucket_; }
  int64_t bytes() const override;
  void select(int64_t first, int64_t count) override;
  void prepare(const std::vector<int64_t>& starts, const std::vector<int64_t>& ends) override;
  void fork(int64_t from, int64_t to) override;
  void clear(int64_t sequence) override;
  KeysValues write(const Tensor& keys, const Tensor& values, const Tensor& positions,
                   const Tensor& visible) override;
  Rows rows_at(const Tensor& positions) override;
  KeysValues written(const Tensor& visible) const override;

 private:
  KeysValuesSizes sizes_;
  int64_t bucket_ = 0;
  CachedRows keys_, values_;  // [B, G, capacity, D]; values_ is empty if they are shared
};

/// Keys and values of all positions in blocks of a pool, which attention reads as they lie.
class BlocksCache final : public PositionsCache {
 public:
  /// sizes.capacity: as RowsCache's.
  BlocksCache(const KeysValuesSizes& sizes, std::shared_ptr<BlockTable> table,
              const TensorOptions& options);

  bool has_blocks() const override { return true; }
  int64_t extent() const override { return bucket_; }
  int64_t bytes() const override;
  void select(int64_t first, int64_t count) override { first_ = first, count_ = count; }
  void prepare(const std::vector<int64_t>& starts, const std::vector<int64_t>& ends) override;
  void fork(int64_t, int64_t) override {}
  void clear(int64_t) override;
  KeysValues write(const Tensor& keys, const Tensor& values, const Tensor& positions,
                   const Tensor& visible) override;
  Rows rows_at(const Tensor& positions) override;
  KeysValues written(const Tensor& visible) const override;

 private:
  KeysValuesSizes sizes_;
  std::shared_ptr<BlockTable> table_;
  int64_t first_ = 0, count_;  // the selected sequences
  int64_t bucket_ = 0;         // blocks of a sequence that attention reads
  CachedRows keys_, values_;   // [1, G, rows, D]; values_ is empty if they are shared
};

/// Keys and values of the last positions, for layers whose queries see no others. Index i of a
/// sequence is at position base + i; before a call that would reach beyond the end, the positions
/// that its first query sees move to the front, and base with them.
class WindowCache final : public AttentionCache {
 public:
  static constexpr int64_t kSlack = 512;  // positions between two moves

  /// Positions that it has room for, if a call reads up to `chunk`.
  static int64_t room(int64_t window, int64_t chunk) { return window + chunk + kSlack; }

  /// sizes.capacity: room(window, chunk).
  WindowCache(const KeysValuesSizes& sizes, int64_t window, const TensorOptions& options);

  int64_t extent() const override { return bucket_; }
  int64_t bytes() const override;
  void select(int64_t first, int64_t count) override;
  void prepare(const std::vector<int64_t>& starts, const std::vector<int64_t>& ends) override;
  bool can_truncate(int64_t sequence, int64_t length, int64_t now) const override;
  void truncate(int64_t sequence, int64_t length) override;
  std::vector<Tensor> snapshot(int64_t sequence, int64_t length) const override;
  void restore(int64_t sequence, int64_t length, const std::vector<Tensor>& snapshot) override;
  void fork(int64_t from, int64_t to) override;
  void clear(int64_t sequence) override;
  KeysValues write(const Tensor& keys, const Tensor& values, const Tensor& positions,
                   const Tensor& visible) override;
  Rows rows_at(const Tensor& positions) override;
  KeysValues written(const Tensor& visible) const override;

 private:
  void set_bases();
  /// The whole memory of keys and values, and of their scales.
  std::vector<Var> parts() const;

  KeysValuesSizes sizes_;
  int64_t reach_;               // positions before its own that a query sees
  int64_t bucket_;              // as in RowsCache
  int64_t first_ = 0;           // the first selected sequence
  std::vector<int64_t> bases_;  // position of index 0, by sequence
  Var all_bases_, base_;        // [B, 1]: bases_, of all and of the selected sequences
  CachedRows keys_, values_;    // [B, G, capacity, D]
};

/// A state of fixed size, which each token replaces.
class StateCache final : public LayerCache {
 public:
  struct Kind {
    Shape shape;  // of one sequence's state
    DType dtype;
  };
  StateCache(int64_t sequences, const std::vector<Kind>& kinds, const Device& device);

  /// [B, ...] of kinds[i], of the selected sequences: the state after the tokens that the cache
  /// holds.
  const Tensor& state(int64_t i) const { return selected_[size_t(i)]; }
  /// Takes the tensor as the new state, without a copy if it is contiguous; while a graph is
  /// captured and after `select` it writes into the memory of the state before, so that a graph can
  /// run again.
  void set_state(int64_t i, const Tensor& state);

  bool keeps_state() const override { return true; }
  int64_t replaced() const override { return replaced_; }
  int64_t bytes() const override;
  void select(int64_t first, int64_t count) override;
  void prepare(const std::vector<int64_t>&, const std::vector<int64_t>&) override {}
  bool can_truncate(int64_t, int64_t length, int64_t now) const override { return length == now; }
  void truncate(int64_t sequence, int64_t length) override;
  std::vector<Tensor> snapshot(int64_t sequence, int64_t length) const override;
  void restore(int64_t sequence, int64_t length, const std::vector<Tensor>& snapshot) override;
  void fork(int64_t from, int64_t to) override;

 private:
  void replace(int64_t i, Tensor state);
  void set_row(int64_t i, int64_t sequence, const Tensor& row);

  std::vector<Tensor> states_;    // of all sequences
  std::vector<Tensor> selected_;  // rows of states_
  bool stays_ = false;            // in its memory: select was called
  int64_t replaced_ = 0;
};

}  // namespace wick
