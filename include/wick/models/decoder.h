// Decoder-only transformers: one implementation, configured by config.json.
#pragma once
#include <array>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "wick/base/settings.h"
#include "wick/models/causal_model.h"
#include "wick/nn/parameters.h"
#include "wick/ops/rope.h"
#include "wick/ops/routing.h"

namespace wick {

/// The part of a layer that mixes a text's tokens.
enum class LayerType {
  kFull,       // attention to all keys up to the query's position
  kSliding,    // attention to the last sliding_window of those
  kRecurrent,  // a real-gated linear recurrent unit
  kMamba,      // a state-space layer of Mamba 2
  kConv,       // a gated short convolution
  kDelta,      // linear attention by the gated delta rule
};
/// The function applied to the gate of an MLP; without a gate, to its first layer.
enum class HiddenAct { kSilu, kGelu, kGeluTanh };
/// The normalization of hidden states.
enum class NormType {
  kRms,          // rms_norm
  kLayer,        // layer_norm with weight and bias
  kLayerWeight,  // layer_norm with weight alone
  kLayerPlain,   // layer_norm without either
  kRmsPlain,     // rms_norm without weight
};
/// The normalized values of a block: the inputs of attention and MLP, their outputs, or both.
enum class NormPlaces { kInputs, kOutputs, kBoth };
/// How queries and keys are normalized.
enum class QkNorm {
  kNone,
  kHead,        // each head by itself by the model's norm, with one weight for all heads
  kEachHead,    // each head by itself by layer_norm, with a weight per head and no bias
  kProjection,  // all heads together
  kRotated,     // in layers with rope each head by itself by rms_norm without weight
};

/// How a Mamba layer normalizes its output, group by group, beside the gate that multiplies it.
enum class GateNorm { kNone, kBeforeGate, kAfterGate };

/// Sizes and options of a model, named as in config.json of HuggingFace's transformers. A model
/// needs all sizes up to max_position_embeddings.
struct DecoderConfig {
  static constexpr int64_t kMaxLayers = 1 << 16;

