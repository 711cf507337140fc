// State-space layers of Mamba 2.
#pragma once
#include <array>
#include <optional>
#include <string>

#include "models/parts/mixer.h"
#include "wick/models/decoder.h"
#include "wick/nn/layers.h"

// Shapes: B sequences, T tokens each, H heads of P elements, E = H P, G groups of N states,
// C = E + 2 G N channels of the convolution, K its taps.
namespace wick {

struct Mamba2Options {
  int64_t layer = 0;
  int64_t hidden_size = 0, heads = 0, head_dim = 0, groups = 1, states = 0, conv_width = 4;
  bool bias = false;  // of in_proj and out_proj
  bool conv_bias = true;
  GateNorm norm = GateNorm::kAfterGate;
  double eps = 1e-5;                                 // of the norm
  std::array<double, 2> time_step_limit = {};        // least and greatest step
  double deviation = 0.02, output_deviation = 0.02;  // of initial weights

  int64_t inner() const { return heads * head_dim; }
  int64_t channels() const { return inner() + 2 * groups * states; }
};

/// out(norm(ssd(silu(conv(x B C)), dt), z)), where z, x, B, C and dt are the parts of in_proj's
/// output. Source: Dao & Gu 2024, arXiv:2405.21060, 8.
class Mamba2 final : public Mixer {
 public:
  Mamba2(const Mamba2Options& options, Parameters& p, const std::string& name);

  Tensor operator()(const Normalized& x, const Step& step,
                    const Tensor& residual = {}) const override;
  std::vector<StateCache::Kind> state_kinds(DType dtype) const override;
  bool keeps_state() const override { return true; }
  void add_work(double before, const TensorOptions& options, TokenWork* work) const override;

 private:
  /// [3, H] in the state's dtype, of which ssd reads the rows as they lie: -exp(A_log), D, dt_bias.
  Tensor constants() const;
  Tensor normalized(const Tensor& y) const;                   // [B, T, E], by group
  Tensor gated_norm(const Tensor& y, const Tensor& z) const;  // [B, T, E]

  const Mamba2Options options_;
  const Linear in_proj_, out_proj_;
  const Parameter conv_weight_, conv_bias_;  // [C, 1, K], [C]
  const Parameter dt_bias_, a_log_, d_;      // [H]
  const Parameter norm_weight_;              // [E]
  const Tensor frozen_constants_;            // constants(), unless they are trained
  const Tensor ones_;                        // [E / G]; empty for one group
};

}  // namespace wick
