// Token-by-token generation from a decoder, with sampling on the device.
#pragma once
#include <vector>

#include "wick/models/decoder.h"
#include "wick/ops/sample.h"

namespace wick {

struct GeneratorOptions {
  int64_t batch = 1;
  int64_t capacity = 0;  // tokens per sequence, including the prompt; 0: max_position_embeddings
  SampleOptions sample = {};
};

/// A batch of sequences that grow together. Per-step state (tokens, positions, random numbers)
/// stays in device memory at fixed addresses, so two steps within a cache bucket launch
/// byte-identical work. Random numbers come from the device's generator, under its seed.
class WICK_API Generator {
 public:
  explicit Generator(const Decoder& decoder, const GeneratorOptions& options = {});

  /// Processes one prompt per sequence, each of 1 to capacity tokens, and samples the first tokens.
  /// Discards earlier state. Errors: kShapeMismatch, kOutOfRange.
  void prefill(const std::vector<std::vector<int64_t>>& prompts);
  /// Appends the tokens sampled last and samples the next. Errors: kOutOfRange if the longest
  /// sequence has reached the capacity.
  void step();

  /// The tokens sampled last, one per sequence. Waits for the device.
  std::vector<int64_t> tokens() const { return tokens_.tensor().to_vector<int64_t>(); }
  /// The length of the longest sequence, excluding the tokens sampled last.
  int64_t length() const { return length_; }
  int64_t capacity() const { return cache_.sizes().capacity; }

 private:
  void choose(const Tensor& hidden);
  void draw();

  static constexpr int64_t kDrawn = 1024;  // steps of random numbers drawn at once

  Decoder decoder_;
  GeneratorOptions options_;
  KvCache cache_;
  int64_t length_ = 0, used_ = 0;  // used_: random numbers consumed
  Var tokens_, positions_;         // [B, 1]: tokens sampled last and their positions
  Var uniform_, next_uniform_;     // [kDrawn, B] random numbers; [1] index of the next row
  Tensor one_;
};

}  // namespace wick
