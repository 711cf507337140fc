#include "models/parts/latent_attention.h"

#include <cmath>

#include "wick/ops/arrange.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/matmul.h"
#include "wick/ops/shape.h"
#include "wick/ops/unary.h"

namespace wick {
namespace {

/// transformers' layers have this whatever "rms_norm_eps" says.
constexpr NormOptions kLatentNorm = {.eps = 1e-6};

LatentAttentionOptions with_heads(LatentAttentionOptions options, int64_t heads) {
  options.heads = heads;
  return options;
}

/// The rows of heads that have so many each.
ParameterPart rows_of(const Range& heads, int64_t rows, const Parameters& p) {
  return part_of(0, {heads.begin * rows, heads.count * rows}, p.options().ranks.get());
}

/// x [B, H, T, I] times each head's weight [H, I, O]: [B, H, T, O].
Tensor by_head(const Tensor& x, const Tensor& weight) {
  const int64_t b = x.size(0), h = x.size(1), t = x.size(2);
  const Tensor rows = reshape(transpose(x, 0, 1), {h, b * t, x.size(3)});
  return transpose(reshape(matmul(rows, weight), {h, b, t, weight.size(2)}), 0, 1);
}

}  // namespace

LatentQueries::LatentQueries(const LatentAttentionOptions& o, const Range& own, Parameters& p,
                             const std::string& name)
    : q_proj(o.query_rank == 0
                 ? std::optional<Linear>(
                       std::in_place, p, name + "q_proj", o.hidden_size,
                       o.heads * (o.plain_dim + o.rope_dim),
                       LinearOptions{.deviation = o.deviation,
                                     .part = rows_of(own, o.plain_dim + o.rope_dim, p)})
                 : std::nullopt),
      q_a_proj(o.query_rank > 0
                   ? std::optional<Linear>(std::in_place, p, name + "q_a_proj", o.hidden_size,
                                           o.query_rank,
                                           LinearOptions{.bias = o.bias, .deviation = o.deviation})
                   : std::nullopt),
      q_a_layernorm(o.query_rank > 0
                        ? std::optional<RmsNorm>(std::in_place, p, name + "q_a_layernorm",
                                                 o.query_rank, kLatentNorm)
                        : std::nullopt),
      q_b_proj(o.query_rank > 0
                   ? std::optional<Linear>(
                         std::in_place, p, name + "q_b_proj", o.query_rank,
                         o.heads * (o.plain_dim + o.rope_dim),
                         LinearOptions{.deviation = o.deviation,
                                       .part = rows_of(own, o.plain_dim + o.rope_dim, p)})
                   : std::nullopt) {}

Tensor LatentQueries::operator()(const Tensor& x) const {
  return q_proj ? (*q_proj)(x) : (*q_b_proj)((*q_a_layernorm)((*q_a_proj)(x)));
}

LatentAttention::LatentAttention(const LatentAttentionOptions& all, Parameters& p,
                                 const std::string& name)
    : LatentAttention(
          all, heads_part(name + "o_proj", all.heads, all.heads, p.options().ranks.get()).queries,
          p, name) {}

LatentAttention::LatentAttention(const LatentAttentionOptions& all, const Range& own, Parameters& p,
                                 const std::string& name)
    : options_(with_heads(all, own.count)),
      queries_(all, own, p, name),
      kv_a_proj_(p, name + "kv_a_proj_with_mqa", all.hidden_size, all.rank + all.rope_dim,
                 {.bias = all.bias, .deviation = all.deviation}),
      kv_a_layernorm_(p, name + "kv_a_layernorm", all.rank, kLatentNorm),
      kv_b_weight_(p.take(name + "kv_b_proj.weight",
                          {all.heads * (all.plain_dim + all.value_dim), all.rank},
                          {0, all.deviation}, rows_of(own, all.plain_dim + all.value_dim, p))),
      o_proj_(p, name + "o_proj", all.heads * all.value_dim,
              {own.begin * all.value_dim, own.count * all.value_dim}, all.hidden_size,
              {.bias = all.output_bias, .deviation = all.output_deviation}) {}

Tensor LatentAttention::key_weights() const {
  const LatentAttentionOptions& o = options_;
  return narrow(reshape(kv_b_weight_, {o.heads, o.plain_dim + o.value_dim, o.rank}), 1, 0,
                o.plain_dim);
}

Tensor LatentAttention::value_weights() const {
  const LatentAttentionOptions& o = options_;
  return narrow(reshape(kv_b_weight_, {o.heads, o.plain_dim + o.value_dim, o.rank}), 1, o.plain_dim,
                o.value_dim);
}

LatentAttention::Operands LatentAttention::operands_of(const Tensor& x, const Step& step) const {
  const LatentAttentionOptions& o = options_;
  const int64_t b = x.size(0), t = x.size(1);
  const Tensor q = reshape(queries_(x), {b, t, o.heads, o.plain_dim + o.rope_dim});
  const Tensor latent_rope = kv_a_proj_(x);  // [B, T, C + R]
  const auto turned = [&](const Tensor& heads) {
    return rotated(heads, step.rope, o.pairs, o.rope_dim);
  };
  const auto tempered = [&](const Tensor& heads) {
    return o.temperature(transpose(heads, 1, 2), step.positions);
  };
  return {tempered(narrow(q, 3, 0, o.plain_dim)),
          tempered(turned(narrow(q, 3, o.plain_dim, o.rope_dim))),
          kv_a_layernorm_(narrow(latent_rope, 2, 0, o.rank)),
          turned(unsqueeze(narrow(latent_rope, 2, o.rank, o.rope_dim), 2))};
}

Tensor LatentAttention::plain(const Operands& x, const SdpaOptions& sdpa_options) const {
  const LatentAttentionOptions& o = options_;
  const int64_t b = x.latent.size(0), t = x.latent.size(1);
  const Tensor keys_values =
      reshape(linear(x.latent, kv_b_weight_), {b, t, o.heads, o.plain_dim + o.value_dim});
  const Tensor k_rope = broadcast_to(x.k_rope, {b, t, o.heads, o.rope_dim});
  const Tensor k = cat({narrow(keys_values, 3, 0, o.plain_dim), k_rope}, 3);
  const Tensor v = narrow(keys_values, 3, o.plain_dim, o.value_dim);
  return sdpa(cat({x.q_plain, x.q_rope}, 3), transpose(k, 1, 2), transpose(v, 1, 2), sdpa_options);
}

Tensor LatentAttention::absorbed(const Operands& x, const AttentionCache::KeysValues& all) const {
  const Tensor q = cat({by_head(x.q_plain, key_weights()), x.q_rope}, 3);  // [B, H, T, C + R]
  const Tensor y = sdpa(q, all.keys, all.values, all.in(options_.sdpa));   // [B, H, T, C]
  return by_head(y, transpose(value_weights(), 1, 2));
}

Tensor LatentAttention::operator()(const Normalized& input, const Step& step,
                                   const Tensor& residual) const {
  const Tensor x = input.value();
  const LatentAttentionOptions& o = options_;
  const Operands in = operands_of(x, step);
  SdpaOptions sdpa_options = o.sdpa;
  if (sdpa_options.is_causal) sdpa_options.positions = step.visible;
  Tensor y;
  if (AttentionCache* const cache = step.cache_of<AttentionCache>(o.layer)) {
    const Tensor token = cat({in.latent, squeeze(in.k_rope, 2)}, 2);  // [B, T, C + R]
    const bool has_earlier = cache->has_earlier();
    const auto all = cache->write(unsqueeze(token, 1), {}, step.positions, step.visible);
    y = has_earlier ? absorbed(in, all) : plain(in, sdpa_options);
  } else {
    y = plain(in, sdpa_options);
  }
  return o_proj_(reshape(transpose(y, 1, 2), {x.size(0), x.size(1), o.heads * o.value_dim}),
                 residual);
}

KeysValuesSizes LatentAttention::cache_sizes(const CacheOptions& o) const {
  return {.sequences = o.sequences,
          .heads = 1,
          .capacity = o.capacity,
          .head_dim = options_.rank + options_.rope_dim,
          .shared_values = options_.rank,
          .type = o.type,
          .spans_capacity = o.spans_capacity};
}

int64_t LatentAttention::cache_bytes(const CacheOptions& o, DType dtype) const {
  return bytes_of(cache_sizes(o), dtype, o);
}

std::unique_ptr<LayerCache> LatentAttention::make_cache(const CacheOptions& o,
                                                        const std::shared_ptr<BlockTable>& table,
                                                        const TensorOptions& options) const {
  const KeysValuesSizes sizes = cache_sizes(o);
  if (table) return std::make_unique<BlocksCache>(sizes, table, options);
  return std::make_unique<RowsCache>(sizes, options);
}

void LatentAttention::add_work(double before, const TensorOptions& options, TokenWork* work) const {
  const int64_t of_token = options_.rank + options_.rope_dim;
  work->cache_bytes += (before + 1) * double(stored_bytes(work->cache, options.dtype, of_token));
  work->cache_flop += 2 * (before + 1) * double(options_.heads * (of_token + options_.rank));
}

}  // namespace wick
