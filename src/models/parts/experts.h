// Mixtures of experts: gated MLPs, some of which a router selects for each token.
#pragma once
#include <optional>
#include <string>

#include "models/parts/mlp.h"
#include "models/parts/norm.h"
#include "models/parts/router.h"

namespace wick {

struct ExpertsOptions {
  MlpOptions expert = {};
  RouterOptions router = {};
  bool scales_inputs = false;  // the router's weights multiply the experts' inputs
  bool output_scale = false;   // a weight of each expert multiplies its outputs
  /// Of an MLP beside them for every token; an intermediate_size of 0: there is no such one.
  MlpOptions shared = {};
  bool shared_gate = false;
  bool on_cpu = false;  // the experts, but not the router, are on the CPU
};

/// An MLP beside the experts for every token, which may be scaled by the sigmoid of a gate's score.
/// Of several ranks its output is a summand, as Mlp has it.
struct SharedExpert {
  const Mlp mlp;
  const std::optional<Linear> gate;  // to 1 score

  SharedExpert(const ExpertsOptions& options, Parameters& p, const std::string& name);
  /// Adds the residual of x's shape, unless it is empty.
  Tensor operator()(const Tensor& x, const Tensor& residual = {}) const;
};

/// The experts' outputs are added with the router's weights; or without, if those multiply the
/// inputs, as in Llama 4. Of several ranks each computes a part of every expert's inner values, and
/// the sum of their outputs is the layer's. Source: Shazeer et al. 2017, arXiv:1701.06538, eq. 1.
struct Experts {
  const Glu glu;
  const bool scales_inputs;
  const Device home;   // of the router and the shared expert
  const Device place;  // of the experts
  const Router router;
  const Range own;  // of the inner values
  const ExpertLinear gate_proj, up_proj, down_proj;
  Parameter output_scale;  // [experts]
  std::optional<SharedExpert> shared_expert;
  const RankSum sum;

  Experts(const ExpertsOptions& options, Parameters& p, const std::string& name);
  /// x [B, T, hidden]; adds the residual of that shape, unless it is empty.
  Tensor operator()(const Tensor& x, const Tensor& residual = {}) const;
  /// The outputs for x [B, T, hidden] of the experts that the router selects by `scored` [B, T,
  /// hidden], without the shared one's; and the residual of that shape, unless it is empty.
  Tensor routed(const Tensor& x, const Tensor& scored, const Tensor& residual = {}) const;

 private:
  /// The rows [N, hidden] of a call and the experts of each [N, selected], on the experts' device.
  struct Routed {
    Tensor rows, ids, factors;
  };
  Routed route(const Tensor& x, const Tensor& scored) const;
  Tensor outputs(const Routed& routed, const Shape& shape, const Tensor& residual) const;
  Tensor inner(const Tensor& inputs, const Tensor& ids) const;
};

/// Experts beside a layer's MLP, with norms of their own.
struct ExpertsBesideMlp {
  const Norm mlp_output_norm, input_norm, output_norm;
  const Experts experts;

  /// name: of the layer.
  ExpertsBesideMlp(const ExpertsOptions& options, const NormKind& norm, Parameters& p,
                   const std::string& name);
  /// Both outputs' sum [B, T, hidden], of the hidden states x and the MLP's output.
  Tensor operator()(const Tensor& x, const Tensor& mlp_output) const;
};

}  // namespace wick
