// Decoders by Meta.
#include "models/decoder/family.h"

namespace wick {

std::span<const Family> meta_families() {
  static const Family families[] = {
      {.model_type = "llama",
       .architecture = "LlamaForCausalLM",
       .gguf = "llama",
       .gguf_pairs = RopePairs::kAdjacent,
       .gguf_keys = {"vocab_size", "rope.dimension_count"},
       .keys = {"hidden_act", "attention_bias", "mlp_bias"}},
      {.model_type = "llama4_text",
       .architecture = "Llama4ForCausalLM",
       .defaults = {.vocab_size = 202048,
                    .intermediate_size = 16384,
                    .num_attention_heads = 40,
                    .num_key_value_heads = 8,
                    .head_dim = 128,
                    .max_position_embeddings = 131072,
                    .rms_norm_eps = 1e-5,
                    .rope_theta = 500000,
                    .rope_pairs = RopePairs::kAdjacent,
                    .sliding_window = 8192,
                    .chunked_windows = true,
                    .num_experts = 16,
                    .num_experts_per_tok = 1,
                    .moe_intermediate_size = 8192,
                    .shared_expert_gate = false,
                    .router_scores = RouterScores::kSigmoid,
                    .scales_expert_inputs = true,
                    .qk_norm = QkNorm::kRotated,
                    .qk_norm_after_rope = true,
                    .attn_scale = 0.1},
       .sliding = Sliding::kRotated,
       .layer_names = {{{"chunked_attention", LayerType::kSliding}}},
       .no_rope_layer_interval = 4,
       .n_shared_experts = 1,
       .gguf = "llama4",
       .gguf_pairs = RopePairs::kAdjacent,
       .gguf_keys = {"vocab_size", "rope.dimension_count", "expert_feed_forward_length"},
       .keys = {"hidden_act", "attention_bias", "no_rope_layers", "no_rope_layer_interval",
                "layer_types", "num_experts_per_tok", "moe_layers", "use_qk_norm",
                "attn_temperature_tuning", "attn_scale", "floor_scale"},
       .renamed_keys = {{{"num_local_experts", "num_experts"},
                         {"attention_chunk_size", "sliding_window"},
                         {"intermediate_size_mlp", "intermediate_size"},
                         {"intermediate_size", "moe_intermediate_size"},
                         {"interleave_moe_layer_step", "moe_layer_interval"}}},
       .renamed_tensors = {{{"feed_forward", "mlp"},
                            {"mlp.router", "mlp.gate"},
                            {"experts.gate_up_proj", "experts.gate_up_proj.weight"},
                            {"experts.down_proj", "experts.down_proj.weight"}}},
       .fused_tensors = {"mlp.experts.gate_up_proj"},
       .transposed_experts = true}};
  return families;
}

}  // namespace wick
