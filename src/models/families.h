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
  kUnrotated,  // those without rope, if "use_sliding_window"
};

/// A name in the files of a family, and the name that wick gives it.
struct Rename {
  std::string_view file, wick;
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
  int64_t intermediate_factor = 0;  // of intermediate_size over hidden_size
  double rope_theta = 10000;
  double rope_local_base_freq = 0;
  int64_t sliding_window = 0;
  int64_t sliding_window_pattern = 6;
  double query_pre_attn_scalar = 0;
  double attention_multiplier = 0;
  double attn_logit_softcapping = 0;
  double final_logit_softcapping = 0;
  double partial_rotary_factor = 1;
  int64_t no_rope_layer_interval = 0;  // every n-th layer has no rope; 0: all have it
  bool attention_bias = false;         // of q, k and v
  bool mlp_bias = false;
  bool tie_word_embeddings = false;

  // The architecture.
  Sliding sliding = Sliding::kNever;
  HiddenAct hidden_act = HiddenAct::kSilu;
  NormType norm_type = NormType::kRms;
  NormPlaces norm_places = NormPlaces::kInputs;
  QkNorm qk_norm = QkNorm::kNone;
  RopePairs rope_pairs = RopePairs::kHalves;
  bool attention_output_bias = true;  // o has a bias where q, k and v have one
  bool lm_head_bias = false;
  bool gated_mlp = true;
  bool norm_adds_one = false;
  bool scales_embedding = false;  // by the root of hidden_size
  bool parallel_residual = false;
  bool learned_positions = false;

  /// "general.architecture" of GGUF files; "": none has it. The pairs are those of their weights.
  std::string_view gguf = "";
  RopePairs gguf_pairs = RopePairs::kHalves;
  int64_t gguf_share_layers = 0;  // files with this many layers scale scores by hidden_size / heads

