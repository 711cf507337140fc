// The tower that reads images. Source: Dosovitskiy et al. 2021, arXiv:2010.11929.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "models/parts/encoder.h"

// Shapes: N images, T tokens each, E hidden size.
namespace wick {

/// Pooling by attention: a learned query attends to all tokens, then an MLP. Source: Lee et al.
/// 2019, arXiv:1810.00825, 3.2.
struct AttentionPooling {
  const int64_t heads;
  const Parameter probe;                         // [1, 1, E]
  const Parameter in_proj_weight, in_proj_bias;  // [3 E, E], [3 E]: of queries, keys, values
  const Linear out_proj;
  const LayerNorm layernorm;
  const EncoderMlp mlp;

  AttentionPooling(const TowerConfig& c, Parameters& p, const std::string& name);
  Tensor operator()(const Tensor& hidden) const;  // [N, T, E] -> [N, E]
};

class ImageTower {
 public:
  /// name: of its parameters up to "embeddings".
  ImageTower(const ImageTowerConfig& config, Parameters& p, const std::string& name);

  /// As ImageTextModel::image_hidden. layers: receives the inputs of each block and the outputs of
  /// the last one; may be nullptr.
  Tensor hidden(const Tensor& pixel_values, std::vector<Tensor>* layers = nullptr) const;
  /// Hidden states [N, T, E] -> [N, E]. Errors: kUnsupported without pooling.
  Tensor pooled(const Tensor& hidden) const;

 private:
  Tensor embedded(const Tensor& pixel_values) const;

  const ImageTowerConfig config_;
  const DType dtype_;
  const Device device_;
  const Parameter class_embedding_;            // [E]
  const Parameter patch_weight_, patch_bias_;  // [E, channels, patch, patch], [E]
  const Parameter positions_;                  // [T, E]
  std::optional<LayerNorm> input_norm_;
  const Encoder encoder_;
  const LayerNorm post_norm_;
  std::optional<AttentionPooling> head_;
};

}  // namespace wick
