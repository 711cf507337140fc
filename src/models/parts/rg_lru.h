// Real-gated linear recurrent units, as in Griffin and RecurrentGemma.
#pragma once
#include <string>

#include "models/parts/mixer.h"
#include "wick/models/decoder.h"
#include "wick/nn/layers.h"

// Shapes: B sequences, T tokens each, E width of the recurrence, H blocks of its gates.
namespace wick {

struct RgLruOptions {
  int64_t layer = 0;
  int64_t hidden_size = 0, width = 0, heads = 0, conv_width = 0;
  HiddenAct act = HiddenAct::kGeluTanh;
  double deviation = 0.02, output_deviation = 0.02;  // of initial weights
};

/// A linear layer of H blocks, each of E / H elements.
struct BlockLinear {
  const Parameter weight, bias;  // [H, E / H, E / H], [H, E / H]

  BlockLinear(Parameters& p, const std::string& name, const RgLruOptions& options);
  Tensor operator()(const Tensor& x) const;  // [B, T, E] -> [B, T, E]
};

/// out(act(y(x)) rnn(conv(x(x)))). Source: De et al. 2024, arXiv:2402.19427, 2.4.
class RgLru final : public Mixer {
 public:
  RgLru(const RgLruOptions& options, Parameters& p, const std::string& name);

  Tensor operator()(const Normalized& x, const Step& step,
                    const Tensor& residual = {}) const override;
  std::vector<StateCache::Kind> state_kinds(DType dtype) const override;
  bool keeps_state() const override { return true; }
  void add_work(double before, const TensorOptions& options, TokenWork* work) const override;

 private:
  /// Of the decays at a gate of 1: [E], in the state's dtype.
  Tensor decay_exponents() const;

  const RgLruOptions options_;
  const Linear linear_y_, linear_x_, linear_out_;
  const Parameter conv_weight_, conv_bias_;  // [E, 1, K], [E]
  const BlockLinear input_gate_, recurrent_gate_;
  const Parameter recurrent_param_;  // [E]
  const Tensor frozen_exponents_;    // decay_exponents(), unless they are trained
};

}  // namespace wick
