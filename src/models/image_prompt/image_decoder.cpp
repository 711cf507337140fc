#include "models/image_prompt/image_decoder.h"

namespace wick {

ImageDecoder::ImageDecoder(const DecoderConfig& text, const ImageTowerConfig& image,
                           const ModelFacts& facts, Parameters& p, int64_t positions)
    : Decoder(text, p, positions),
      own_(std::make_shared<Own>(
          Own{facts, ImageTower(image, p, "vision_tower."),
              Linear(p, "multi_modal_projector.linear", image.blocks.hidden_size, text.hidden_size,
                     {.bias = true})})) {}

std::shared_ptr<const CausalModel> ImageDecoder::shared() const {
  return std::make_shared<ImageDecoder>(*this);
}

Tensor ImageDecoder::image_features(const Tensor& pixel_values) const {
  return own_->projector(own_->tower.hidden(pixel_values));
}

TokenWork ImageDecoder::work(const std::map<std::string, TensorInfo>& weights, double before,
                             CacheType cache) const {
  std::map<std::string, TensorInfo> of_text;  // a token reads no weight of the other parts
  for (const auto& [name, info] : weights)
    if (!name.starts_with("vision_tower.") && !name.starts_with("multi_modal_projector."))
      of_text[name] = info;
  return Decoder::work(of_text, before, cache);
}

}  // namespace wick
