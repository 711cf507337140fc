// Sequences in chunks of tokens, for the composites of ops that keep a state; and the checks that
// those ops share.
#pragma once
#include <vector>

#include "wick/core/tensor.h"

namespace wick {

/// A sequence [B, T, ...] as chunks, the last one filled up by zeros. Tokens beyond a sequence's
/// length become zeros too.
class TokenChunks {
 public:
  /// lengths: [B] i64; empty: all T tokens.
  TokenChunks(int64_t tokens, int64_t chunk, const Tensor& lengths);

  /// x [B, T, H, D] as [B, C, H, L, D]: C chunks of L tokens.
  Tensor split(const Tensor& x) const;
  /// The inverse, of chunks that split made.
  Tensor join(const Tensor& chunks) const;
  int64_t count() const { return count_; }
  int64_t length() const { return length_; }

 private:
  int64_t tokens_, length_, count_;
  Tensor is_read_;  // [B, T, 1, 1]; empty: all are
};

/// Of logarithms [..., L] of decays: what of token j is left at token i, [..., L, L]: the exp of the
/// sum over j < m <= i, and 0 for j > i. Sums of these alone: differences of sums from the chunk's
/// start would lose the digits that strong decays take.
Tensor decays_between(const Tensor& logarithms);

/// A floating operand in the dtype of the state. Errors name `what`.
Tensor checked_operand(const char* op, const char* what, const Tensor& x, const Shape& shape,
                       const Tensor& like);
/// The same, but left as it is in the dtype of `like`.
Tensor checked_either(const char* op, const char* what, const Tensor& x, const Shape& shape,
                      const Tensor& like);
/// Vectors [N] of one dtype, not on the tape, as [count, N] with an inner stride of 1: a view where
/// they are evenly spaced in one storage, as a tensor's rows are; else a copy. Empty ones are left out.
Tensor as_rows(const std::vector<Tensor>& vectors);
/// lengths as i64, or an empty tensor. Errors: as above.
Tensor checked_lengths(const char* op, const Tensor& lengths, const Tensor& like);
/// Errors: kInvalidArgument if chunk < 1.
void check_chunk(const char* op, int64_t chunk);

}  // namespace wick
