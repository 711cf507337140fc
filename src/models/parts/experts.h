// Mixtures of experts: gated MLPs, some of which a router selects for each token.
#pragma once
#include <optional>
#include <string>

#include "models/parts/mlp.h"
#include "wick/ops/sort.h"

namespace wick {

struct ExpertsOptions {
  MlpOptions expert = {};
  int64_t experts = 0, selected = 0;
  bool renormalizes = false;  // the selected experts' probabilities are scaled to a sum of 1
  int64_t shared_size = 0;    // of an MLP beside them for every token; 0: there is no such one
  bool shared_gate = true;    // that one is scaled by the sigmoid of a gate's score
};

/// An MLP beside the experts for every token, which may be scaled by the sigmoid of a gate's score.
struct SharedExpert {
  const Mlp mlp;
  const std::optional<Linear> gate;  // to 1 score

  SharedExpert(const MlpOptions& options, bool has_gate, Parameters& p, const std::string& name);
  Tensor operator()(const Tensor& x) const;
};

/// The experts' outputs are added with the router's weights. Source: Shazeer et al. 2017,
/// arXiv:1701.06538, eq. 1.
struct Experts {
  const HiddenAct act;
  const int64_t selected;
  const bool renormalizes;
  const Linear gate;
  const ExpertLinear gate_proj, up_proj, down_proj;
  std::optional<SharedExpert> shared_expert;

  Experts(const ExpertsOptions& options, Parameters& p, const std::string& name);
  /// x [B, T, hidden]; adds the residual of that shape, unless it is empty.
  Tensor operator()(const Tensor& x, const Tensor& residual = {}) const;

 private:
  ValuesIndices route(const Tensor& rows) const;
};

}  // namespace wick
