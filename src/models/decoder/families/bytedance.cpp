// Decoders by ByteDance.
#include "models/decoder/family.h"

namespace wick {

std::span<const Family> bytedance_families() {
  static const Family families[] = {
      {.model_type = "seed_oss",
       .architecture = "SeedOssForCausalLM",
       .defaults = {.vocab_size = 155136,
                    .num_attention_heads = 80,
                    .num_key_value_heads = 8,
                    .head_dim = 128,
                    .max_position_embeddings = 524288,
                    .attention_bias = true,
                    .pad_token_id = 1},
       .output_bias = OutputBias::kNever,
       .gguf = "seed_oss",
       .gguf_mlp_norm = "post_attention_norm",
       .keys = {"hidden_act", "attention_bias", "mlp_bias"},
       .renamed_keys = {{{"attention_out_bias", "attention_output_bias"}}}}};
  return families;
}

}  // namespace wick
