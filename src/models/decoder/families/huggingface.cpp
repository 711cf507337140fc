// Decoders by Hugging Face.
#include "models/decoder/family.h"

namespace wick {

std::span<const Family> huggingface_families() {
  static const Family families[] = {
      {.model_type = "smollm3",
       .architecture = "SmolLM3ForCausalLM",
       .defaults = {.vocab_size = 128256,
                    .num_attention_heads = 16,
                    .num_key_value_heads = 4,
                    .max_position_embeddings = 32768,
                    .rope_theta = 2e6,
                    .tie_word_embeddings = true,
                    .pad_token_id = 128004},
       .sliding = Sliding::kUnrotated,
       .no_rope_layer_interval = 4,
       .gguf = "smollm3",
       .gguf_pairs = RopePairs::kAdjacent,
       .gguf_keys = {"vocab_size", "rope.dimension_count"},
       .keys = {"hidden_act", "attention_bias", "mlp_bias", "use_sliding_window", "sliding_window",
                "layer_types", "no_rope_layers", "no_rope_layer_interval"}}};
  return families;
}

}  // namespace wick
