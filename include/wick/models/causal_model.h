// Models that predict a text's next token, whatever their architecture.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "wick/core/tensor_source.h"
#include "wick/models/model_cache.h"

namespace wick {

/// How a model reads images: the features of an image take the places of placeholders in a text.
struct ImageReading {
  int64_t token_id = 0;  // of placeholders
  int64_t tokens = 0;    // placeholders of an image, one after the other
  Shape pixels = {};     // [channels, height, width] of an image
  /// The model was trained on prompts whose tokens, images and text, see each other both ways.
  bool prompt_is_prefix = false;
};

/// Facts that every model has.
struct ModelFacts {
  std::string model_type;  // as in config.json
  int64_t vocab_size = 0;
  int64_t hidden_size = 0;
  int64_t max_position_embeddings = 0;      // the tokens of a text that it was trained for
  bool is_causal = true;                    // false: it gives embeddings, and continues no text
  std::optional<ImageReading> images = {};  // missing: it reads texts alone
  int64_t embedding_dim = 0;                // of token_embeddings; 0: tokens have logits alone
};

/// Tokens of B sequences, one sequence after the other: N tokens in all.
struct TokenBatch {
  Tensor ids;         // [N] i64
  Tensor embeddings;  // [N, hidden_size]: in place of ids, the outputs of the embedding
  Tensor features;    // [M, hidden_size]: embeddings of the tokens that `places` lists, such as
                      // images' features at their placeholders
  Tensor positions;   // [N] i64: starts[b], starts[b] + 1 ... of each sequence
  Tensor visible;     // [N] i64: the last position that a token attends to; empty: its own. It is
                      // read in the same part (hidden) as the token
  Tensor seen_from;   // [N] i64, beside visible: the first position that no window hides from the
                      // token; empty: its own
  std::vector<int64_t> places;   // [M], ascending: among the N tokens
  std::vector<int64_t> offsets;  // [B + 1]: sequence b has tokens offsets[b] to offsets[b + 1] - 1
  std::vector<int64_t> starts;   // [B]: the position of its first token
  std::vector<int64_t> lengths;  // [B]: tokens that its text has with these and the next ones at
                                 // once; empty: with these. RopeScalingType::kDynamic reads them
};

/// Tokens of B sequences that have T each.
struct TokenGrid {
  Tensor ids;                    // [B, T] i64; empty if there are embeddings
  Tensor embeddings;             // [B, T, hidden_size]; empty if there are ids
  Tensor positions;              // [B, T] i64
  Tensor visible;                // [B, T] i64
  Tensor seen_from;              // [B, T] i64; empty: no token attends beyond its own position
  std::vector<int64_t> lengths;  // [B]; empty: each position + 1

  int64_t batch() const { return positions.size(0); }
  int64_t tokens() const { return positions.size(1); }
};

/// The least work that continuing a text by one token takes, which has `before` tokens.
struct TokenWork {
  double bytes = 0;     // of the weights that all sequences share
  double elements = 0;  // of these, without the output layer's
  double output_elements = 0;
  double cache_bytes = 0;  // of the sequence's own keys, values or states
  double cache_flop = 0;   // of attention or its like
  CacheType cache = CacheType::kModel;
};

/// Work of a model's device that is queued again at little cost. Destroying it frees its memory.
class WICK_API CapturedWork {
 public:
  virtual ~CapturedWork() = default;
  virtual void launch() = 0;
};

/// A model that gives logits of a text's next token.
class WICK_API CausalModel {
 public:
  virtual ~CausalModel() = default;

  /// A copy that shares the weights.
  virtual std::shared_ptr<const CausalModel> shared() const = 0;
  virtual const ModelFacts& facts() const = 0;
  virtual int64_t positions() const = 0;  // the most tokens of a text
  /// dtype of the computation, and the device that takes ids and positions and gives hidden states
  /// and logits: of a model whose layers are on several devices, the last layer's.
  virtual TensorOptions options() const = 0;
  /// The devices of the layers, in order, each once.
  virtual std::vector<Device> devices() const { return {options().device}; }

