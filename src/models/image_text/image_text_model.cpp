#include "wick/models/image_text_model.h"

#include <optional>

#include "models/image_text/image_tower.h"
#include "models/image_text/text_tower.h"
#include "wick/ops/binary.h"
#include "wick/ops/matmul.h"
#include "wick/ops/statistics.h"
#include "wick/ops/unary.h"

namespace wick {
namespace {

Tensor of_length_1(const Tensor& x) { return x / norm(x, 2, {.dims = {-1}, .keepdim = true}); }

void require_features(const char* name, const Tensor& x, int64_t size) {
  check(x.rank() == 2 && x.size(1) == size, ErrorCode::kShapeMismatch, "logits_per_image", name,
        ": expected [N, ", size, "], got ", x.shape());
}

}  // namespace

struct ImageTextModel::Layers {
  const ImageTextConfig config;
  const TensorOptions options;
  const ImageTower image;
  const TextTower text;
  std::optional<Linear> image_layer;
  const Linear text_layer;
  const Parameter logit_scale, logit_bias;  // [1]

  Layers(const ImageTextConfig& c, Parameters& p)
      : config(c),
        options{.dtype = p.options().dtype, .device = p.options().device},
        image(c.image, p, "vision_model."),
        text(c.text, p, "text_model."),
        text_layer(p, is_own(c) ? "text_projection" : "text_model.head", c.text.blocks.hidden_size,
                   c.projection_dim, LinearOptions{.bias = !is_own(c)}),
        logit_scale(p.take("logit_scale", {1}, {c.logit_scale_init_value, 0})),
        logit_bias(c.logit_bias ? p.take("logit_bias", {1}, {0, 0}) : Parameter()) {
    if (is_own(c))
      image_layer.emplace(p, "visual_projection", c.image.blocks.hidden_size, c.projection_dim);
  }
  static bool is_own(const ImageTextConfig& c) { return c.feature_layers == FeatureLayers::kBoth; }
};

ImageTextModel::ImageTextModel(const ImageTextConfig& config, Parameters& parameters)
    : layers_(std::make_shared<const Layers>(config, parameters)) {}

const ImageTextConfig& ImageTextModel::config() const { return layers_->config; }
TensorOptions ImageTextModel::options() const { return layers_->options; }

Tensor ImageTextModel::image_hidden(const Tensor& pixel_values) const {
  return layers_->image.hidden(pixel_values);
}

Tensor ImageTextModel::image_features(const Tensor& pixel_values, TowerStates* states) const {
  const Tensor hidden = layers_->image.hidden(pixel_values, states ? &states->layers : nullptr);
  if (states) states->last = hidden;
  const Tensor pooled = layers_->image.pooled(hidden);
  return layers_->image_layer ? (*layers_->image_layer)(pooled) : pooled;
}

Tensor ImageTextModel::text_features(const Tensor& ids, const Tensor& mask,
                                     TowerStates* states) const {
  const Tensor hidden = layers_->text.hidden(ids, mask, states ? &states->layers : nullptr);
  if (states) states->last = hidden;
  return layers_->text_layer(layers_->text.pooled(hidden, ids));
}

Tensor ImageTextModel::logits_per_image(const Tensor& image_features,
                                        const Tensor& text_features) const {
  require_features("image_features", image_features, layers_->config.projection_dim);
  require_features("text_features", text_features, layers_->config.projection_dim);
  const Tensor cosines = linear(of_length_1(image_features), of_length_1(text_features));
  const Tensor scaled = cosines * exp(layers_->logit_scale.tensor());
  return layers_->logit_bias.defined() ? scaled + layers_->logit_bias.tensor() : scaled;
}

}  // namespace wick
