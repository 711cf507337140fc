// Decoders of state-space layers alone.
#include "models/decoder/family.h"

namespace wick {

std::span<const Family> state_spaces_families() {
  static const Family families[] = {
      {.model_type = "mamba2",
       .architecture = "Mamba2ForCausalLM",
       .defaults = {.vocab_size = 32768,
                    .hidden_size = 4096,
                    .num_hidden_layers = 64,
                    .num_attention_heads = 1,
                    .num_key_value_heads = 1,
                    .head_dim = 2,
                    .max_position_embeddings = 1 << 20,  // nothing limits it; llama.cpp's number
                    .rms_norm_eps = 1e-5,
                    .mamba_num_heads = 128,
                    .mamba_head_dim = 64,
                    .mamba_num_groups = 8,
                    .mamba_state_size = 128,
                    .has_mlps = false,
                    .residual_in_f32 = true,
                    .initializer_range = 0.1,
                    .pad_token_id = 1},
       .intermediate_factor = 1,
       .layer_names = {{{"mamba", LayerType::kMamba}}},
       .layer_type = LayerType::kMamba,
       .gguf = "mamba2",
       .gguf_keys = {"ssm.conv_kernel", "ssm.state_size", "ssm.group_count", "ssm.inner_size",
                     "ssm.time_step_rank"},
       .keys = {"time_step_limit", "residual_in_fp32", "hidden_act"},
       .lacks_keys = {"num_attention_heads", "num_key_value_heads", "head_dim", "intermediate_size",
                      "rope_theta", "rope_scaling"},
       .renamed_keys = {{{"layer_norm_epsilon", "rms_norm_eps"},
                         {"num_heads", "mamba_n_heads"},
                         {"head_dim", "mamba_d_head"},
                         {"state_size", "mamba_d_state"},
                         {"n_groups", "mamba_n_groups"},
                         {"expand", "mamba_expand"},
                         {"conv_kernel", "conv1d_width"},
                         {"use_bias", "mamba_proj_bias"},
                         {"use_conv_bias", "mamba_conv_bias"}}},
       .renamed_tensors = {{{"lm_head", "lm_head"},
                            {"mixer", "mamba"},
                            {"mamba.norm", "mamba.gate_norm"},
                            {"norm", "input_layernorm"},
                            {"norm_f", "norm"},
                            {"embeddings", "embed_tokens"},
                            {"embedding", "embed_tokens"},
                            {"backbone", "model"},
                            {"model.model", "model"},  // as Codestral's
                            {"model.lm_head", "lm_head"}}}}};
  return families;
}

}  // namespace wick
