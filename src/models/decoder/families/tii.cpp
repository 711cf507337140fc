// Decoders by the Technology Innovation Institute.
#include "models/decoder/family.h"

namespace wick {

std::span<const Family> tii_families() {
  static const Family families[] = {
      {.model_type = "falcon",
       .architecture = "FalconForCausalLM",
       .defaults = {.vocab_size = 65024,
                    .num_attention_heads = 71,
                    .rms_norm_eps = 1e-5,
                    .hidden_act = HiddenAct::kGelu,
                    .gated_mlp = false,
                    .norm_type = NormType::kLayer,
                    .parallel_residual = true,
                    .tie_word_embeddings = true},
       .intermediate_factor = 4,
       .gguf = "falcon",
       .gguf_keys = {"tensor_data_layout"},
       .gguf_implied = {"rope.freq_base"},
       .keys = {"hidden_act", "alibi", "multi_query", "new_decoder_architecture", "parallel_attn",
                "num_ln_in_parallel_attn"},
       .renamed_keys = {{{"layer_norm_epsilon", "rms_norm_eps"},
                         {"activation", "hidden_act"},
                         {"bias", "attention_bias"},
                         {"bias", "mlp_bias"},
                         {"ffn_hidden_size", "intermediate_size"},
                         {"num_kv_heads", "num_key_value_heads"}}},
       .renamed_tensors = {{{"word_embeddings", "model.embed_tokens"},
                            {"ln_f", "model.norm"},
                            {"h", "model.layers"},
                            {"ln_attn", "pre_attention_layernorm"},
                            {"ln_mlp", "pre_feedforward_layernorm"},
                            {"self_attention.query_key_value", "self_attn.qkv_proj"},
                            {"self_attention.dense", "self_attn.o_proj"},
                            {"mlp.dense_h_to_4h", "mlp.up_proj"},
                            {"mlp.dense_4h_to_h", "mlp.down_proj"}}},
       .fused_tensors = {"self_attn.qkv_proj"},
       .derives_head_dim = true,
       .grouped_qkv = true}};
  return families;
}

}  // namespace wick
