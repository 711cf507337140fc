// Drawing the next token.
#pragma once
#include "wick/abi/op.h"

namespace wick {

/// Draws from softmax(logits / temperature), cut to the top_k most likely (0: all) and of these to
/// the fewest whose share reaches top_p (1: all); ids that tie with the last one kept stay too.
/// uniform picks along the kept ids in ascending order: the first at which their share exceeds it.
/// temperature 0: the first of the largest. Logits may be -inf, which is never drawn; NaN, +inf and
/// nothing but -inf give some id in [0, V).
struct SampleAttributes {
  static constexpr const char* kLayout = "f64 temperature, f64 top_p, i64 top_k";
  double temperature, top_p;
  int64 top_k;
};
/// in logits [B, V], uniform [B] in [0, 1); out ids [B].
inline constexpr Op kSample{"sample", "TF:I", attributes<SampleAttributes>};

}  // namespace wick
