// Tokens from a decoder, one after another, chosen on the device.
#pragma once
#include <vector>

#include "wick/models/decoder.h"
#include "wick/ops/sample.h"

namespace wick {

struct GeneratorOptions {
  int64_t batch = 1;
  int64_t capacity = 0;  // tokens of a sequence, its prompt included; 0: max_position_embeddings
  SampleOptions sample = {};
};

/// Sequences that grow together. What changes from step to step (tokens, positions, random numbers)
/// lies in device memory at fixed places: two steps within a bucket of the cache launch the same,
/// to the byte. Random numbers are the device's, under its seed.
class WICK_API Generator {
 public:
  explicit Generator(const Decoder& decoder, const GeneratorOptions& options = {});

  /// Reads a prompt for each sequence, of any lengths from 1 to the capacity, and chooses the first
  /// tokens. What was before is forgotten. Errors: kShapeMismatch, kOutOfRange.
  void prefill(const std::vector<std::vector<int64_t>>& prompts);
  /// Appends the tokens chosen last, and chooses the next. Errors: kOutOfRange if the longest
  /// sequence has reached the capacity.
  void step();

  /// The tokens chosen last, one per sequence: reading them waits for the device.
  std::vector<int64_t> tokens() const { return tokens_.tensor().to_vector<int64_t>(); }
  /// The length of the longest sequence, without the tokens chosen last.
  int64_t length() const { return length_; }
  int64_t capacity() const { return cache_.sizes().capacity; }

 private:
  void choose(const Tensor& hidden);
  void draw();

  static constexpr int64_t kDrawn = 1024;  // steps' random numbers that are drawn together

  Decoder decoder_;
  GeneratorOptions options_;
  KvCache cache_;
  int64_t length_ = 0, used_ = 0;  // used_: of the random numbers
  Var tokens_, positions_;         // [B, 1]: chosen last, and where they will stand
  Var uniform_, next_uniform_;     // [kDrawn, B] random numbers, [1] the row that is next
  Tensor one_;
};

}  // namespace wick
