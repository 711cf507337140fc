// Training texts: reading, splitting into training and held-out parts, and batches of bytes.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "wick/core/tensor.h"

namespace wick {

struct WICK_API Corpus {
  std::vector<std::string> train;     // the beginning of each text
  std::vector<std::string> held_out;  // the rest of it
  uint64_t checksum = 0;              // over all bytes and split positions
  int64_t train_bytes() const;
  int64_t held_out_bytes() const;
};

/// Reads files, and the regular files in folders (links excluded), sorted by name.
///
/// valid_fraction  the part of each text that is held out, at its end; in [0, 1)
/// Errors: kInvalidArgument for a missing path, a folder without files, an empty text, or a
/// fraction out of range; FileError.
WICK_API Corpus read_corpus(const std::vector<std::string>& paths, double valid_fraction = 0.1);

/// One step's input and targets.
struct ByteBatch {
  Tensor ids;      // [B, T] i64: bytes, 0 to 255
  Tensor targets;  // [B * T] i64: the byte that follows each
};

/// The concatenated texts, each after a newline, cut into windows. Each epoch has its own offset
/// and order, which depend only on seed and epoch, so the batch of any step can be computed
/// directly.
class WICK_API ByteBatches {
 public:
  /// batch, context  sequences in a batch and bytes in a sequence, at least 1
  /// Errors: kInvalidArgument if the texts hold fewer than context + 1 bytes, newlines included.
  ByteBatches(const Corpus& corpus, int64_t batch, int64_t context, uint64_t seed);
  /// The batch of a step, counted from 0, on the device.
  ByteBatch at(int64_t step, const Device& device) const;

 private:
  void arrange(int64_t epoch) const;

  std::string stream_;  // each text after a newline
  int64_t batch_, context_, windows_;
  uint64_t seed_;
  mutable int64_t epoch_ = -1;
  mutable std::vector<int64_t> starts_;  // window starts of the current epoch
};

}  // namespace wick
