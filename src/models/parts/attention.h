// Attention, and how queries, keys and values are made for it.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "models/parts/mixer.h"
#include "models/parts/norm.h"
#include "models/parts/partition.h"
#include "models/parts/temperature.h"
#include "wick/ops/attention.h"

// Shapes: B sequences, T tokens each, D head size, H query heads, G key-value heads.
namespace wick {

struct AttentionOptions {
  int64_t layer = 0;
  int64_t hidden_size = 0, heads = 0, key_value_heads = 0, head_dim = 0;
  int64_t rotary_dim = 0;  // 0: the layer does not rotate
  RopePairs pairs = RopePairs::kHalves;
  bool slides = false;   // takes Step::local_rope
  bool chunked = false;  // of the window, a query attends to the keys of its chunk alone
  bool alibi = false;
  bool bias = false, output_bias = false;
  bool gate = false;            // q_proj also has a gate of each head's output: y sigmoid(gate)
  bool values_of_keys = false;  // values are the keys before norm and rope
  bool value_norm = false;      // of each head by rms_norm without weight
  int64_t keys_of = -1;         // the layer whose keys and values it reads; -1: it has its own
  bool keeps_keys = false;      // later layers read its keys and values
  double clip = 0;              // queries, keys and values are clamped to [-clip, clip]; 0: not
  QkNorm qk_norm = QkNorm::kNone;
  bool norm_after_rope = false;  // of each head
  bool sinks = false;            // a score of each head that has no key
  Temperature temperature = {};
  NormKind norm = {};
  double deviation = 0.02, output_deviation = 0.02;  // of initial weights
  SdpaOptions sdpa = {};
};

/// A projection to the heads' queries, keys or values, normalized and clipped as the model asks.
struct HeadsProjection {
  const int64_t heads, head_dim;
  const bool has_gate;  // the projection has D more rows for each head, after its own
  const double clip;
  const bool norm_later;  // the caller applies of_heads
  const Linear projection;
  const Norm all_norm, head_norm;          // of all heads together, of each by itself
  std::optional<LayerNorm> per_head_norm;  // multiplied by head_weights
  Parameter head_weights;                  // [heads, D]
  std::optional<SplitRmsNorm> split_norm;  // all_norm over several ranks

  struct Heads {
    Tensor x, gate;  // [B, T, heads, D]; gate: empty without one
  };

  /// all: the number of heads that all ranks have; own: this one's. norm: the name of the norm; ""
  /// for values, which have at most the value_norm. counts: whether the norm over all heads counts
  /// this rank's.
  HeadsProjection(const AttentionOptions& options, Parameters& p, const std::string& name,
                  int64_t all, const Range& own, const std::string& norm, bool has_gate = false,
                  bool counts = true);
  /// Of the projection's result.
  Heads of_projection(const Tensor& of_projection) const;
  Heads heads_of(const Tensor& of_projection) const;  // neither normalized nor clipped
  /// The projection's output without the gate's rows as heads, before the norm of each head.
  Tensor split_heads(const Tensor& y) const;
  Tensor of_heads(const Tensor& y) const;  // the norm of each head
};

/// Biases of scores that grow with the key's position, at a slope of each head. Source: Press et
/// al. 2022, arXiv:2108.12409. As in Falcon, slopes and products are rounded to bf16, and scaled as
/// scores.
struct Alibi {
  Tensor slopes;  // [1, H, 1, 1] bf16
  DType dtype;    // of the biases
  double scale;

  /// all: the number of heads that all ranks have; own: this one's.
  Alibi(int64_t all, const Range& own, int64_t head_dim, const TensorOptions& options);
  Tensor operator()(int64_t keys) const;  // [1, H, 1, keys]
};

/// Of several ranks each computes its heads, and the sum of their outputs is the layer's.
class Attention final : public Mixer {
 public:
  Attention(const AttentionOptions& options, Parameters& p, const std::string& name);

  Tensor operator()(const Normalized& x, const Step& step,
                    const Tensor& residual = {}) const override;
  /// A layer that slides keeps the keys and values of its window, a chunk and 512 positions more.
  std::unique_ptr<LayerCache> make_cache(const CacheOptions& cache,
                                         const std::shared_ptr<BlockTable>& table,
                                         const TensorOptions& options) const override;
  int64_t cache_bytes(const CacheOptions& cache, DType dtype) const override;
  void add_work(double before, const TensorOptions& options, TokenWork* work) const override;

 private:
  std::pair<KeysValuesSizes, bool> cache_sizes(const CacheOptions& options) const;
  Attention(const AttentionOptions& all, const HeadsPart& part, Parameters& p,
            const std::string& name);

  const AttentionOptions options_;  // heads and key_value_heads: this rank's
  struct AddedTokens {
    Tensor queries, gate;  // [B, T, H, D]
    AttentionCache::KeysValues all;
  };

  std::vector<Tensor> projected(const Normalized& x) const;
  AddedTokens added_tokens(std::span<const Tensor> of_projections, const Step& step) const;
  bool adds_in_one_step(const AttentionCache::Rows& rows) const;
  AttentionCache::KeysValues keys_values(std::span<const Tensor> of_projections,
                                         const Step& step) const;
  Tensor turned(const Tensor& heads, const HeadsProjection& projection, const Step& step) const;

  const std::optional<Alibi> alibi_;
  const HeadsProjection q_proj_;
  std::optional<HeadsProjection> k_proj_, v_proj_;  // empty if another layer's are read
  const Norm value_norm_;                           // with values_of_keys or value_norm
  const HeadsOutput o_proj_;
  Parameter sinks_;  // [H]
  Tensor norms_;     // [2, D]: of the heads of queries and of keys, if they do not change
};

}  // namespace wick
