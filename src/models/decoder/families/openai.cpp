// Decoders by OpenAI.
#include "models/decoder/family.h"

namespace wick {

std::span<const Family> openai_families() {
  static const Family families[] = {{.model_type = "gpt2",
                                     .architecture = "GPT2LMHeadModel",
                                     .defaults = {.vocab_size = 50257,
                                                  .num_attention_heads = 12,
                                                  .max_position_embeddings = 1024,
                                                  .rms_norm_eps = 1e-5,
                                                  .hidden_act = HiddenAct::kGeluTanh,
                                                  .learned_positions = true,
                                                  .attention_bias = true,
                                                  .mlp_bias = true,
                                                  .gated_mlp = false,
                                                  .norm_type = NormType::kLayer,
                                                  .tie_word_embeddings = true},
                                     .intermediate_factor = 4,
                                     .gguf = "gpt2",
                                     .gguf_implied = {"rope.freq_base", "attention.head_count_kv"},
                                     .keys = {"hidden_act"},
                                     .renamed_keys = {{{"layer_norm_epsilon", "rms_norm_eps"},
                                                       {"activation_function", "hidden_act"},
                                                       {"n_embd", "hidden_size"},
                                                       {"n_head", "num_attention_heads"},
                                                       {"n_layer", "num_hidden_layers"},
                                                       {"n_positions", "max_position_embeddings"},
                                                       {"n_inner", "intermediate_size"}}},
                                     .renamed_tensors = {{{"wte", "model.embed_tokens"},
                                                          {"wpe", "model.embed_positions"},
                                                          {"ln_f", "model.norm"},
                                                          {"h", "model.layers"},
                                                          {"ln_1", "input_layernorm"},
                                                          {"ln_2", "post_attention_layernorm"},
                                                          {"attn.c_attn", "self_attn.qkv_proj"},
                                                          {"attn.c_proj", "self_attn.o_proj"},
                                                          {"mlp.c_fc", "mlp.up_proj"},
                                                          {"mlp.c_proj", "mlp.down_proj"}}},
                                     .fused_tensors = {"self_attn.qkv_proj"},
                                     .transposed_weights = true}};
  return families;
}

}  // namespace wick
