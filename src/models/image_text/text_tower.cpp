#include "models/image_text/text_tower.h"

#include "wick/ops/arrange.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/compare.h"
#include "wick/ops/gather.h"
#include "wick/ops/reduce.h"
#include "wick/ops/shape.h"

namespace wick {

TextTower::TextTower(const TextTowerConfig& c, Parameters& p, const std::string& name)
    : config_(c),
      device_(p.options().device),
      tokens_(p, name + "embeddings.token_embedding", c.vocab_size, c.blocks.hidden_size),
      positions_(p.take(name + "embeddings.position_embedding.weight",
                        {c.max_position_embeddings, c.blocks.hidden_size}, {0, 0.02})),
      encoder_(c.blocks, p, name + "encoder."),
      final_norm_(p, name + "final_layer_norm", c.blocks.hidden_size,
                  LayerNormOptions{.eps = c.blocks.layer_norm_eps}) {}

Tensor TextTower::hidden(const Tensor& ids, const Tensor& mask, std::vector<Tensor>* layers) const {
  check(ids.rank() == 2 && ids.size(1) > 0, ErrorCode::kShapeMismatch, "text_features",
        "ids: expected [B, T] with T at least 1, got ", ids.shape());
  check(is_integer(ids.dtype()), ErrorCode::kDTypeMismatch, "text_features",
        "ids: expected integers, got ", dtype_name(ids.dtype()));
  const int64_t texts = ids.size(0), length = ids.size(1);
  check(length <= config_.max_position_embeddings, ErrorCode::kOutOfRange, "text_features",
        "ids: expected at most ", config_.max_position_embeddings,
        " tokens, the model's positions, got ", length);
  Tensor visible;
  if (mask) {
    check(mask.shape() == ids.shape(), ErrorCode::kShapeMismatch, "text_features",
          "mask: expected ", ids.shape(), ", got ", mask.shape());
    check(is_integer(mask.dtype()) || mask.dtype() == DType::kBool, ErrorCode::kDTypeMismatch,
          "text_features", "mask: expected integers or bool, got ", dtype_name(mask.dtype()));
    visible = reshape(cast(mask.to(device_), DType::kBool), {texts, 1, 1, length});
  }
  const Tensor x = tokens_(cast(ids.to(device_), DType::kI64)) +
                   narrow(positions_.tensor(), 0, 0, length);  // [B, T, E]
  return final_norm_(encoder_(x, visible, config_.is_causal, layers));
}

Tensor TextTower::pooled(const Tensor& hidden, const Tensor& ids) const {
  if (config_.pooling == TextPooling::kLast) return select(hidden, 1, -1);
  const int64_t texts = hidden.size(0), size = hidden.size(2);
  const Tensor own = cast(ids.to(device_), DType::kI64);
  const Tensor score = config_.pooling == TextPooling::kLargestId
                           ? own
                           : cast(own == config_.eos_token_id, DType::kI64);
  const Tensor at = reshape(argmax(score, 1), {texts, 1, 1});  // of equal ones the first
  return squeeze(gather(hidden, 1, broadcast_to(at, {texts, 1, size})), 1);
}

}  // namespace wick
