// Decoders by the Allen Institute for AI.
#include "models/decoder/family.h"

namespace wick {

std::span<const Family> ai2_families() {
  static const Family families[] = {
      {.model_type = "olmo",
       .architecture = "OlmoForCausalLM",
       .defaults = {.vocab_size = 50304,
                    .rms_norm_eps = 1e-5,
                    .norm_type = NormType::kLayerPlain,
                    .pad_token_id = 1},
       .gguf = "olmo",
       .gguf_pairs = RopePairs::kAdjacent,
       .keys = {"hidden_act", "attention_bias", "clip_qkv"}},
      {.model_type = "olmo2",
       .architecture = "Olmo2ForCausalLM",
       .defaults = {.vocab_size = 50304,
                    .rms_norm_eps = 1e-5,
                    .norm_places = NormPlaces::kOutputs,
                    .qk_norm = QkNorm::kProjection,
                    .pad_token_id = 1},
       .gguf = "olmo2",
       .keys = {"hidden_act", "attention_bias"}},
      {.model_type = "olmo3",
       .architecture = "Olmo3ForCausalLM",
       .defaults = {.vocab_size = 50304,
                    .num_attention_heads = 32,
                    .rms_norm_eps = 1e-5,
                    .rope_theta = 5e5,
                    .rope_local_base_freq = 5e5,
                    .sliding_window = 4096,
                    .norm_places = NormPlaces::kOutputs,
                    .qk_norm = QkNorm::kProjection,
                    .pad_token_id = 1},
       .sliding = Sliding::kPattern,
       .sliding_window_pattern = 4,
       .gguf = "olmo2",
       .gguf_keys = {"attention.sliding_window", "attention.sliding_window_pattern"},
       .keys = {"hidden_act", "attention_bias", "sliding_window", "layer_types",
                "rope_local_base_freq", "rope_parameters"}},
      {.model_type = "olmoe",
       .architecture = "OlmoeForCausalLM",
       .defaults = {.vocab_size = 50304,
                    .num_attention_heads = 16,
                    .max_position_embeddings = 4096,
                    .rms_norm_eps = 1e-5,
                    .num_experts = 64,
                    .num_experts_per_tok = 8,
                    .qk_norm = QkNorm::kProjection,
                    .pad_token_id = 1},
       .gguf = "olmoe",
       .keys = {"hidden_act", "attention_bias", "clip_qkv", "num_experts", "num_experts_per_tok",
                "norm_topk_prob"},
       .renamed_keys = {{{"num_local_experts", "num_experts"}}}}};
  return families;
}

}  // namespace wick
