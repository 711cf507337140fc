// The state of sampling of several sequences, in device memory.
#pragma once
#include <vector>

#include "wick/abi/ops/sample.h"
#include "wick/core/var.h"
#include "wick/load/sampling.h"
#include "wick/ops/sample.h"
#include "wick/text/grammar.h"

namespace wick {

/// The mask of a grammar's next tokens, [ceil(vocab_size / 32)], as Session::set_mask takes a row.
/// All are 0 if the grammar has ended and has no end id. Errors: as of GrammarState::mask.
std::vector<int32_t> mask_row(GrammarState& grammar, int64_t vocab_size);

/// Errors: kInvalidArgument for a setting outside its range, in the name of op.
void check_sampling(const char* op, const Sampling& sampling, int64_t vocab_size);

/// What a step reads and writes of B sequences, at fixed addresses. A graph that reads them stays
/// valid until they are `replaced`.
struct SampledRows {
  Var tokens, positions;  // [B, 1]: last tokens and their positions
  Var sampled;            // [B, 1]: tokens, or a mark of sample
  Var history;            // [B, capacity + 1]
  Var advance;            // [B, 1]: 1, or 0 for a sequence that stays as it is
  Var settings, state;    // of SampleRows
  Var bias_ids, bias;     // [B, N], if a sequence has a bias
  Var mask;               // [B, ceil(vocab_size / 32)] i32 or u32, if there is one
  int64_t replaced = 0;   // counts the times that memory was replaced

  SampledRows(int64_t sequences, int64_t capacity, const Device& device);

  int64_t sequences() const { return tokens.shape()[0]; }
  const Device& device() const { return tokens.tensor().device(); }
  /// The rows of some sequences, in the same memory.
  SampledRows rows(int64_t first, int64_t count) const;
  /// Writes the settings of each sequence, in order.
  void write_settings(const std::vector<Sampling>& each);
  /// mask: as of Session::set_mask, checked; an empty Tensor() removes it.
  void set_mask(const Tensor& mask);
  /// Draws the next tokens [B] from logits [B, V], with sample's marks.
  Tensor draw(const Tensor& logits) const;
  /// Makes ids [B] the last tokens of the sequences that advance.
  void append(const Tensor& ids);

 private:
  SampledRows() = default;
};

}  // namespace wick
