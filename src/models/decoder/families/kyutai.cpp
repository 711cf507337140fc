// Decoders by Kyutai.
#include "models/decoder/family.h"

namespace wick {

std::span<const Family> kyutai_families() {
  static const Family families[] = {{.model_type = "helium",
                                     .architecture = "HeliumForCausalLM",
                                     .defaults = {.vocab_size = 48000,
                                                  .num_attention_heads = 20,
                                                  .num_key_value_heads = 20,
                                                  .head_dim = 128,
                                                  .max_position_embeddings = 4096,
                                                  .rms_norm_eps = 1e-8,
                                                  .rope_theta = 1e5,
                                                  .rope_pairs = RopePairs::kAdjacent,
                                                  .pad_token_id = 3},
                                     .output_bias = OutputBias::kNever,
                                     .keys = {"hidden_act", "attention_bias", "mlp_bias"}}};
  return families;
}

}  // namespace wick