  /// The keys that it reads besides kCommonKeys.
  std::array<std::string_view, 12> keys = {};
  /// Keys that it has under names of its own; wick's names need not be in `keys`.
  std::array<Rename, 7> renamed_keys = {};
  /// Parts of the names of tensors in folders, between dots, replaced in this order.
  std::array<Rename, 12> renamed_tensors = {};
  bool transposed_weights = false;  // folders have the weights of layers as [in, out]
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
     .qk_norm = QkNorm::kHead,
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
     .norm_places = NormPlaces::kBoth,
     .qk_norm = QkNorm::kHead,
     .norm_adds_one = true,
     .scales_embedding = true,
     .gguf = "gemma3",
     .gguf_share_layers = 62,
     .keys = {"attention_bias", "hidden_activation", "query_pre_attn_scalar", "sliding_window",
              "sliding_window_pattern", "layer_types", "rope_local_base_freq",
              "attn_logit_softcapping", "final_logit_softcapping"}},
    {.model_type = "qwen2",
     .architecture = "Qwen2ForCausalLM",
     .max_position_embeddings = 32768,
     .num_key_value_heads = 32,
     .sliding_window = 4096,
     .attention_bias = true,
     .sliding = Sliding::kFromLayer,
     .attention_output_bias = false,
     .gguf = "qwen2",
     .keys = {"hidden_act", "use_sliding_window", "sliding_window", "max_window_layers",
              "layer_types"}},
    {.model_type = "smollm3",
     .architecture = "SmolLM3ForCausalLM",
     .vocab_size = 128256,
     .num_attention_heads = 16,
     .max_position_embeddings = 32768,
     .num_key_value_heads = 4,
     .rope_theta = 2e6,
     .no_rope_layer_interval = 4,
     .tie_word_embeddings = true,
     .sliding = Sliding::kUnrotated,
     .gguf = "smollm3",
     .gguf_pairs = RopePairs::kAdjacent,
     .keys = {"hidden_act", "attention_bias", "mlp_bias", "use_sliding_window", "sliding_window",
              "layer_types", "no_rope_layers", "no_rope_layer_interval"}},
    {.model_type = "gemma",
     .architecture = "GemmaForCausalLM",
     .vocab_size = 256000,
     .num_attention_heads = 16,
     .max_position_embeddings = 8192,
     .num_key_value_heads = 16,
     .head_dim = 256,
     .tie_word_embeddings = true,
     .hidden_act = HiddenAct::kGeluTanh,
     .norm_adds_one = true,
     .scales_embedding = true,
     .gguf = "gemma",
     .keys = {"attention_bias", "hidden_activation"}},
    {.model_type = "gemma2",
     .architecture = "Gemma2ForCausalLM",
     .vocab_size = 256000,
     .num_attention_heads = 8,
     .max_position_embeddings = 8192,
     .num_key_value_heads = 4,
     .head_dim = 256,
     .sliding_window = 4096,
     .sliding_window_pattern = 2,
     .query_pre_attn_scalar = 256,
     .attn_logit_softcapping = 50,
     .final_logit_softcapping = 30,
     .tie_word_embeddings = true,
     .sliding = Sliding::kPattern,
     .hidden_act = HiddenAct::kGeluTanh,
     .norm_places = NormPlaces::kBoth,
     .norm_adds_one = true,
     .scales_embedding = true,
     .gguf = "gemma2",
     .gguf_share_layers = 46,
     .keys = {"attention_bias", "hidden_activation", "query_pre_attn_scalar", "sliding_window",
              "layer_types", "attn_logit_softcapping", "final_logit_softcapping"}},
    {.model_type = "granite",
     .architecture = "GraniteForCausalLM",
     .attention_multiplier = 1,
     .gguf = "granite",
     .gguf_pairs = RopePairs::kAdjacent,
     .keys = {"hidden_act", "attention_bias", "mlp_bias", "embedding_multiplier", "logits_scaling",
              "residual_multiplier", "attention_multiplier"}},
    {.model_type = "olmo",
     .architecture = "OlmoForCausalLM",
     .vocab_size = 50304,
     .rms_norm_eps = 1e-5,
     .norm_type = NormType::kLayerPlain,
     .gguf = "olmo",
     .gguf_pairs = RopePairs::kAdjacent,
     .keys = {"hidden_act", "attention_bias", "clip_qkv"}},
    {.model_type = "olmo2",
     .architecture = "Olmo2ForCausalLM",
     .vocab_size = 50304,
     .rms_norm_eps = 1e-5,
     .norm_places = NormPlaces::kOutputs,
     .qk_norm = QkNorm::kProjection,
     .gguf = "olmo2",
     .keys = {"hidden_act", "attention_bias"}},
    {.model_type = "phi3",
     .architecture = "Phi3ForCausalLM",
     .vocab_size = 32064,
     .num_attention_heads = 32,
     .rms_norm_eps = 1e-5,
     .max_position_embeddings = 4096,
     .sliding = Sliding::kEvery,
     .gguf = "phi3",
     .keys = {"hidden_act", "sliding_window", "partial_rotary_factor",
              "original_max_position_embeddings"}},
    {.model_type = "starcoder2",
     .architecture = "Starcoder2ForCausalLM",
     .vocab_size = 49152,
     .num_attention_heads = 24,
     .rms_norm_eps = 1e-5,
     .max_position_embeddings = 4096,
     .num_key_value_heads = 2,
     .attention_bias = true,
     .mlp_bias = true,
     .tie_word_embeddings = true,
     .sliding = Sliding::kEvery,
     .hidden_act = HiddenAct::kGeluTanh,
     .norm_type = NormType::kLayer,
     .gated_mlp = false,
     .gguf = "starcoder2",
     .keys = {"hidden_act", "sliding_window"},
     .renamed_keys = {{{"norm_epsilon", "rms_norm_eps"},
                       {"use_bias", "attention_bias"},
                       {"use_bias", "mlp_bias"}}},
     .renamed_tensors = {{{"mlp.c_fc", "mlp.up_proj"}, {"mlp.c_proj", "mlp.down_proj"}}}},
    {.model_type = "stablelm",
     .architecture = "StableLmForCausalLM",
     .vocab_size = 50304,
     .num_attention_heads = 32,
     .rms_norm_eps = 1e-5,
     .max_position_embeddings = 4096,
     .num_key_value_heads = 32,
     .partial_rotary_factor = 0.25,
     .norm_type = NormType::kLayer,
     .qk_norm = QkNorm::kEachHead,
     .attention_output_bias = false,
     .gguf = "stablelm",
     .keys = {"hidden_act", "partial_rotary_factor", "qk_layernorm", "use_parallel_residual"},
     .renamed_keys = {{{"layer_norm_eps", "rms_norm_eps"}, {"use_qkv_bias", "attention_bias"}}},
     .renamed_tensors = {{{"q_layernorm", "q_norm"}, {"k_layernorm", "k_norm"}}}},
    {.model_type = "glm4",
     .architecture = "Glm4ForCausalLM",
     .vocab_size = 151552,
     .num_attention_heads = 32,
     .rms_norm_eps = 1.5625e-7,
     .max_position_embeddings = 131072,
     .num_key_value_heads = 2,
     .head_dim = 128,
     .partial_rotary_factor = 0.5,
     .attention_bias = true,
     .norm_places = NormPlaces::kBoth,
     .rope_pairs = RopePairs::kAdjacent,
     .attention_output_bias = false,
     .gguf = "glm4",
     .gguf_pairs = RopePairs::kAdjacent,
     .keys = {"hidden_act", "attention_bias", "partial_rotary_factor"},
     .renamed_tensors = {{{"post_attention_layernorm", "pre_feedforward_layernorm"},
                          {"post_self_attn_layernorm", "post_attention_layernorm"},
                          {"post_mlp_layernorm", "post_feedforward_layernorm"}}}},
    {.model_type = "glm",
     .architecture = "GlmForCausalLM",
     .vocab_size = 151552,
     .num_attention_heads = 32,
     .rms_norm_eps = 1.5625e-7,
     .max_position_embeddings = 131072,
     .num_key_value_heads = 2,
     .head_dim = 128,
     .partial_rotary_factor = 0.5,
     .attention_bias = true,
     .rope_pairs = RopePairs::kAdjacent,
     .attention_output_bias = false,
     .keys = {"hidden_act", "attention_bias", "partial_rotary_factor"}},
    {.model_type = "phi",
     .architecture = "PhiForCausalLM",
     .vocab_size = 51200,
     .num_attention_heads = 32,
     .rms_norm_eps = 1e-5,
     .partial_rotary_factor = 0.5,
     .attention_bias = true,
     .mlp_bias = true,
     .hidden_act = HiddenAct::kGeluTanh,
     .norm_type = NormType::kLayer,
     .lm_head_bias = true,
     .gated_mlp = false,
     .parallel_residual = true,
     .gguf = "phi2",
     .keys = {"hidden_act", "partial_rotary_factor"},
     .renamed_keys = {{{"layer_norm_eps", "rms_norm_eps"}}},
     .renamed_tensors = {{{"self_attn.dense", "self_attn.o_proj"},
                          {"mlp.fc1", "mlp.up_proj"},
                          {"mlp.fc2", "mlp.down_proj"},
                          {"final_layernorm", "norm"}}}},
    {.model_type = "gpt2",
     .architecture = "GPT2LMHeadModel",
     .vocab_size = 50257,
     .num_attention_heads = 12,
     .rms_norm_eps = 1e-5,
     .max_position_embeddings = 1024,
     .intermediate_factor = 4,
     .attention_bias = true,
     .mlp_bias = true,
     .tie_word_embeddings = true,
     .hidden_act = HiddenAct::kGeluTanh,
     .norm_type = NormType::kLayer,
     .gated_mlp = false,
     .learned_positions = true,
     .gguf = "gpt2",
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
     .transposed_weights = true},
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
/// true and false count as 1 and 0; null, "", [] and {} never change results. From the config classes of transformers 5.24 and
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
    {"is_causal", 1},
    {"scale_attn_weights", 1},
    {"scale_attn_by_inverse_layer_idx", 0},
    {"add_cross_attention", 0},
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
    {"use_mrope", 0},
    {"short_factor", 0},
    {"long_factor", 0},
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
                                                 "attn_pdrop",
                                                 "summary_",
                                                 "n_ctx",
                                                 "reorder_and_upcast_attn",
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
