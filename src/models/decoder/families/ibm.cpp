// Decoders by IBM.
#include "models/decoder/family.h"

namespace wick {

std::span<const Family> ibm_families() {
  static const Family families[] = {
      {.model_type = "granite",
       .architecture = "GraniteForCausalLM",
       .defaults = {.attention_multiplier = 1},
       .gguf = "granite",
       .gguf_pairs = RopePairs::kAdjacent,
       .gguf_keys = {"vocab_size", "rope.dimension_count"},
       .keys = {"hidden_act", "attention_bias", "mlp_bias", "embedding_multiplier",
                "logits_scaling", "residual_multiplier", "attention_multiplier"}},
      {.model_type = "granitemoe",
       .architecture = "GraniteMoeForCausalLM",
       .defaults = {.vocab_size = 32000,
                    .num_attention_heads = 32,
                    .num_experts = 8,
                    .num_experts_per_tok = 2,
                    .norm_topk_prob = true,
                    .attention_multiplier = 1},
       .gguf = "granitemoe",
       .gguf_pairs = RopePairs::kAdjacent,
       .gguf_norm_topk_prob = true,
       .gguf_keys = {"vocab_size", "rope.dimension_count"},
       .keys = {"hidden_act", "attention_bias", "embedding_multiplier", "logits_scaling",
                "residual_multiplier", "attention_multiplier", "num_experts_per_tok"},
       .renamed_keys = {{{"num_local_experts", "num_experts"}}},
       .renamed_tensors = {{{"block_sparse_moe", "mlp"},
                            {"mlp.input_linear", "mlp.experts.gate_up_proj"},
                            {"mlp.output_linear", "mlp.experts.down_proj"},
                            {"mlp.router.layer", "mlp.gate"},
                            {"mlp.router", "mlp.gate"}}}  // transformers 5
       ,
       .fused_tensors = {"mlp.experts.gate_up_proj"}}};
  return families;
}

}  // namespace wick
