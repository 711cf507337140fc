// The choice of a mixture's experts.
#pragma once
#include <string>

#include "wick/models/decoder.h"
#include "wick/nn/layers.h"
#include "wick/ops/routing.h"

namespace wick {

struct RouterOptions {
  int64_t hidden_size = 0, experts = 0, selected = 0;
  bool normalizes_input = false;  // scores are of rms_norm(x) / sqrt(hidden_size)
  double eps = 1e-6;              // of that norm
  RouterScores scores = RouterScores::kSoftmax;
  bool bias = false;        // of the scores before softmax or sigmoid
  bool correction = false;  // a bias of the scores, for the choice alone
  /// Experts are chosen from the selected_groups groups of the highest scores.
  int64_t groups = 1, selected_groups = 1;
  GroupScore group_score = GroupScore::kSumOfTop2;
  bool renormalizes = false;  // weights are divided by their sum, or by least_sum if that is larger
  double least_sum = 0;
  double scale = 1;         // multiplies the weights
  double deviation = 0.02;  // of initial weights
};

/// Selects experts for each row and weighs them. Sources: Shazeer et al. 2017, arXiv:1701.06538,
/// eq. 3; DeepSeek-AI 2024, arXiv:2412.19437, 2.1.2 (sigmoid, correction, groups).
struct Router {
  const RouterOptions options;
  const Linear gate;
  Parameter input_scale;  // [hidden]: the weight of the input's norm
  Parameter correction;   // [experts]

  Router(const RouterOptions& options, Parameters& p, const std::string& name);
  /// rows [N, hidden] -> weights and ids [N, selected], weights in f32 (f64 for f64).
  ValuesIndices operator()(const Tensor& rows) const;
};

}  // namespace wick
