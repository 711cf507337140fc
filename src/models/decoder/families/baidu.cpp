// Decoders by Baidu.
#include "models/decoder/family.h"

namespace wick {

std::span<const Family> baidu_families() {
  static const Family families[] = {
      {.model_type = "ernie4_5",
       .architecture = "Ernie4_5ForCausalLM",
       .defaults = {.vocab_size = 103424,
                    .num_attention_heads = 16,
                    .num_key_value_heads = 2,
                    .head_dim = 128,
                    .max_position_embeddings = 131072,
                    .rms_norm_eps = 1e-5,
                    .rope_theta = 5e5,
                    .rope_pairs = RopePairs::kAdjacent,
                    .tie_word_embeddings = true,
                    .pad_token_id = 0},
       .gguf = "ernie4_5",
       .gguf_pairs = RopePairs::kAdjacent,
       .keys = {"hidden_act"},
       .renamed_keys = {{{"use_bias", "attention_bias"}, {"use_bias", "mlp_bias"}}}}};
  return families;
}

}  // namespace wick
