// Models that predict a text's next token, whatever their architecture.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "wick/core/tensor_source.h"
#include "wick/models/model_cache.h"

namespace wick {

/// Facts that every model has.
struct ModelFacts {
  std::string model_type;  // as in config.json
  int64_t vocab_size = 0;
  int64_t hidden_size = 0;
  int64_t max_position_embeddings = 0;  // the tokens of a text that it was trained for
  bool is_causal = true;                // false: it gives embeddings, and continues no text
};

/// Tokens of B sequences, one sequence after the other: N tokens in all.
struct TokenBatch {
  Tensor ids;         // [N] i64
  Tensor embeddings;  // [N, hidden_size]: in place of ids, the outputs of the embedding
  Tensor positions;   // [N] i64: starts[b], starts[b] + 1 ... of each sequence
  Tensor visible;     // [N] i64: the last position that a token attends to; empty: its own
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
};

/// A model that gives logits of a text's next token.
class WICK_API CausalModel {
 public:
  virtual ~CausalModel() = default;

  /// A copy that shares the weights.
  virtual std::shared_ptr<const CausalModel> shared() const = 0;
  virtual const ModelFacts& facts() const = 0;
  virtual int64_t positions() const = 0;      // the most tokens of a text
  virtual TensorOptions options() const = 0;  // dtype and device of the computation

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
  /// Hidden states [..., hidden_size] -> [..., vocab_size].
  virtual Tensor logits(const Tensor& hidden) const = 0;
  /// logits(hidden(...)) [B, T, vocab_size].
  Tensor forward(const Tensor& ids, const Tensor& positions, ModelCache* cache = nullptr) const {
    return logits(hidden(ids, positions, cache));
  }

  virtual std::unique_ptr<ModelCache> make_cache(const CacheOptions& options) const = 0;
  /// weights: as LanguageModel has them.
  virtual TokenWork work(const std::map<std::string, TensorInfo>& weights, double before) const = 0;

 protected:
  /// The hidden states [B, T, hidden_size]; checked and prepared by hidden. A row may repeat its
  /// last token.
  virtual Tensor hidden_of(const TokenGrid& grid, ModelCache* cache,
                           std::vector<Tensor>* all) const = 0;
};

/// Positions 0 to length - 1 in each of `batch` rows: [B, T] i64.
WICK_API Tensor positions_from_0(int64_t batch, int64_t length, const Device& device);

}  // namespace wick
