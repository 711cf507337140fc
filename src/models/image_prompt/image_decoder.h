// A decoder that reads images beside text.
#pragma once
#include <memory>

#include "models/image_text/image_tower.h"
#include "wick/models/decoder.h"
#include "wick/nn/layers.h"

namespace wick {

/// A decoder, a tower that reads images, and a linear layer from the tower's hidden states to the
/// decoder's embeddings. Copies share the parameters: the tower's begin with "vision_tower.", the
/// layer's with "multi_modal_projector.linear.", the others are Decoder's.
class ImageDecoder : public Decoder {
 public:
  /// facts: the model's, with images.
  ImageDecoder(const DecoderConfig& text, const ImageTowerConfig& image, const ModelFacts& facts,
               Parameters& parameters, int64_t positions);

  std::shared_ptr<const CausalModel> shared() const override;
  const ModelFacts& facts() const override { return own_->facts; }
  Tensor image_features(const Tensor& pixel_values) const override;
  TokenWork work(const std::map<std::string, TensorInfo>& weights, double before,
                 CacheType cache) const override;

 private:
  struct Own {
    const ModelFacts facts;
    const ImageTower tower;
    const Linear projector;
  };
  std::shared_ptr<const Own> own_;
};

}  // namespace wick
