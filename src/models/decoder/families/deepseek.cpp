// Decoders by DeepSeek.
#include "models/decoder/family.h"

namespace wick {

std::span<const Family> deepseek_families() {
  static const Family families[] = {
      {.model_type = "deepseek_v2",
       .architecture = "DeepseekV2ForCausalLM",
       .defaults = {.vocab_size = 102400,
                    .num_attention_heads = 32,
                    .rope_pairs = RopePairs::kAdjacent,
                    .kv_lora_rank = 512,
                    .q_lora_rank = 1536,
                    .qk_nope_head_dim = 128,
                    .qk_rope_head_dim = 64,
                    .v_head_dim = 128},
       .gguf = "deepseek2",
       .gguf_pairs = RopePairs::kAdjacent,
       .gguf_keys = {"vocab_size", "rope.dimension_count"},
       .keys = {"hidden_act", "attention_bias", "kv_lora_rank", "q_lora_rank", "qk_nope_head_dim",
                "qk_rope_head_dim", "v_head_dim", "first_k_dense_replace", "moe_intermediate_size",
                "num_nextn_predict_layers"}},
      {.model_type = "deepseek_v3",
       .architecture = "DeepseekV3ForCausalLM",
       .defaults = {.vocab_size = 129280,
                    .num_attention_heads = 128,
                    .max_position_embeddings = 4096,
                    .rope_pairs = RopePairs::kAdjacent,
                    .kv_lora_rank = 512,
                    .q_lora_rank = 1536,
                    .qk_nope_head_dim = 128,
                    .qk_rope_head_dim = 64,
                    .v_head_dim = 128},
       .gguf = "deepseek2",
       .gguf_pairs = RopePairs::kAdjacent,
       .gguf_keys = {"vocab_size", "rope.dimension_count"},
       .keys = {"hidden_act", "attention_bias", "kv_lora_rank", "q_lora_rank", "qk_nope_head_dim",
                "qk_rope_head_dim", "v_head_dim", "rope_interleave", "first_k_dense_replace",
                "moe_intermediate_size", "num_nextn_predict_layers"}}};
  return families;
}

}  // namespace wick
