// The MLPs of blocks.
#pragma once
#include <optional>
#include <string>

#include "models/parts/norm.h"
#include "models/parts/partition.h"
#include "wick/models/decoder.h"
#include "wick/nn/layers.h"
#include "wick/ops/matmul.h"

namespace wick {

/// The op's activation of that name.
Activation activation_of(HiddenAct act);

/// How a gated MLP joins gate and up.
struct Glu {
  HiddenAct act = HiddenAct::kSilu;
  double limit = 0;  // see DecoderConfig::swiglu_limit
  double alpha = 1;

  /// act(gate) up; with a limit: (clamp(up, -limit, limit) + 1) g sigmoid(alpha g), g = min(gate,
  /// limit).
  Tensor operator()(const Tensor& gate, const Tensor& up) const;
};

struct MlpOptions {
  int64_t hidden_size = 0, intermediate_size = 0;
  Glu glu = {};       // of an MLP without a gate: only its act
  bool gated = true;  // down(act(gate(x)) up(x)), else down(act(up(x)))
  bool bias = false;
  bool is_summand = false;  // of several ranks' outputs, the caller computes the sum
  double deviation = 0.02, output_deviation = 0.02;  // of initial weights
};

/// Of several ranks each computes a part of the inner values, and the sum of their outputs is the
/// MLP's.
struct Mlp {
  const Glu glu;
  const Range own;  // of the inner values
  const std::optional<Linear> gate_proj;
  const Linear up_proj, down_proj;
  const RankSum sum;

  Mlp(const MlpOptions& options, Parameters& p, const std::string& name);
  /// Adds the residual of x's shape, unless it is empty; as is_summand, on the rank that it is
  /// given on.
  Tensor operator()(const Normalized& x, const Tensor& residual = {}) const;

 private:
  Tensor inner(const Normalized& input) const;  // the input of down_proj
};

}  // namespace wick
