// Decoders by Alibaba.
#include "models/decoder/family.h"

namespace wick {

std::span<const Family> alibaba_families() {
  static const Family families[] = {
      {.model_type = "qwen2",
       .architecture = "Qwen2ForCausalLM",
       .defaults = {.num_key_value_heads = 32,
                    .max_position_embeddings = 32768,
                    .sliding_window = 4096,
                    .attention_bias = true},
       .sliding = Sliding::kFromLayer,
       .output_bias = OutputBias::kNever,
       .gguf = "qwen2",
       .keys = {"hidden_act", "is_causal", "use_sliding_window", "sliding_window",
                "max_window_layers", "layer_types"}},
      {.model_type = "qwen2_moe",
       .architecture = "Qwen2MoeForCausalLM",
       .defaults = {.vocab_size = 151936,
                    .num_attention_heads = 16,
                    .num_key_value_heads = 16,
                    .max_position_embeddings = 32768,
                    .sliding_window = 4096,
                    .attention_bias = true,
                    .num_experts = 60,
                    .num_experts_per_tok = 4,
                    .moe_intermediate_size = 1408,
                    .shared_expert_intermediate_size = 5632},
       .sliding = Sliding::kEven,
       .output_bias = OutputBias::kNever,
       .gguf = "qwen2moe",
       .keys = {"hidden_act", "use_sliding_window", "sliding_window", "max_window_layers",
                "layer_types", "num_experts", "num_experts_per_tok", "moe_intermediate_size",
                "shared_expert_intermediate_size", "norm_topk_prob", "decoder_sparse_step",
                "mlp_only_layers"},
       .renamed_keys = {{{"qkv_bias", "attention_bias"}, {"num_local_experts", "num_experts"}}}},
      {.model_type = "qwen3",
       .architecture = "Qwen3ForCausalLM",
       .defaults = {.num_key_value_heads = 32,
                    .head_dim = 128,
                    .max_position_embeddings = 32768,
                    .sliding_window = 4096,
                    .qk_norm = QkNorm::kHead},
       .sliding = Sliding::kFromLayer,
       .gguf = "qwen3",
       .keys = {"hidden_act", "attention_bias", "use_sliding_window", "sliding_window",
                "max_window_layers", "layer_types"}},
      {
          .model_type = "qwen3_moe",
          .architecture = "Qwen3MoeForCausalLM",
          .defaults = {.vocab_size = 151936,
                       .num_attention_heads = 32,
                       .num_key_value_heads = 4,
                       .max_position_embeddings = 32768,
                       .sliding_window = 4096,
                       .num_experts = 128,
                       .num_experts_per_tok = 8,
                       .moe_intermediate_size = 768,
                       .qk_norm = QkNorm::kHead},
          .sliding = Sliding::kEvery,
          .gguf = "qwen3moe",
          .gguf_norm_topk_prob = true,
          .keys = {"hidden_act", "attention_bias", "use_sliding_window", "sliding_window",
                   "num_experts", "num_experts_per_tok", "moe_intermediate_size", "norm_topk_prob",
                   "decoder_sparse_step", "mlp_only_layers"},
          .renamed_keys = {{{"num_local_experts", "num_experts"}}}  // transformers 5
      }};
  return families;
}

}  // namespace wick
