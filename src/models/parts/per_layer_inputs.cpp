#include "models/parts/per_layer_inputs.h"

#include <cmath>

#include "wick/ops/binary.h"
#include "wick/ops/shape.h"

namespace wick {

PerLayerInputs::PerLayerInputs(const PerLayerOptions& o, Parameters& p)
    : options(o),
      embedding(p, "model.embed_tokens_per_layer", o.vocab_size, o.layers * o.size, o.deviation),
      projection(p, "model.per_layer_model_projection", o.hidden_size, o.layers * o.size,
                 {.deviation = o.deviation}),
      projection_norm(o.norm, p, "model.per_layer_projection_norm", o.size) {}

Tensor PerLayerInputs::operator()(const Tensor& ids, const Tensor& embeddings) const {
  const Shape shape = {ids.size(0), ids.size(1), options.layers, options.size};
  const Tensor projected =
      reshape(projection(embeddings) * (1 / std::sqrt(double(options.hidden_size))), shape);
  const Tensor embedded = reshape(embedding(ids), shape) * std::sqrt(double(options.size));
  return (projection_norm(projected) + embedded) * std::sqrt(0.5);
}

PerLayerPart::PerLayerPart(const PerLayerOptions& o, Parameters& p, const std::string& name,
                           int64_t layer)
    : layer(layer),
      glu{.act = o.act},
      gate(p, name + "per_layer_input_gate", o.hidden_size, o.size, {.deviation = o.deviation}),
      projection(p, name + "per_layer_projection", o.size, o.hidden_size,
                 {.deviation = o.output_deviation}),
      norm(o.norm, p, name + "post_per_layer_input_norm", o.hidden_size) {}

Tensor PerLayerPart::operator()(const Tensor& x, const Tensor& inputs) const {
  const Tensor own = select(inputs, 2, layer).contiguous();  // [B, T, P]
  return norm(projection(glu(gate(x), own)));
}

}  // namespace wick
