// The decoder of tests that need any.
#pragma once
#include "wick/models/decoder.h"

namespace wick::test {

/// 256 tokens, 4 layers of 128 elements, 4 heads.
inline DecoderConfig small_config() {
  return {.vocab_size = 256,
          .hidden_size = 128,
          .intermediate_size = 344,
          .num_hidden_layers = 4,
          .num_attention_heads = 4,
          .num_key_value_heads = 4,
          .head_dim = 32,
          .max_position_embeddings = 128,
          .rms_norm_eps = 1e-5};
}

}  // namespace wick::test
