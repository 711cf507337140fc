// The memory of a model for earlier tokens: one cache for each layer, of the layer's kind.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "wick/core/tensor.h"

namespace wick {

class BlockTable;
class LayerCache;

/// How caches hold keys and values: as the model computes them, or in fewer bits. kQ8 has a scale
/// for every 32 elements of a head (quantize_i8), kF8 is f8e4m3.
enum class CacheType { kModel, kF16, kF8, kQ8 };
/// "f16", "f8" or "q8_0"; empty: kModel. Errors: kInvalidArgument for another name.
WICK_API CacheType cache_type(std::string_view name);

struct CacheOptions {
  int64_t sequences = 1;
  int64_t capacity = 1;  // tokens of a sequence
  int64_t chunk = 512;   // the most tokens of a sequence that one call reads
  // Keys and values of full layers lie in blocks of so many positions, a power of two, which
  // sequences take from a pool as they grow and share after a fork; 0: each sequence has its whole
  // capacity. Of 64 and more attention is fastest.
  int64_t block = 0;
  int64_t blocks = 0;  // in the pool; 0: enough for every sequence's capacity
  /// Of keys and values; layers that keep a state keep it as it is. make_cache fails with
  /// kUnsupported if heads are no whole groups of kQ8.
  CacheType type = CacheType::kModel;
  /// Attention spans the whole capacity in every call, and launches the same kernels, whatever the
  /// sequences' lengths are.
  bool spans_capacity = false;
  int64_t marks = 1;  // the most that a sequence has
};

/// The caches of a model's layers for several sequences. CausalModel::make_cache makes one, and
/// CausalModel::hidden reads and writes it.
class WICK_API ModelCache {
 public:
  /// table: layers of blocks share it; nullptr without such layers.
  ModelCache(const CacheOptions& options, std::vector<std::unique_ptr<LayerCache>> layers,
             std::shared_ptr<BlockTable> table = nullptr);
  ~ModelCache();

  /// The sequences that calls of prepare and CausalModel::hidden are about: all, or the selected.
  int64_t sequences() const { return count_; }
  /// From now on, prepare and CausalModel::hidden are about the sequences first ... first + count -
  /// 1 alone. Other functions take any sequence's number. Errors: kOutOfRange.
  void select(int64_t first, int64_t count);
  int64_t capacity() const { return options_.capacity; }
  int64_t chunk() const { return options_.chunk; }
  /// Bytes on the device.
  int64_t bytes() const;

  /// Prepares all layers for tokens at positions starts[b] to ends[b] - 1 of each selected
  /// sequence.
  /// Errors: kOutOfRange if an end exceeds the capacity; kOutOfMemory if the pool has too few
  /// blocks.
  void prepare(const std::vector<int64_t>& starts, const std::vector<int64_t>& ends);
  /// Drops the tokens of a sequence from position `length` on and returns how many are kept:
  /// `length` unless a layer cannot forget so few, else the tokens of the latest mark up to there,
  /// else 0. The model reads the others again.
  int64_t truncate(int64_t sequence, int64_t length);
  /// Drops all tokens of a sequence; its blocks are free again.
  void drop(int64_t sequence) { truncate(sequence, 0); }
  /// drop, of a sequence whose memory may hold numbers that are not finite: sets it to zeros.
  void clear(int64_t sequence);
  /// Whether a layer keeps a state in place of keys and values.
  bool keeps_states() const;
  /// Keeps a copy of the states that some layers cannot forget step by step, so that truncate can
  /// return here. Beyond CacheOptions::marks it takes the place of the sequence's last one. Layers
  /// that can forget anything copy nothing.
  void mark(int64_t sequence);
  /// Makes sequence `to` a copy of sequence `from`.
  void fork(int64_t from, int64_t to);

  /// Whether all that the layers keep lies in blocks of the pool. Then a sequence whose start is
  /// its end in prepare takes no part in the next call: the row that the call computes for it, at
  /// position 0, changes nothing.
  bool has_blocks_alone() const;
  int64_t block() const { return options_.block; }
  /// Blocks of the pool that no sequence holds; 0 without a pool.
  int64_t free_blocks() const;
  /// The free blocks that prepare would take; 0 without a pool.
  int64_t needed_blocks(const std::vector<int64_t>& starts, const std::vector<int64_t>& ends) const;
  /// The blocks of a sequence's first `length` tokens, which keep them until they are released. For
  /// caches that have blocks alone.
  std::vector<int64_t> hold(int64_t sequence, int64_t length);
  void release(const std::vector<int64_t>& held);
  /// Gives a sequence the first `length` tokens of blocks that are held, in place of its own; it
  /// copies a shared block before it writes there.
  void share(const std::vector<int64_t>& held, int64_t length, int64_t sequence);

  /// Of each layer, the positions that attention reads, and how often its memory was replaced.
  /// Steps of one model with the same numbers launch the same kernels on the same memory, so that
  /// a Graph of one serves the next.
  std::vector<int64_t> extents() const;
  std::vector<int64_t> replacements() const;

  /// Calls `observer` before each change of the cache, with numbers from which `repeat` makes the
  /// same change in a cache of the same options, which has had the same changes before.
  void observe(std::function<void(const std::vector<int64_t>&)> observer);
  /// Errors: kInvalidArgument for numbers that no observer gets; as the function that is repeated.
  void repeat(const std::vector<int64_t>& change);

  LayerCache& layer(int64_t index) { return *layers_[size_t(index)]; }
  /// The tokens of each of all sequences that the caches hold, the prepared ones included.
  const std::vector<int64_t>& lengths() const { return lengths_; }
  /// Of each selected sequence's prepared tokens, the number that the caches lacked before.
  const std::vector<int64_t>& new_tokens() const { return new_tokens_; }

 private:
  struct Mark {
    int64_t length = 0;
    std::vector<std::vector<Tensor>> layers;
  };
  void require_sequence(const char* op, int64_t sequence) const;
  template <class... Numbers>
  void tell(const Numbers&... numbers) const;
  int64_t cut(int64_t sequence, int64_t length);

  CacheOptions options_;
  std::function<void(const std::vector<int64_t>&)> observer_;
  int64_t first_ = 0, count_;  // the selected sequences
  bool selects_ = false;       // select was called
  std::vector<std::unique_ptr<LayerCache>> layers_;
  std::shared_ptr<BlockTable> table_;
  std::vector<int64_t> lengths_, new_tokens_;
  std::vector<std::vector<Mark>> marks_;  // of each sequence, by length
};

}  // namespace wick
