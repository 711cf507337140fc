// The model types that one Decoder serves: a row each, with its differences from llama.
#pragma once
#include <array>
#include <string_view>

#include "wick/models/decoder.h"

namespace wick {

/// The layers that slide where config.json has no "layer_types".
enum class Sliding {
  kNever,
  kEvery,      // every layer
  kFromLayer,  // those from "max_window_layers" on, if "use_sliding_window"
  kPattern,    // all but each "sliding_window_pattern"-th
};

struct Family {
  std::string_view model_type;
  const char* architecture;  // "architectures" of config.json

  // Values of keys that config.json lacks, as in transformers' config class. A size of 0 must be
  // there.
  int64_t vocab_size = 0;
  int64_t num_attention_heads = 0;
  double rms_norm_eps = 1e-6;
  int64_t max_position_embeddings = 2048;
  int64_t num_key_value_heads = 0;  // 0: num_attention_heads
  int64_t head_dim = 0;             // 0: hidden_size / num_attention_heads
  double rope_theta = 10000;
  double rope_local_base_freq = 0;
  int64_t sliding_window = 0;
  double query_pre_attn_scalar = 0;
  bool tie_word_embeddings = false;

  // The architecture.
  Sliding sliding = Sliding::kNever;
  HiddenAct hidden_act = HiddenAct::kSilu;
  bool qk_norm = false;
  bool output_norms = false;
  bool norm_adds_one = false;
  bool scales_embedding = false;  // by the root of hidden_size

  /// "general.architecture" of GGUF files; "": none has it. The pairs are those of their weights.
  std::string_view gguf = "";
  RopePairs gguf_pairs = RopePairs::kHalves;

