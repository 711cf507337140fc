// Blocks of transformers that read all tokens at once, without a cache, as towers have them.
#pragma once
#include <string>
#include <vector>

#include "wick/models/image_text_model.h"
#include "wick/nn/layers.h"

// Shapes: B sequences, T tokens each, H heads, D head size, E = H D hidden size.
namespace wick {

/// Linear layers with bias and an activation between them. Parameters NAMEfc1 and NAMEfc2.
struct EncoderMlp {
  const TowerAct act;
  const Linear fc1, fc2;

  EncoderMlp(const TowerConfig& c, Parameters& p, const std::string& name);
  /// x [B, T, E]; adds the residual of that shape.
  Tensor operator()(const Tensor& x, const Tensor& residual) const;
};

struct EncoderAttention {
  const int64_t heads;
  const Linear q_proj, k_proj, v_proj, out_proj;

  EncoderAttention(const TowerConfig& c, Parameters& p, const std::string& name);
  /// x [B, T, E] and a residual of that shape. mask: as SdpaOptions has it; may be empty.
  Tensor operator()(const Tensor& x, const Tensor& residual, const Tensor& mask,
                    bool is_causal) const;
};

struct EncoderBlock {
  const LayerNorm layer_norm1, layer_norm2;
  const EncoderAttention self_attn;
  const EncoderMlp mlp;

  EncoderBlock(const TowerConfig& c, Parameters& p, const std::string& name);
  Tensor operator()(const Tensor& x, const Tensor& mask, bool is_causal) const;
};

/// The blocks of a tower.
struct Encoder {
  std::vector<EncoderBlock> layers;

  Encoder(const TowerConfig& c, Parameters& p, const std::string& name);
  /// x [B, T, E]. all: receives the inputs of each block and the outputs of the last one; may be
  /// nullptr.
  Tensor operator()(Tensor x, const Tensor& mask, bool is_causal, std::vector<Tensor>* all) const;
};

/// x [B, T, E] -> [B, H, T, D].
Tensor split_heads(const Tensor& x, int64_t heads);
/// The inverse of split_heads.
Tensor joined_heads(const Tensor& x);

}  // namespace wick
