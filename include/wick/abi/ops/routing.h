// The choice of a mixture's experts for each row.
#pragma once
#include "wick/abi/op.h"

namespace wick {

enum class ExpertScores : int32 { kSoftmax, kSigmoid };

struct SelectExpertsAttributes {
  static constexpr const char* kLayout =
      "i32 scores, i32 selected, i32 has_correction, i32 renormalizes, f64 least_sum, f64 scale";
  ExpertScores scores;
  int32 selected;        // J, at most E
  int32 has_correction;  // else the correction is any view, and is not read
  int32 renormalizes;    // weights are divided by their sum, or by least_sum if that is larger
  double least_sum;
  double scale;  // multiplies the weights
};

/// in logits [N, E] with inner strides of 1, correction [E], contiguous; out weights and ids [N,
/// J], contiguous: the J experts of the largest logits, or of the largest scores + correction, in
/// descending order, the first of equal ones first, NaN before all; and their scores: softmax or
/// sigmoid of the logits.
inline constexpr Op kSelectExperts{"select_experts", "TR:RI", attributes<SelectExpertsAttributes>};

}  // namespace wick
