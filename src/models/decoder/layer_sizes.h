// The sizes in which a Decoder's layers differ.
#pragma once
#include "wick/models/decoder.h"

namespace wick {

inline LayerType type_of(const DecoderConfig& c, int64_t layer) {
  return c.layer_types.empty() ? LayerType::kFull : c.layer_types[size_t(layer)];
}
/// Of layers of the type.
inline int64_t head_dim_of(const DecoderConfig& c, LayerType type) {
  return type == LayerType::kFull && c.full_head_dim > 0 ? c.full_head_dim : c.head_dim;
}
inline int64_t key_value_heads_of(const DecoderConfig& c, LayerType type) {
  return type == LayerType::kFull && c.full_key_value_heads > 0 ? c.full_key_value_heads
                                                                : c.num_key_value_heads;
}
/// Whether the layer reads the keys and values of another.
inline bool shares_keys(const DecoderConfig& c, int64_t layer) {
  return layer >= c.num_hidden_layers - c.num_kv_shared_layers;
}
/// The layer whose keys and values a layer that shares them reads; -1 if there is no such one.
inline int64_t source_of_keys(const DecoderConfig& c, int64_t layer) {
  int64_t source = c.num_hidden_layers - c.num_kv_shared_layers - 1;
  while (source >= 0 && type_of(c, source) != type_of(c, layer)) source--;
  return source;
}
inline int64_t intermediate_size_of(const DecoderConfig& c, int64_t layer) {
  return c.intermediate_size * (c.use_double_wide_mlp && shares_keys(c, layer) ? 2 : 1);
}

}  // namespace wick
