// Decoders by Mistral AI.
#include "models/decoder/family.h"

namespace wick {

std::span<const Family> mistral_families() {
  static const Family families[] = {
      {.model_type = "mistral",
       .architecture = "MistralForCausalLM",
       .defaults = {.num_key_value_heads = 8,
                    .max_position_embeddings = 4096 * 32,
                    .sliding_window = 4096},
       .sliding = Sliding::kEvery,
       .gguf = "llama",
       .gguf_pairs = RopePairs::kAdjacent,
       .gguf_keys = {"vocab_size", "rope.dimension_count"},
       .keys = {"hidden_act", "sliding_window"}},
      {.model_type = "mixtral",
       .architecture = "MixtralForCausalLM",
       .defaults = {.vocab_size = 32000,
                    .num_attention_heads = 32,
                    .num_key_value_heads = 8,
                    .max_position_embeddings = 4096 * 32,
                    .rms_norm_eps = 1e-5,
                    .rope_theta = 1e6,
                    .num_experts = 8,
                    .num_experts_per_tok = 2,
                    .norm_topk_prob = true},
       .sliding = Sliding::kEvery,
       .gguf = "llama",
       .gguf_pairs = RopePairs::kAdjacent,
       .gguf_norm_topk_prob = true,
       .gguf_keys = {"vocab_size", "rope.dimension_count"},
       .keys = {"hidden_act", "sliding_window", "num_experts_per_tok"},
       .renamed_keys = {{{"num_local_experts", "num_experts"}}},
       .renamed_tensors = {{{"block_sparse_moe", "mlp"},
                            {"w1", "gate_proj"},
                            {"w2", "down_proj"},
                            {"w3", "up_proj"}}}}};
  return families;
}

}  // namespace wick
