// Decoders by Tencent.
#include "models/decoder/family.h"

namespace wick {

std::span<const Family> tencent_families() {
  static const Family families[] = {
      {.model_type = "hunyuan_v1_dense",
       .architecture = "HunYuanDenseV1ForCausalLM",
       .defaults = {.vocab_size = 290943,
                    .num_attention_heads = 32,
                    .rms_norm_eps = 1e-5,
                    .qk_norm = QkNorm::kHead,
                    .qk_norm_after_rope = true,
                    .pad_token_id = 0},
       .gguf = "hunyuan-dense",
       .keys = {"hidden_act", "attention_bias", "alpha"},
       .renamed_tensors = {{{"self_attn.query_layernorm", "self_attn.q_norm"},
                            {"self_attn.key_layernorm", "self_attn.k_norm"}}}}};
  return families;
}

}  // namespace wick
