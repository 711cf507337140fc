// Gated short convolutions, as in LFM2.
#pragma once
#include <string>

#include "models/parts/mixer.h"
#include "wick/nn/layers.h"

// Shapes: B sequences, T tokens each, E hidden_size, K taps.
namespace wick {

struct ShortConvOptions {
  int64_t layer = 0;
  int64_t hidden_size = 0, conv_width = 0;
  bool bias = false;                                 // of both projections and the convolution
  double deviation = 0.02, output_deviation = 0.02;  // of initial weights
};

/// out(c conv(b x)), where (b, c, x) = in(hidden). Source: Liquid AI 2025, arXiv:2511.23404.
class ShortConv final : public Mixer {
 public:
  ShortConv(const ShortConvOptions& options, Parameters& p, const std::string& name);

  Tensor operator()(const Normalized& x, const Step& step,
                    const Tensor& residual = {}) const override;
  std::vector<StateCache::Kind> state_kinds(DType dtype) const override;
  bool keeps_state() const override { return true; }
  void add_work(double before, const TensorOptions& options, TokenWork* work) const override;

 private:
  const ShortConvOptions options_;
  const Linear in_proj_, out_proj_;
  const Parameter conv_weight_, conv_bias_;  // [E, 1, K], [E]
};

}  // namespace wick
