// The tower that reads texts to be compared with images.
#pragma once
#include <string>
#include <vector>

#include "models/parts/encoder.h"

// Shapes: B texts, T tokens each, E hidden size.
namespace wick {

class TextTower {
 public:
  /// name: of its parameters up to "embeddings".
  TextTower(const TextTowerConfig& config, Parameters& p, const std::string& name);

  /// The hidden states [B, T, E] of ids [B, T] i64 after the last norm. mask: as
  /// ImageTextModel::text_features has it. layers: receives the inputs of each block and the
  /// outputs of the last one; may be nullptr.
  Tensor hidden(const Tensor& ids, const Tensor& mask, std::vector<Tensor>* layers = nullptr) const;
  /// Hidden states [B, T, E] of ids -> [B, E].
  Tensor pooled(const Tensor& hidden, const Tensor& ids) const;

 private:
  const TextTowerConfig config_;
  const Device device_;
  const Embedding tokens_;
  const Parameter positions_;  // [max_position_embeddings, E]
  const Encoder encoder_;
  const LayerNorm final_norm_;
};

}  // namespace wick
