// Which blocks of a pool hold the positions of which sequence.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "wick/core/var.h"

namespace wick {

/// A pool of blocks of positions, which all layers of a model divide among the sequences in the
/// same way. Sequences take blocks as they grow and give them back as they shrink; forked ones
/// share them until one of the two writes. Block 0 is nobody's: sequences that take no part in a
/// call write there.
class BlockTable {
 public:
  /// block: positions, a power of two. blocks: that sequences can take. devices: of the layers,
  /// each once.
  BlockTable(int64_t sequences, int64_t capacity, int64_t block, int64_t blocks,
             const std::vector<Device>& devices);

  int64_t block() const { return block_; }
  int64_t blocks() const { return int64_t(uses_.size()) - 1; }
  /// The rows of a layer's pool: of the blocks, and of block 0.
  int64_t pool_rows() const { return int64_t(uses_.size()) * block_; }
  int64_t free_blocks() const { return int64_t(free_.size()); }
  /// [sequences, blocks of the capacity] i64: the block of each run of positions, as of the last
  /// prepare of the sequence; 0 for a run without one. device: a layer's.
  const Tensor& tensor(const Device& device) const { return copy_on(device).table.tensor(); }
  /// The rows [B, T] of a layer's pool at positions [B, T] of sequences first ... first + B - 1, on
  /// the positions' device, which is a layer's.
  Tensor rows(int64_t first, const Tensor& positions) const;
  /// Copies, from and to a block, that each layer makes before it writes; of the last prepare.
  const std::vector<std::pair<int64_t, int64_t>>& copies() const { return copies_; }

  /// The free blocks that prepare would take.
  int64_t needed(int64_t first, const std::vector<int64_t>& starts,
                 const std::vector<int64_t>& ends) const;
  /// Takes the blocks of positions starts[b] to ends[b] - 1 of sequence first + b. Where there are
  /// no positions, the sequence takes no part in the next call. Errors: kOutOfMemory if too few are
  /// free; nothing has changed then.
  void prepare(int64_t first, const std::vector<int64_t>& starts, const std::vector<int64_t>& ends);
  /// Gives back the blocks after `length` positions.
  void truncate(int64_t sequence, int64_t length);
  void fork(int64_t from, int64_t to);

  /// The blocks of the first `length` positions, which stay as they are until they are released.
  std::vector<int64_t> hold(int64_t sequence, int64_t length);
  void release(const std::vector<int64_t>& held);
  /// Gives a sequence the blocks of the first `length` positions in place of its own.
  void share(const std::vector<int64_t>& held, int64_t length, int64_t sequence);

 private:
  void release(int64_t block);
  void upload(int64_t first, const std::vector<std::vector<int64_t>>& rows);

  int64_t block_;
  std::vector<std::vector<int64_t>> rows_;  // the blocks of each sequence
  std::vector<int64_t> uses_;               // sequences and holds of a block
  std::vector<int64_t> free_;
  std::vector<std::pair<int64_t, int64_t>> copies_;
  std::vector<std::vector<int64_t>> uploaded_;  // the rows that the device has
  /// The table on a device, beside the last result of rows since prepare: all its layers ask for
  /// the same.
  struct Copy {
    Var table;
    Tensor positions = {}, found = {};
    int64_t found_first = 0;
  };
  Copy& copy_on(const Device& device) const;
  mutable std::vector<Copy> tables_;  // one for each device
};

}  // namespace wick
