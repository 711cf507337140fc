// Decoders by MiniMax.
#include "models/decoder/family.h"

namespace wick {

std::span<const Family> minimax_families() {
  static const Family families[] = {
      {.model_type = "minimax_m2",
       .architecture = "MiniMaxM2ForCausalLM",
       .defaults = {.vocab_size = 200064,
                    .num_attention_heads = 48,
                    .num_key_value_heads = 8,
                    .head_dim = 128,
                    .max_position_embeddings = 196608,
                    .rope_theta = 5e6,
                    .num_experts = 256,
                    .num_experts_per_tok = 8,
                    .router_scores = RouterScores::kSigmoid,
                    .router_correction = true,
                    .norm_topk_prob = true,
                    .qk_norm = QkNorm::kProjection},
       .gguf = "minimax-m2",
       .gguf_norm_topk_prob = true,
       .gguf_keys = {"rope.dimension_count", "expert_feed_forward_length"},
       .keys = {"hidden_act", "partial_rotary_factor", "rotary_dim", "num_experts_per_tok",
                "scoring_func", "use_qk_norm"},
       .renamed_keys = {{{"num_local_experts", "num_experts"}}},
       .renamed_tensors = {{{"block_sparse_moe", "mlp"},
                            {"mlp.e_score_correction_bias", "mlp.gate.e_score_correction.bias"},
                            {"w1", "gate_proj"},
                            {"w2", "down_proj"},
                            {"w3", "up_proj"}}}}};
  return families;
}

}  // namespace wick
