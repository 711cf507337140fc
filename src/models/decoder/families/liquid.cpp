// Decoders by Liquid AI.
#include "models/decoder/family.h"

namespace wick {

std::span<const Family> liquid_families() {
  static const Family families[] = {
      {.model_type = "lfm2",
       .architecture = "Lfm2ForCausalLM",
       .defaults = {.vocab_size = 65536,
                    .hidden_size = 2560,
                    .intermediate_size = 12288,
                    .num_hidden_layers = 32,
                    .num_attention_heads = 32,
                    .num_key_value_heads = 8,
                    .max_position_embeddings = 128000,
                    .rms_norm_eps = 1e-5,
                    .rope_theta = 1e6,
                    .conv1d_width = 3,
                    .qk_norm = QkNorm::kHead,
                    .tie_word_embeddings = true,
                    .bos_token_ids = {1},
                    .eos_token_ids = {2},
                    .pad_token_id = 0},
       .layer_names = {{{"conv", LayerType::kConv}}},
       .gguf = "lfm2",
       .gguf_heads_by_layer = true,
       .gguf_output_norm = "token_embd_norm",
       .gguf_keys = {"vocab_size"},
       .keys = {"layer_types", "full_attn_idxs", "conv_bias", "block_ff_dim", "block_multiple_of",
                "block_ffn_dim_multiplier", "block_auto_adjust_ff_dim"},
       .renamed_keys = {{{"norm_eps", "rms_norm_eps"},
                         {"conv_L_cache", "conv1d_width"},
                         {"tie_embedding", "tie_word_embeddings"}}},
       .renamed_tensors = {{{"operator_norm", "input_layernorm"},
                            {"ffn_norm", "post_attention_layernorm"},
                            {"embedding_norm", "norm"},
                            {"self_attn.out_proj", "self_attn.o_proj"},
                            {"q_layernorm", "q_norm"},
                            {"k_layernorm", "k_norm"},
                            {"feed_forward.w1", "mlp.gate_proj"},
                            {"feed_forward.w3", "mlp.up_proj"},
                            {"feed_forward.w2", "mlp.down_proj"}}}}};
  return families;
}

}  // namespace wick
