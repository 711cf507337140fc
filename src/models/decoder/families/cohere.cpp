// Decoders by Cohere.
#include "models/decoder/family.h"

namespace wick {

std::span<const Family> cohere_families() {
  static const Family families[] = {
      {.model_type = "cohere2",
       .architecture = "Cohere2ForCausalLM",
       .defaults = {.vocab_size = 256000,
                    .num_attention_heads = 64,
                    .max_position_embeddings = 8192,
                    .rms_norm_eps = 1e-5,
                    .rope_pairs = RopePairs::kAdjacent,
                    .sliding_window = 4096,
                    .norm_type = NormType::kLayerWeight,
                    .parallel_residual = true,
                    .logits_scaling = 16,
                    .tie_word_embeddings = true,
                    .pad_token_id = 0},
       .sliding = Sliding::kPattern,
       .sliding_window_pattern = 4,
       .only_sliding_rotate = true,
       .gguf = "cohere2",
       .gguf_pairs = RopePairs::kAdjacent,
       .gguf_keys = {"vocab_size", "rope.dimension_count", "attention.sliding_window",
                     "rope.scaling.type"},
       .keys = {"hidden_act", "attention_bias", "sliding_window", "sliding_window_pattern",
                "layer_types", "logit_scale"},
       .renamed_keys = {{{"layer_norm_eps", "rms_norm_eps"}}}}};
  return families;
}

}  // namespace wick
