// Which blocks of a pool hold the positions of which sequence.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "wick/core/var.h"

namespace wick {

/// A pool of blocks of positions, which all layers of a model divide among the sequences in the
/// same way. Sequences take blocks as they grow and give them back as they shrink; forked ones
/// share them until one of the two writes.
class BlockTable {
 public:
  /// blocks: in the pool.
  BlockTable(int64_t sequences, int64_t capacity, int64_t block, int64_t blocks,
             const Device& device);

  int64_t block() const { return block_; }
  int64_t blocks() const { return int64_t(uses_.size()); }
  int64_t free_blocks() const { return int64_t(free_.size()); }
  /// [sequences, blocks of the capacity] i64: the block of each run of positions; 0 for a run
  /// without one.
  const Tensor& tensor() const { return table_.tensor(); }
  /// Copies, from and to a block, that each layer makes before it writes; of the last prepare.
  const std::vector<std::pair<int64_t, int64_t>>& copies() const { return copies_; }

  /// Takes the blocks of positions starts[b] to ends[b] - 1 of sequence first + b. Errors:
  /// kOutOfMemory if too few are free; nothing has changed then.
  void prepare(int64_t first, const std::vector<int64_t>& starts, const std::vector<int64_t>& ends);
  /// Gives back the blocks after `length` positions.
  void truncate(int64_t sequence, int64_t length);
  void fork(int64_t from, int64_t to);

 private:
  void release(int64_t block);
  void upload();

  int64_t block_;
  std::vector<std::vector<int64_t>> rows_;  // the blocks of each sequence
  std::vector<int64_t> uses_;               // sequences that hold a block
  std::vector<int64_t> free_;
  std::vector<std::pair<int64_t, int64_t>> copies_;
  Var table_;
};

}  // namespace wick
