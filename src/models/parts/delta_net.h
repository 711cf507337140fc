// Gated delta nets: linear attention by the gated delta rule, as in Qwen3-Next and Qwen 3.5.
#pragma once
#include <string>

#include "models/parts/mixer.h"
#include "wick/nn/layers.h"

// Shapes: B sequences, T tokens each, G key heads of size K, H value heads of size V, E = 2 G K + H
// V channels of the convolution.
namespace wick {

struct DeltaNetOptions {
  int64_t layer = 0;
  int64_t hidden_size = 0, conv_width = 0;
  int64_t key_heads = 0, key_head_dim = 0, value_heads = 0, value_head_dim = 0;
  bool tiled_key_heads = false;  // value head i reads key head i mod G, else i / (H / G)
  double eps = 1e-6;             // of the output's norm
  double deviation = 0.02, output_deviation = 0.02;  // of initial weights
};

/// out(norm(y) silu(z)), where y follows the gated delta rule with q, k, v = silu(conv(qkv(x))), q
/// and k of length 1, the decay -exp(A_log) softplus(a + dt_bias) and beta = sigmoid(b). Source:
/// Yang, Kautz & Hatamizadeh 2024, arXiv:2412.06464, 3.4.
class DeltaNet final : public Mixer {
 public:
  DeltaNet(const DeltaNetOptions& options, Parameters& p, const std::string& name);

  Tensor operator()(const Normalized& x, const Step& step,
                    const Tensor& residual = {}) const override;
  std::vector<StateCache::Kind> state_kinds(DType dtype) const override;
  bool keeps_state() const override { return true; }
  void add_work(double before, const TensorOptions& options, TokenWork* work) const override;

 private:
  int64_t channels() const;
  /// [2, H] in the state's dtype, of which the rule reads the rows as they lie: A_log, dt_bias.
  Tensor constants() const;

  const DeltaNetOptions options_;
  const Linear in_proj_qkv_, in_proj_z_, in_proj_b_, in_proj_a_, out_proj_;
  const Parameter conv_weight_;      // [E, 1, W], W taps
  const Parameter a_log_, dt_bias_;  // [H]
  const RmsNorm norm_;               // of each value head
  const Tensor frozen_constants_;    // constants(), unless they are trained
};

}  // namespace wick
