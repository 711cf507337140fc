#include "models/parts/encoder.h"

#include "wick/ops/attention.h"
#include "wick/ops/binary.h"
#include "wick/ops/shape.h"
#include "wick/ops/unary.h"

namespace wick {
namespace {

constexpr LinearOptions kBias = {.bias = true};

LayerNorm norm_of(const TowerConfig& c, Parameters& p, const std::string& name) {
  return LayerNorm(p, name, c.hidden_size, LayerNormOptions{.eps = c.layer_norm_eps});
}

}  // namespace

Tensor split_heads(const Tensor& x, int64_t heads) {
  return transpose(reshape(x, {x.size(0), x.size(1), heads, x.size(2) / heads}), 1, 2);
}

Tensor joined_heads(const Tensor& x) {
  return reshape(transpose(x, 1, 2), {x.size(0), x.size(2), x.size(1) * x.size(3)});
}

EncoderMlp::EncoderMlp(const TowerConfig& c, Parameters& p, const std::string& name)
    : act(c.hidden_act),
      fc1(p, name + "fc1", c.hidden_size, c.intermediate_size, kBias),
      fc2(p, name + "fc2", c.intermediate_size, c.hidden_size, kBias) {}

Tensor EncoderMlp::operator()(const Tensor& x, const Tensor& residual) const {
  Tensor inner;
  switch (act) {
    case TowerAct::kGelu:
      inner = fc1(x, {.activation = Activation::kGelu});
      break;
    case TowerAct::kGeluTanh:
      inner = fc1(x, {.activation = Activation::kGeluTanh});
      break;
    case TowerAct::kQuickGelu:
      inner = fc1(x);
      inner = inner * sigmoid(inner * 1.702);
      break;
  }
  return fc2(inner, {.residual = residual});
}

EncoderAttention::EncoderAttention(const TowerConfig& c, Parameters& p, const std::string& name)
    : heads(c.num_attention_heads),
      q_proj(p, name + "q_proj", c.hidden_size, c.hidden_size, kBias),
      k_proj(p, name + "k_proj", c.hidden_size, c.hidden_size, kBias),
      v_proj(p, name + "v_proj", c.hidden_size, c.hidden_size, kBias),
      out_proj(p, name + "out_proj", c.hidden_size, c.hidden_size, kBias) {}

Tensor EncoderAttention::operator()(const Tensor& x, const Tensor& residual, const Tensor& mask,
                                    bool is_causal) const {
  const Tensor y = sdpa(split_heads(q_proj(x), heads), split_heads(k_proj(x), heads),
                        split_heads(v_proj(x), heads), {.mask = mask, .is_causal = is_causal});
  return out_proj(joined_heads(y), {.residual = residual});
}

EncoderBlock::EncoderBlock(const TowerConfig& c, Parameters& p, const std::string& name)
    : layer_norm1(norm_of(c, p, name + "layer_norm1")),
      layer_norm2(norm_of(c, p, name + "layer_norm2")),
      self_attn(c, p, name + "self_attn."),
      mlp(c, p, name + "mlp.") {}

Tensor EncoderBlock::operator()(const Tensor& x, const Tensor& mask, bool is_causal) const {
  const Tensor y = self_attn(layer_norm1(x), x, mask, is_causal);
  return mlp(layer_norm2(y), y);
}

Encoder::Encoder(const TowerConfig& c, Parameters& p, const std::string& name) {
  layers.reserve(size_t(c.num_hidden_layers));
  for (int64_t i = 0; i < c.num_hidden_layers; i++)
    layers.emplace_back(c, p, name + "layers." + std::to_string(i) + ".");
}

Tensor Encoder::operator()(Tensor x, const Tensor& mask, bool is_causal,
                           std::vector<Tensor>* all) const {
  for (const EncoderBlock& layer : layers) {
    if (all) all->push_back(x);
    x = layer(x, mask, is_causal);
  }
  if (all) all->push_back(x);
  return x;
}

}  // namespace wick
