// Training texts: reading, splitting into training and held-out parts, and batches of bytes.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "wick/core/tensor.h"

namespace wick::cli {

struct Corpus {
  std::vector<std::string> train;     // the beginning of each text
  std::vector<std::string> held_out;  // the rest of it
  uint64_t checksum = 0;              // over all bytes and split positions
  int64_t train_bytes() const;
  int64_t held_out_bytes() const;
};

/// Reads files, and the regular files in folders (links excluded), sorted by name. Input errors: a
/// missing path, no text, an empty text.
Corpus read_corpus(const std::vector<std::string>& paths, double valid_fraction);

/// ids [B, T] and the byte following each, as targets [B * T].
struct Batch {
  Tensor ids, targets;
};

/// The concatenated texts, cut into windows. Each epoch has its own offset and order, which depend
/// only on seed and epoch, so the batch of any step can be computed directly.
class Batches {
 public:
  /// Input errors: too little text for one window.
  Batches(const Corpus& corpus, int64_t batch, int64_t context, uint64_t seed);
  Batch at(int64_t step, const Device& device) const;

 private:
  void arrange(int64_t epoch) const;

  std::string stream_;  // each text after a newline
  int64_t batch_, context_, windows_;
  uint64_t seed_;
  mutable int64_t epoch_ = -1;
  mutable std::vector<int64_t> starts_;  // window starts of the current epoch
};

/// Texts to score, cut into overlapping windows. Each byte is scored once, after at least half a
/// window of context where that much text precedes it. A text starts as if after a newline.
struct ScoredWindows {
  std::vector<int64_t> ids, targets;  // [N, T]; padded with 0
  std::vector<float> scored;          // [N, T]: 1 where the target counts, else 0
  int64_t count = 0, bytes = 0;       // N, and the number of targets that count
};
ScoredWindows windows_of(const std::vector<std::string>& texts, int64_t context);

}  // namespace wick::cli
