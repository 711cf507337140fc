// Decoder-only transformers: one implementation whose switches are read from config.json.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "wick/base/settings.h"
#include "wick/nn/kv_cache.h"
#include "wick/nn/parameters.h"

namespace wick {

/// A model's switches and sizes, named as in config.json of HuggingFace's transformers.
struct DecoderConfig {
  std::string model_type = "llama";
  int64_t vocab_size = 256;
  int64_t hidden_size = 128;
  int64_t intermediate_size = 344;
  int64_t num_hidden_layers = 4;
  int64_t num_attention_heads = 4;
  int64_t num_key_value_heads = 4;
  int64_t head_dim = 32;
  int64_t max_position_embeddings = 128;
  double rms_norm_eps = 1e-5;
  double rope_theta = 10000;
  double initializer_range = 0.02;  // deviation of weights when drawn
  bool attention_bias = false;      // of q, k, v and o
  bool mlp_bias = false;
  bool tie_word_embeddings = false;  // the output layer's weight is the embedding's
  DType dtype = DType::kF32;         // that the file's weights have
  std::vector<int64_t> bos_token_ids, eos_token_ids;
};

/// The config of config.json's values. Errors: kFormat, which names file, key, what was expected
/// and what came; a switch that this implementation lacks is one too, and never passed over.
WICK_API DecoderConfig decoder_config(const Settings& settings);
/// The config.json of it, as transformers reads it.
WICK_API Settings to_settings(const DecoderConfig& config);
/// How many numbers a model's parameters are. Errors: kInvalidArgument of more than 2^60.
WICK_API int64_t num_parameters(const DecoderConfig& config);

/// The model: embedding, blocks of attention and MLP, a norm, and the output layer. Copies share
/// the parameters, which are named as in HuggingFace's files ("model.layers.0.mlp.up_proj.weight").
class WICK_API Decoder {
 public:
  /// Uses `parameters`. positions: how many there will be; 0: max_position_embeddings.
  Decoder(const DecoderConfig& config, Parameters& parameters, int64_t positions = 0);

  const DecoderConfig& config() const;
  TensorOptions options() const;  // dtype and device of what is computed

  /// ids and positions [B, T] i64 -> hidden states [B, T, hidden_size] after the last norm. Without
  /// a cache position p attends to the ids at indices up to p, so positions are 0 to T - 1. With
  /// one, keys and values are written to it, and attention reads them there.
  Tensor hidden(const Tensor& ids, const Tensor& positions, KvCache* cache = nullptr) const;
  /// Hidden states [..., hidden_size] -> [..., vocab_size].
  Tensor logits(const Tensor& hidden) const;
  Tensor forward(const Tensor& ids, const Tensor& positions, KvCache* cache = nullptr) const {
    return logits(hidden(ids, positions, cache));
  }
  /// A cache for sequences of this many tokens.
  KvCache make_cache(int64_t batch, int64_t capacity) const;

 private:
  struct Layers;
  std::shared_ptr<const Layers> layers_;
};

/// Positions 0 to length - 1 for each of batch rows: [B, T] i64.
WICK_API Tensor positions_from_0(int64_t batch, int64_t length, const Device& device);

}  // namespace wick
