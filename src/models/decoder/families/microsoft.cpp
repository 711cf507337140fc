// Decoders by Microsoft.
#include "models/decoder/family.h"

namespace wick {

std::span<const Family> microsoft_families() {
  static const Family families[] = {
      {.model_type = "phi",
       .architecture = "PhiForCausalLM",
       .defaults = {.vocab_size = 51200,
                    .num_attention_heads = 32,
                    .rms_norm_eps = 1e-5,
                    .hidden_act = HiddenAct::kGeluTanh,
                    .attention_bias = true,
                    .mlp_bias = true,
                    .lm_head_bias = true,
                    .gated_mlp = false,
                    .norm_type = NormType::kLayer,
                    .parallel_residual = true,
                    .qk_norm = QkNorm::kHead},
       .partial_rotary_factor = 0.5,
       .gguf = "phi2",
       .gguf_qk_norm = false,
       .gguf_keys = {"rope.dimension_count"},
       .gguf_implied = {"rope.freq_base"},
       .keys = {"hidden_act", "partial_rotary_factor", "qk_layernorm"},
       .renamed_keys = {{{"layer_norm_eps", "rms_norm_eps"}}},
       .renamed_tensors = {{{"q_layernorm", "q_norm"},
                            {"k_layernorm", "k_norm"},
                            {"self_attn.dense", "self_attn.o_proj"},
                            {"mlp.fc1", "mlp.up_proj"},
                            {"mlp.fc2", "mlp.down_proj"},
                            {"final_layernorm", "norm"}}}},
      {.model_type = "phi3",
       .architecture = "Phi3ForCausalLM",
       .defaults = {.vocab_size = 32064,
                    .num_attention_heads = 32,
                    .max_position_embeddings = 4096,
                    .rms_norm_eps = 1e-5,
                    .pad_token_id = 32000},
       .sliding = Sliding::kEvery,
       .gguf = "phi3",
       .gguf_keys = {"rope.dimension_count", "attention.sliding_window",
                     "rope.scaling.original_context_length"},
       .keys = {"hidden_act", "sliding_window", "partial_rotary_factor",
                "original_max_position_embeddings"},
       .fused_tensors = {"self_attn.qkv_proj", "mlp.gate_up_proj"}}};
  return families;
}

}  // namespace wick
