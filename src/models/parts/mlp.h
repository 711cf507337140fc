// The MLPs of blocks.
#pragma once
#include <optional>
#include <string>

#include "wick/models/decoder.h"
#include "wick/nn/layers.h"

namespace wick {

struct MlpOptions {
  int64_t hidden_size = 0, intermediate_size = 0;
  HiddenAct act = HiddenAct::kSilu;
  bool gated = true;  // down(act(gate(x)) up(x)), else down(act(up(x)))
  bool bias = false;
  double deviation = 0.02, output_deviation = 0.02;  // of initial weights
};

/// act(gate) up.
Tensor gated(HiddenAct act, const Tensor& gate, const Tensor& up);

struct Mlp {
  const HiddenAct act;
  const std::optional<Linear> gate_proj;
  const Linear up_proj, down_proj;

  Mlp(const MlpOptions& options, Parameters& p, const std::string& name);
  /// Adds the residual of x's shape, unless it is empty.
  Tensor operator()(const Tensor& x, const Tensor& residual = {}) const;
};

}  // namespace wick
