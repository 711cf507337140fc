// Drawing the next token.
#pragma once
#include "wick/abi/op.h"

namespace wick {

/// A row of the operand `settings`, f32. Each step is off at its neutral value, and no value is an
/// error, since kernels read them on the device.
struct SampleSettings {
  float temperature;         // 0 or less, or NaN: greedy
  float top_k;               // a whole number; below 1: off
  float top_p;               // 1: off
  float min_p;               // 0: off
  float repetition_penalty;  // 1: off
  float frequency_penalty;   // 0: off
  float presence_penalty;    // 0: off

  WICK_HD constexpr bool penalizes() const {
    return repetition_penalty != 1 || frequency_penalty != 0 || presence_penalty != 0;
  }
  /// x after the penalties of a token that occurred `count` > 0 times.
  template <class C>
  WICK_HD constexpr C penalized(C x, uint32 count) const {
    const C r = C(repetition_penalty);
    x = x > C(0) ? x / r : x * r;
    return x - C(count) * C(frequency_penalty) - C(presence_penalty);
  }
};
inline constexpr int kSampleSettings = sizeof(SampleSettings) / sizeof(float);

/// A row of the operand `state`, i64.
struct SampleState {
  int64 seed, index;  // the uniform number is philox_uniform(seed, index)
  int64 seen;         // the first of `tokens` that count as seen
};
inline constexpr int kSampleState = sizeof(SampleState) / sizeof(int64);

/// In place of an id: the given logits, or only the adjusted ones, hold a NaN or +inf or are all
/// -inf.
inline constexpr int64 kUnusableLogits = -1, kUnusableIds = -2;

struct SampleAttributes {
  static constexpr const char* kLayout = "i64 marks";
  int64 marks;  // 1: the id is one of the numbers below where no id can be drawn
};
/// in  logits [B, V]
///     settings [B, kSampleSettings]
///     state [B, kSampleState], without elements if there is `uniform`
///     uniform [B] in [0, 1)
///     tokens [B, S]: those that penalties look at; other ids than 0 ... V - 1 are skipped
///     bias_ids, bias [B, N]: bias[b, n] is added to the logit of bias_ids[b, n], likewise
///     mask [B, ceil(V / 32)] i32: id i is allowed if bit i % 32 of word i / 32 is set
/// out ids [B]
/// All contiguous; an operand from uniform on is left out by having no elements.
inline constexpr Op kSample{"sample", "TFIFIIF*:I", attributes<SampleAttributes>};

/// in  drawn [B], grows [B]
/// out tokens [B], marked [B], positions [B], state [B, kSampleState], history [B, S], read too
/// All i64 and contiguous. ops/sample.h defines append_tokens_.
inline constexpr Op kAppendTokens{"append_tokens", "II:IIIII"};

/// A row of append_tokens.
struct AppendedToken {
  int64 token, marked, position, grows;

  WICK_HD constexpr AppendedToken(int64 drawn, bool grows, int64 token, int64 position)
      : token(grows ? (drawn < 0 ? 0 : drawn) : token),
        marked(drawn < 0 ? drawn : this->token),
        position(position + (grows ? 1 : 0)),
        grows(grows ? 1 : 0) {}
};

}  // namespace wick
