#include "models/image_text/image_tower.h"

#include "wick/ops/arrange.h"
#include "wick/ops/attention.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/matmul.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

constexpr double kDeviation = 0.02;  // of initial weights

}  // namespace

AttentionPooling::AttentionPooling(const TowerConfig& c, Parameters& p, const std::string& name)
    : heads(c.num_attention_heads),
      probe(p.take(name + "probe", {1, 1, c.hidden_size}, {0, kDeviation})),
      in_proj_weight(p.take_matrix(name + "attention.in_proj_weight",
                                   {3 * c.hidden_size, c.hidden_size}, {0, kDeviation})),
      in_proj_bias(p.take(name + "attention.in_proj_bias", {3 * c.hidden_size}, {0, 0})),
      out_proj(p, name + "attention.out_proj", c.hidden_size, c.hidden_size, {.bias = true}),
      layernorm(p, name + "layernorm", c.hidden_size, LayerNormOptions{.eps = c.layer_norm_eps}),
      mlp(c, p, name + "mlp.") {}

Tensor AttentionPooling::operator()(const Tensor& hidden) const {
  const int64_t images = hidden.size(0), size = hidden.size(2);
  const auto projected = [&](const Tensor& x, int64_t first, int64_t parts) {
    return linear(x, narrow(in_proj_weight.tensor(), 0, first * size, parts * size),
                  narrow(in_proj_bias.tensor(), 0, first * size, parts * size));
  };
  const Tensor q = split_heads(projected(probe.tensor(), 0, 1), heads);  // [1, H, 1, D]
  const Tensor both = projected(hidden, 1, 2);                           // [N, T, 2 E]
  const Tensor y = sdpa(broadcast_to(q, {images, heads, 1, size / heads}),
                        split_heads(narrow(both, 2, 0, size), heads),
                        split_heads(narrow(both, 2, size, size), heads));
  const Tensor pooled = squeeze(out_proj(joined_heads(y)), 1);  // [N, E]
  return mlp(layernorm(pooled), pooled);
}

ImageTower::ImageTower(const ImageTowerConfig& c, Parameters& p, const std::string& name)
    : config_(c),
      dtype_(p.options().dtype),
      device_(p.options().device),
      class_embedding_(
          c.pooling == ImagePooling::kClassToken
              ? p.take(name + "embeddings.class_embedding", {c.blocks.hidden_size}, {0, kDeviation})
              : Parameter()),
      patch_weight_(p.take_matrix(
          name + "embeddings.patch_embedding.weight",
          {c.blocks.hidden_size, c.num_channels, c.patch_size, c.patch_size}, {0, kDeviation})),
      patch_bias_(c.patch_bias ? p.take(name + "embeddings.patch_embedding.bias",
                                        {c.blocks.hidden_size}, {0, 0})
                               : Parameter()),
      positions_(p.take(name + "embeddings.position_embedding.weight",
                        {c.tokens(), c.blocks.hidden_size}, {0, kDeviation})),
      encoder_(c.blocks, p, name + "encoder."),
      post_norm_(p, name + "post_layernorm", c.blocks.hidden_size,
                 LayerNormOptions{.eps = c.blocks.layer_norm_eps}) {
  if (c.input_norm)  // the name is spelled so in the files
    input_norm_.emplace(p, name + "pre_layrnorm", c.blocks.hidden_size,
                        LayerNormOptions{.eps = c.blocks.layer_norm_eps});
  if (c.pooling == ImagePooling::kAttention) head_.emplace(c.blocks, p, name + "head.");
}

// A convolution whose stride is its kernel: one product with the patches as rows.
Tensor ImageTower::embedded(const Tensor& pixel_values) const {
  const int64_t images = pixel_values.size(0), size = config_.patch_size,
                side = config_.image_size / size, channels = config_.num_channels;
  const Tensor whole = narrow(narrow(pixel_values, 2, 0, side * size), 3, 0, side * size);
  const Tensor rows = reshape(
      permute(reshape(whole, {images, channels, side, size, side, size}), {0, 2, 4, 1, 3, 5}),
      {images, side * side, channels * size * size});
  const Tensor weight =
      reshape(patch_weight_.tensor(), {config_.blocks.hidden_size, channels * size * size});
  Tensor x = linear(rows, weight, patch_bias_.tensor());  // [N, patches, E]
  if (class_embedding_.defined()) {
    const int64_t hidden_size = config_.blocks.hidden_size;
    const Tensor first = reshape(class_embedding_.tensor(), {1, 1, hidden_size});
    x = cat({broadcast_to(first, {images, 1, hidden_size}), x}, 1);
  }
  return x + positions_.tensor();
}

Tensor ImageTower::hidden(const Tensor& pixel_values, std::vector<Tensor>* layers) const {
  const Shape expected = {pixel_values.rank() > 0 ? pixel_values.size(0) : 0, config_.num_channels,
                          config_.image_size, config_.image_size};
  check(pixel_values.shape() == expected, ErrorCode::kShapeMismatch, "image_hidden",
        "pixel_values: expected [N, ", config_.num_channels, ", ", config_.image_size, ", ",
        config_.image_size, "], got ", pixel_values.shape(),
        "; the embeddings of positions are not interpolated to other sizes");
  check(is_floating(pixel_values.dtype()), ErrorCode::kDTypeMismatch, "image_hidden",
        "pixel_values: expected a floating dtype, got ", dtype_name(pixel_values.dtype()));
  Tensor x = embedded(cast(pixel_values.to(device_), dtype_));
  if (input_norm_) x = (*input_norm_)(x);
  x = encoder_(x, {}, false, layers);
  return config_.pooling == ImagePooling::kClassToken ? x : post_norm_(x);
}

Tensor ImageTower::pooled(const Tensor& hidden) const {
  check(config_.pooling != ImagePooling::kNone, ErrorCode::kUnsupported, "image_features",
        "the model gives hidden states of images, no features");
  return head_ ? (*head_)(hidden) : post_norm_(select(hidden, 1, 0));
}

}  // namespace wick