  std::string model_type = "llama";
  int64_t vocab_size = 0;
  int64_t hidden_size = 0;
  int64_t intermediate_size = 0;
  int64_t num_hidden_layers = 0;
  int64_t num_attention_heads = 0;
  int64_t num_key_value_heads = 0;
  int64_t head_dim = 0;
  int64_t full_head_dim = 0;         // of full layers beside sliding ones; 0: head_dim
  int64_t full_key_value_heads = 0;  // of these layers; 0: num_key_value_heads
  int64_t max_position_embeddings = 2048;
  double rms_norm_eps = 1e-6;  // of every norm
  HiddenAct hidden_act = HiddenAct::kSilu;
  double rope_theta = 10000;
  RopeScaling rope_scaling = {};
  double rope_local_base_freq = 0;  // theta of sliding layers, unscaled; 0: they have the others'
  RopePairs rope_pairs = RopePairs::kHalves;
  int64_t rotary_dim = 0;  // the leading elements of a head that rope rotates; 0: all
  // The pairs that rope turns by a position in time, height and width. A token of text has one
  // position for all three, so they have no effect on text.
  std::vector<int64_t> mrope_section = {};
  bool mrope_interleaved = false;      // whether they take turns
  std::vector<bool> rope_layers = {};  // whether a layer rotates, one per layer; empty: each does
  bool learned_positions = false;      // an embedding of positions in place of rope
  bool alibi = false;                  // biases of scores by the key's position in place of rope
  int64_t sliding_window = 0;
  bool chunked_windows = false;  // sliding layers attend to keys of the query's own chunk, as their
                                 // positions fall into chunks of sliding_window
  std::vector<LayerType> layer_types = {};  // one per layer; empty: all full
  int64_t lru_width = 0;                    // of recurrent layers; 0: hidden_size
  int64_t conv1d_width = 4;                 // taps of the convolutions of layers with a state
  int64_t mamba_num_heads = 0;
  int64_t mamba_head_dim = 0;
  int64_t mamba_num_groups = 1;  // heads of a group read the same state inputs and outputs
  int64_t mamba_state_size = 0;  // of each element of a head
  bool mamba_bias = false;       // biases of their projections
  bool mamba_conv_bias = true;   // and of their convolution
  GateNorm mamba_norm = GateNorm::kAfterGate;
  /// The least and the greatest time step of Mamba layers.
  std::array<double, 2> time_step_limit = {0, std::numeric_limits<double>::infinity()};
  bool has_mlps = true;                // whether blocks have an MLP after their mixer
  bool residual_in_f32 = false;        // f16 and bf16 models add up hidden states in f32
  bool conv_bias = false;              // biases of the layers kConv
  int64_t linear_num_key_heads = 0;    // of the layers kDelta, as the next three
  int64_t linear_num_value_heads = 0;  // a multiple of linear_num_key_heads
  int64_t linear_key_head_dim = 0;
  int64_t linear_value_head_dim = 0;
  bool linear_heads_tiled = false;  // value head i reads key head i mod linear_num_key_heads, else
                                    // as many neighbours share one
  double initializer_range = 0.02;  // standard deviation of initial weights
  bool is_causal = true;  // false: tokens also attend to later ones, so the model takes no cache
  bool attention_bias = false;         // biases of q, k and v
  bool attention_output_bias = false;  // bias of o
  bool attention_gate = false;    // q_proj also has a gate of each head's output: y sigmoid(gate)
  bool attention_k_eq_v = false;  // full layers' values are their keys before norm and rope
  bool value_norm = false;        // each head's values have an rms_norm without weight
  int64_t num_kv_shared_layers = 0;  // so many last layers read the keys and values of the last
                                     // layer of their type before them
  bool use_double_wide_mlp = false;  // MLPs of these layers have twice the intermediate_size
  bool mlp_bias = false;
  bool lm_head_bias = false;
  bool gated_mlp = true;    // down(act(gate(x)) up(x)), else down(act(up(x)))
  int64_t num_experts = 0;  // gated MLPs that a layer selects from for each token; 0: it has one
  int64_t num_experts_per_tok = 0;
  int64_t moe_intermediate_size = 0;  // of an expert
  int64_t shared_expert_intermediate_size =
      0;                           // of one that every token selects; 0: there is no such one
  bool shared_expert_gate = true;  // that one is scaled by the sigmoid of a gate's score
  bool expert_bias = false;        // biases of the experts' layers
  RouterScores router_scores = RouterScores::kSoftmax;
  bool router_bias = false;        // of the router's logits
  bool router_correction = false;  // a bias of the router's scores for the choice alone
  int64_t n_group = 1;             // groups of experts; tokens select from the topk_group best ones
  int64_t topk_group = 1;
  GroupScore group_score = GroupScore::kSumOfTop2;
  bool norm_topk_prob = false;        // the selected experts' scores are scaled to a sum of 1
  double norm_topk_min = 0;           // the least sum that scales them
  double routed_scaling_factor = 1;   // multiplies the selected experts' scores
  bool scales_expert_inputs = false;  // by the scores; else their outputs
  bool expert_output_scale = false;   // a weight of each expert multiplies its outputs
  bool router_input_norm = false;     // routers read rms_norm(x) / sqrt(hidden_size)
  /// Layers with experts have an MLP of intermediate_size beside them, and both have norms of their
  /// own. The router reads the hidden states before any norm.
  bool experts_beside_mlp = false;
  std::vector<bool> sparse_layers =
      {};  // whether a layer has experts, one per layer; empty: each does
  /// c > 0: an MLP's gate g and up u give (clamp(u, -c, c) + 1) h sigmoid(swiglu_alpha h), where
  /// h = min(g, c); 0: act(g) u. Source: OpenAI 2025, arXiv:2508.10925.
  double swiglu_limit = 0;
  double swiglu_alpha = 1.702;
  NormType norm_type = NormType::kRms;
  NormPlaces norm_places = NormPlaces::kInputs;
  bool norm_adds_one = false;      // norms multiply by 1 + weight
  bool parallel_residual = false;  // attention and MLP read the same normalized input
  bool parallel_mlp_norm = false;  // with parallel_residual: the MLP's input has a norm of its own
  QkNorm qk_norm = QkNorm::kNone;
  bool qk_norm_after_rope = false;  // heads are normalized after they are rotated
  bool attention_sinks = false;     // a score of each head that has no key (sdpa's sinks)
  /// Latent attention: keys and values are made from kv_lora_rank numbers of each token, and keys
  /// have qk_rope_head_dim more, which all heads share. head_dim is qk_nope_head_dim +
  /// qk_rope_head_dim, and rotary_dim is qk_rope_head_dim. 0: keys and values are whole.
  int64_t kv_lora_rank = 0;
  int64_t q_lora_rank = 0;  // queries are made from so many numbers; 0: from the hidden state
  int64_t qk_nope_head_dim = 0;
  int64_t qk_rope_head_dim = 0;
  int64_t v_head_dim = 0;
  double rope_mscale_all_dim =
      0;  // m: with scaled rope, (0.1 m ln factor + 1)² times latent scores
  double llama_4_scaling_beta = 0;  // queries at position p are multiplied by 1 + beta ln(1 +
                                    // floor(p / original_max_position_embeddings))
  double attn_scale = 0;  // in layers without rope, queries at position p are multiplied by 1 +
                          // attn_scale ln(1 + floor((p + 1) / floor_scale))
  int64_t floor_scale = 8192;
  double clip_qkv = 0;  // c: queries, keys and values are clamped to [-c, c]; 0: not
  /// Numbers that each layer gets for a token beside the hidden state, made from the token's id
  /// and embedding; 0: layers have no such inputs.
  int64_t hidden_size_per_layer_input = 0;
  int64_t vocab_size_per_layer_input = 0;  // of the embedding that these numbers come from
  bool layer_scalars = false;              // a weight of each layer multiplies its output
  double embedding_scale = 1;              // multiplies embeddings, rounded to their dtype
  double residual_multiplier = 1;          // multiplies the outputs of attention and MLP
  double logits_scaling = 1;               // divides logits
  double attention_multiplier = 0;         // multiplies scores; 0: query_pre_attn_scalar says
  double query_pre_attn_scalar = 0;        // its root divides the scores; 0: head_dim
  double attn_logit_softcapping = 0;       // c: scores become c tanh(score / c); 0: as they are
  double final_logit_softcapping = 0;      // the same for logits
  bool tie_word_embeddings = false;        // the output layer shares the embedding's weight
  DType dtype = DType::kF32;               // dtype of the weights in the file
  std::vector<int64_t> bos_token_ids = {}, eos_token_ids = {};
  std::optional<int64_t> pad_token_id = {};    // within the vocabulary; wick pads nothing
  std::vector<std::string> ignored_keys = {};  // unknown keys of config.json; worth a warning
};

/// Reads a DecoderConfig from the values of config.json. Missing keys have the defaults of
/// transformers. Errors: kFormat, naming file, key, expected and actual value; kUnsupported for a
/// key that changes the results of other models and that this model_type does not read, unless its
/// value has no effect.
WICK_API DecoderConfig decoder_config(const Settings& settings);
/// Reads a DecoderConfig from the metadata of a GGUF file and its tensors. Errors: kFormat and
/// kUnsupported, as of decoder_config.
WICK_API DecoderConfig decoder_config_of_gguf(const Settings& metadata,
                                              const TensorSource& tensors);
/// The tensors of a folder or GGUF file under the names that a Decoder takes them by; without those
/// that such files have besides: parts for images, tables of rope, a tied output's copy. Errors:
/// kFormat.
WICK_API TensorSource decoder_tensors(const TensorSource& source, const DecoderConfig& config);
/// The inverse for folders: a Decoder's tensors in the form and under the names that transformers
/// has them in for the model_type. A tensor is converted when it is loaded. Errors:
/// kInvalidArgument for an unknown model_type; kFormat.
WICK_API TensorSource folder_tensors(const TensorSource& source, const DecoderConfig& config);
/// The values of a config.json that transformers reads. Errors: kUnsupported for a GGUF's config.
WICK_API Settings to_settings(const DecoderConfig& config);
/// The facts that a decoder of this config has.
WICK_API ModelFacts facts_of(const DecoderConfig& config);
/// The number of parameters of a model, counted from their shapes. Errors: kInvalidArgument if it
/// exceeds 2^60 or the model has more than kMaxLayers layers.
WICK_API int64_t num_parameters(const DecoderConfig& config);

/// A decoder: embedding, blocks of attention and MLP, final norm, output layer. Copies share the
/// parameters, which have HuggingFace's names for Llama and Gemma
/// ("model.layers.0.mlp.up_proj.weight") in every family; decoder_tensors finds them in its files.
/// With RopeScalingType::kDynamic, tokens have the frequencies of a text of the given
/// length: plain ones up to the trained context. Keys in a cache keep the frequencies that they
/// were written with, as in transformers, so a text that is read in parts differs from one that is
/// read at once.
class WICK_API Decoder : public CausalModel {
 public:
  /// Reads its weights from `parameters`. positions: the number of positions; 0:
  /// max_position_embeddings.
  Decoder(const DecoderConfig& config, Parameters& parameters, int64_t positions = 0);

  const DecoderConfig& config() const;
  std::shared_ptr<const CausalModel> shared() const override;
  const ModelFacts& facts() const override;
  int64_t positions() const override;
  TensorOptions options() const override;
  Tensor logits(const Tensor& hidden) const override;
  Tensor embed(const Tensor& ids) const override;
  std::vector<Device> devices() const override;
  bool steps_are_alike() const override { return true; }
  std::unique_ptr<ModelCache> make_cache(const CacheOptions& options) const override;
  std::vector<int64_t> cache_bytes(const CacheOptions& options) const override;
  TokenWork work(const std::map<std::string, TensorInfo>& weights, double before,
                 CacheType cache) const override;

 protected:
  Tensor hidden_of(const TokenGrid& grid, ModelCache* cache,
                   std::vector<Tensor>* all) const override;

 private:
  struct Layers;
  std::shared_ptr<const Layers> layers_;
};

}  // namespace wick
