// Attention whose keys and values are made from one short vector of each token, which is all that
// a cache keeps. Source: DeepSeek-AI 2024, arXiv:2405.04434, 2.1.
#pragma once
#include <optional>
#include <string>

#include "models/parts/attention.h"
#include "models/parts/temperature.h"

// Shapes: B sequences, T tokens each, H heads, C the rank of keys and values, N and R the elements
// of a query without and with rope, V the elements of a value.
namespace wick {

struct LatentAttentionOptions {
  int64_t layer = 0;
  int64_t hidden_size = 0, heads = 0;
  int64_t query_rank = 0;                                        // 0: queries are projected at once
  int64_t rank = 0, plain_dim = 0, rope_dim = 0, value_dim = 0;  // C, N, R, V
  RopePairs pairs = RopePairs::kAdjacent;
  bool bias = false, output_bias = false;  // bias: of the projections to the ranks
  Temperature temperature = {};
  double deviation = 0.02, output_deviation = 0.02;  // of initial weights
  SdpaOptions sdpa = {};
};

/// The projection to queries: at once, or to query_rank, whose norm is projected further.
struct LatentQueries {
  const std::optional<Linear> q_proj, q_a_proj;
  const std::optional<RmsNorm> q_a_layernorm;
  const std::optional<Linear> q_b_proj;

  /// own: this rank's heads.
  LatentQueries(const LatentAttentionOptions& options, const Range& own, Parameters& p,
                const std::string& name);
  Tensor operator()(const Tensor& x) const;  // [B, T, hidden] -> [B, T, H (N + R)]
};

/// Of several ranks each computes its heads, for which all keep the same vectors, and the sum of
/// their outputs is the layer's.
class LatentAttention final : public Mixer {
 public:
  LatentAttention(const LatentAttentionOptions& options, Parameters& p, const std::string& name);
  /// Where the cache has earlier tokens, queries and results are projected in place of keys and
  /// values, so that all heads attend to the latent vectors; else keys and values are made from
  /// those.
  Tensor operator()(const Normalized& x, const Step& step,
                    const Tensor& residual = {}) const override;
  std::unique_ptr<LayerCache> make_cache(const CacheOptions& cache,
                                         const std::shared_ptr<BlockTable>& table,
                                         const TensorOptions& options) const override;
  int64_t cache_bytes(const CacheOptions& cache, DType dtype) const override;
  void add_work(double before, const TensorOptions& options, TokenWork* work) const override;

 private:
  KeysValuesSizes cache_sizes(const CacheOptions& options) const;
  /// The heads' queries, and the vectors that they attend to.
  struct Operands {
    Tensor q_plain, q_rope;  // [B, H, T, N], [B, H, T, R]
    Tensor latent, k_rope;   // [B, T, C], [B, T, 1, R]
  };
  Operands operands_of(const Tensor& x, const Step& step) const;
  Tensor plain(const Operands& x, const SdpaOptions& sdpa_options) const;  // [B, H, T, V]
  Tensor absorbed(const Operands& x, const AttentionCache::KeysValues& all) const;
  /// The weights of a head that make plain keys, or values: [H, N or V, C].
  Tensor key_weights() const;
  Tensor value_weights() const;

  LatentAttention(const LatentAttentionOptions& all, const Range& own, Parameters& p,
                  const std::string& name);

  const LatentAttentionOptions options_;  // heads: this rank's
  const LatentQueries queries_;
  const Linear kv_a_proj_;  // to C and R
  const RmsNorm kv_a_layernorm_;
  const Parameter kv_b_weight_;  // [H (N + V), C], dense: its rows are read by head, and transposed
  const HeadsOutput o_proj_;
};

}  // namespace wick
