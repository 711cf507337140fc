// Decoders by Stability AI.
#include "models/decoder/family.h"

namespace wick {

std::span<const Family> stability_families() {
  static const Family families[] = {
      {.model_type = "stablelm",
       .architecture = "StableLmForCausalLM",
       .defaults = {.vocab_size = 50304,
                    .num_attention_heads = 32,
                    .num_key_value_heads = 32,
                    .max_position_embeddings = 4096,
                    .rms_norm_eps = 1e-5,
                    .norm_type = NormType::kLayer,
                    .qk_norm = QkNorm::kEachHead},
       .partial_rotary_factor = 0.25,
       .output_bias = OutputBias::kNever,
       .gguf = "stablelm",
       .gguf_keys = {"rope.dimension_count"},
       .gguf_implied = {"rope.freq_base"},
       .keys = {"hidden_act", "partial_rotary_factor", "qk_layernorm", "use_parallel_residual"},
       .renamed_keys = {{{"layer_norm_eps", "rms_norm_eps"}, {"use_qkv_bias", "attention_bias"}}},
       .renamed_tensors = {{{"q_layernorm", "q_norm"}, {"k_layernorm", "k_norm"}}}}};
  return families;
}

}  // namespace wick