  /// The keys that it reads besides kCommonKeys.
  std::array<std::string_view, 10> keys = {};
};

inline constexpr Family kFamilies[] = {
    {.model_type = "llama",
     .architecture = "LlamaForCausalLM",
     .gguf = "llama",
     .gguf_pairs = RopePairs::kAdjacent,
     .keys = {"hidden_act", "attention_bias", "mlp_bias"}},
    {.model_type = "mistral",
     .architecture = "MistralForCausalLM",
     .max_position_embeddings = 4096 * 32,
     .num_key_value_heads = 8,
     .sliding_window = 4096,
     .sliding = Sliding::kEvery,
     .keys = {"hidden_act", "sliding_window"}},
    {.model_type = "qwen3",
     .architecture = "Qwen3ForCausalLM",
     .max_position_embeddings = 32768,
     .num_key_value_heads = 32,
     .head_dim = 128,
     .sliding_window = 4096,
     .sliding = Sliding::kFromLayer,
     .qk_norm = true,
     .gguf = "qwen3",
     .keys = {"hidden_act", "attention_bias", "use_sliding_window", "sliding_window",
              "max_window_layers", "layer_types"}},
    {.model_type = "gemma3_text",
     .architecture = "Gemma3ForCausalLM",
     .vocab_size = 262208,
     .num_attention_heads = 8,
     .max_position_embeddings = 131072,
     .num_key_value_heads = 4,
     .head_dim = 256,
     .rope_theta = 1e6,
     .rope_local_base_freq = 1e4,
     .sliding_window = 4096,
     .query_pre_attn_scalar = 256,
     .tie_word_embeddings = true,
     .sliding = Sliding::kPattern,
     .hidden_act = HiddenAct::kGeluTanh,
     .qk_norm = true,
     .output_norms = true,
     .norm_adds_one = true,
     .scales_embedding = true,
     .gguf = "gemma3",
     .keys = {"attention_bias", "hidden_activation", "query_pre_attn_scalar", "sliding_window",
              "sliding_window_pattern", "layer_types", "rope_local_base_freq",
              "attn_logit_softcapping", "final_logit_softcapping"}},
};

/// The keys of config.json that every family reads.
inline constexpr std::string_view kCommonKeys[] = {"model_type",
                                                   "vocab_size",
                                                   "hidden_size",
                                                   "intermediate_size",
                                                   "num_hidden_layers",
                                                   "num_attention_heads",
                                                   "num_key_value_heads",
                                                   "head_dim",
                                                   "max_position_embeddings",
                                                   "rms_norm_eps",
                                                   "rope_theta",
                                                   "rope_scaling",
                                                   "rope_parameters",
                                                   "initializer_range",
                                                   "tie_word_embeddings",
                                                   "torch_dtype",
                                                   "dtype",
                                                   "bos_token_id",
                                                   "eos_token_id"};

/// Keys that change the results of a model type that reads them, and the number that does not.
/// Values of null, false, "", [] and {} never do. From the config classes of transformers 5.24 and
/// of the code that models on the hub bring along.
struct ChangingKey {
  std::string_view key;
  double neutral;
};
inline constexpr ChangingKey kChangingKeys[] = {
    // attention
    {"sliding_window", 0},
    {"use_sliding_window", 0},
    {"sliding_window_pattern", 0},
    {"layer_types", 0},
    {"layers_block_type", 0},
    {"full_attention_interval", 1},
    {"attention_chunk_size", 0},
    {"attention_bias", 0},
    {"attention_out_bias", 0},
    {"qkv_bias", 0},
    {"use_qkv_bias", 0},
    {"use_bias", 0},
    {"bias", 0},
    {"clip_qkv", 0},
    {"use_qk_norm", 0},
    {"qk_norm", 0},
    {"qk_layernorm", 0},
    {"attn_logit_softcapping", 0},
    {"query_pre_attn_scalar", 0},
    {"attention_multiplier", 1},
    {"attention_in_multiplier", 1},
    {"attention_out_multiplier", 1},
    {"key_multiplier", 1},
    {"use_bidirectional_attention", 0},
    {"kv_lora_rank", 0},
    {"q_lora_rank", 0},
    {"alibi", 0},
    {"multi_query", 0},
    {"parallel_attn", 0},
    {"new_decoder_architecture", 0},
    // rotary position embedding
    {"partial_rotary_factor", 1},
    {"rotary_pct", 1},
    {"rotary_dim", 0},
    {"rope_local_base_freq", 0},
    {"rope_interleaved", 0},
    {"no_rope_layers", 0},
    {"no_rope_layer_interval", 0},
    {"mrope_section", 0},
    // blocks
    {"mlp_bias", 0},
    {"use_parallel_residual", 0},
    {"parallel_residual", 0},
    {"residual_multiplier", 1},
    {"mlp_multipliers", 0},
    {"scale_depth", 0},
    {"hidden_activation", 0},
    {"norm_epsilon", 0},
    {"layer_norm_eps", 0},
    {"num_kv_shared_layers", 0},
    {"hidden_size_per_layer_input", 0},
    {"altup_num_inputs", 0},
    {"quantization_config", 0},
    // experts and state-space layers
    {"num_experts", 0},
    {"num_local_experts", 0},
    {"n_routed_experts", 0},
    {"moe_num_experts", 0},
    {"num_experts_per_tok", 0},
    {"moe_intermediate_size", 0},
    {"shared_expert_intermediate_size", 0},
    {"swiglu_limit", 0},
    {"full_attn_idxs", 0},
    // embedding and output
    {"embedding_multiplier", 1},
    {"scale_emb", 1},
    {"dim_model_base", 0},
    {"lm_head_multiplier", 1},
    {"logits_scaling", 1},
    {"logit_scale", 1},
    {"final_logit_softcapping", 0},
};

/// Keys without effect on logits, by their whole name or the beginning.
inline constexpr std::string_view kIdleKeys[] = {"architectures",
                                                 "transformers_version",
                                                 "transformers.js_config",
                                                 "use_cache",
                                                 "pad_token_id",
                                                 "unk_token_id",
                                                 "sep_token_id",
                                                 "attention_dropout",
                                                 "hidden_dropout",
                                                 "resid_pdrop",
                                                 "embd_pdrop",
                                                 "embedding_dropout",
                                                 "residual_dropout",
                                                 "pretraining_tp",
                                                 "max_window_layers",
                                                 "is_llama_config",
                                                 "auto_map",
                                                 "id2label",
                                                 "label2id",
                                                 "problem_type",
                                                 "task_specific_params",
                                                 "return_dict",
                                                 "output_attentions",
                                                 "output_hidden_states",
                                                 "output_router_logits",
                                                 "router_aux_loss_coef",
                                                 "is_decoder",
                                                 "is_encoder_decoder",
                                                 "chunk_size_feed_forward",
                                                 "name_or_path",
                                                 "cache_implementation",
                                                 "_name_or_path",
                                                 "_attn_implementation",
                                                 "_sliding_window_pattern",
                                                 "hidden_act",
                                                 "unsloth_",
                                                 "rescale_attention",
                                                 "finetuned"};

/// The row of a model_type; nullptr if there is none.
const Family* find_family(std::string_view model_type);

}  // namespace wick