  /// The hidden states [N, hidden_size] of a batch after the final norm. With a cache, the tokens
  /// follow those that it holds, and are added to it; sequence b of the batch is its sequence b.
  /// Without a cache, texts begin at position 0. If a sequence's tokens exceed the cache's chunk,
  /// they are read in parts. all: receives the inputs of each layer and the outputs of the last
  /// one, each [N, hidden_size].
  /// Errors: kShapeMismatch; kInvalidArgument for a sequence without tokens; kOutOfRange if a text
  /// exceeds positions() or the cache's capacity; kUnsupported for a cache of a model that is not
  /// causal.
  Tensor hidden(const TokenBatch& batch, ModelCache* cache = nullptr,
                std::vector<Tensor>* all = nullptr) const;
  /// The same for ids and positions [B, T]: [B, T, hidden_size]. A cache must have been prepared.
  /// Without one, positions must be 0 to T - 1. lengths: see TokenBatch.
  Tensor hidden(const Tensor& ids, const Tensor& positions, ModelCache* cache = nullptr,
                const std::vector<int64_t>& lengths = {}) const;
  /// Hidden states [..., hidden_size] -> [..., vocab_size]. Errors: kUnsupported for a model with
  /// facts().embedding_dim.
  virtual Tensor logits(const Tensor& hidden) const = 0;
  /// A vector of length 1 for each token, as late_interaction compares them: hidden states
  /// [..., hidden_size] -> [..., facts().embedding_dim], f32, or f64 if the computation is f64.
  /// Gradients pass. Errors: kUnsupported for a model without facts().embedding_dim.
  virtual Tensor token_embeddings(const Tensor& hidden) const;
  /// The outputs of the embedding for ids [...]: [..., hidden_size], on the first layer's device.
  virtual Tensor embed(const Tensor& ids) const = 0;
  /// The features of images, as TokenBatch has them.
  ///
  /// pixel_values  [N, facts().images->pixels...] floating, as the model's processor scales them
  /// Returns [N, facts().images->tokens, hidden_size] in the computation's dtype. Gradients pass.
  /// Errors: kUnsupported for a model without images; kShapeMismatch; kDTypeMismatch.
  virtual Tensor image_features(const Tensor& pixel_values) const;
  /// logits(hidden(...)) [B, T, vocab_size].
  Tensor forward(const Tensor& ids, const Tensor& positions, ModelCache* cache = nullptr) const {
    return logits(hidden(ids, positions, cache));
  }

  /// Whether two steps of one token a sequence launch the same kernels if the cache has the same
  /// extents: then a Graph can have captured them.
  virtual bool steps_are_alike() const { return false; }
  /// Graph::capture of `work` on the model's device, which calls this model; ranks that share the
  /// model capture and launch their parts of it too. Errors: as Graph::capture; of several ranks
  /// kUnsupported, if one of the others fails.
  virtual std::unique_ptr<CapturedWork> capture(const std::function<void()>& work) const;

  virtual std::unique_ptr<ModelCache> make_cache(const CacheOptions& options) const = 0;
  /// The bytes of each layer's part of such a cache; empty unless layers can be placed on devices.
  virtual std::vector<int64_t> cache_bytes(const CacheOptions&) const { return {}; }
  /// weights: as LanguageModel has them. cache: as CacheOptions has it.
  virtual TokenWork work(const std::map<std::string, TensorInfo>& weights, double before,
                         CacheType cache = CacheType::kModel) const = 0;

 protected:
  /// The hidden states [B, T, hidden_size]; checked and prepared by hidden. A row may repeat its
  /// last token.
  virtual Tensor hidden_of(const TokenGrid& grid, ModelCache* cache,
                           std::vector<Tensor>* all) const = 0;
};

/// The indices of the ids that are placeholders of images: those that TokenBatch has as places, if
/// the features of `images` images, each of facts().images->tokens rows, belong there.
/// Errors: kUnsupported if the model reads no images; kInvalidArgument if the ids have placeholders
/// for more or fewer images.
WICK_API std::vector<int64_t> image_places(const CausalModel& model,
                                           const std::vector<int64_t>& ids, int64_t images);

/// Sets a batch's visible and seen_from so that the first prefixes[b] positions of sequence b see
/// each other.
WICK_API void see_prefixes(TokenBatch& batch, const std::vector<int64_t>& prefixes);

/// Positions 0 to length - 1 in each of `batch` rows: [B, T] i64.
WICK_API Tensor positions_from_0(int64_t batch, int64_t length, const Device& device);

}  // namespace wick
