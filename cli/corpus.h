// Texts to learn from: read, cut into training and held-out parts, and served as batches of bytes.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "wick/core/tensor.h"

namespace wick::cli {

struct Corpus {
  std::vector<std::string> train;     // the beginning of each text
  std::vector<std::string> held_out;  // the rest of it
  uint64_t checksum = 0;              // of all bytes, and where they are cut
  int64_t train_bytes() const;
  int64_t held_out_bytes() const;
};

/// Files, and the regular files of folders (links left out), in order of their names. Errors of
/// input: a path that is not there, no text, an empty one.
Corpus read_corpus(const std::vector<std::string>& paths, double valid_fraction);

/// ids [B, T] and the bytes that follow each, as targets [B * T].
struct Batch {
  Tensor ids, targets;
};

/// The texts one after another, cut into windows: each epoch cuts elsewhere and has its own order,
/// which depend on seed and epoch alone, so any step's batch can be made without those before it.
class Batches {
 public:
  /// Errors of input: too little text for one window.
  Batches(const Corpus& corpus, int64_t batch, int64_t context, uint64_t seed);
  Batch at(int64_t step, const Device& device) const;

 private:
  void arrange(int64_t epoch) const;

  std::string stream_;  // each text after a newline
  int64_t batch_, context_, windows_;
  uint64_t seed_;
  mutable int64_t epoch_ = -1;
  mutable std::vector<int64_t> starts_;  // of the epoch's windows
};

/// A text to be scored, cut into windows that overlap: each byte is scored once, after at least
/// half a window of what comes before it where there is as much. A text begins as after a newline.
struct ScoredWindows {
  std::vector<int64_t> ids, targets;  // [N, T]; filled up with 0
  std::vector<float> scored;          // [N, T]: 1 where the target counts, else 0
  int64_t count = 0, bytes = 0;       // N, and how many targets count
};
ScoredWindows windows_of(const std::vector<std::string>& texts, int64_t context);

}  // namespace wick::cli
