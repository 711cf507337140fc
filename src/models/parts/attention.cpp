#include "models/parts/attention.h"

#include <algorithm>
#include <cmath>

#include "ops/fused/rope_into.h"
#include "wick/ops/arrange.h"
#include "wick/ops/autograd.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/compare.h"
#include "wick/ops/create.h"
#include "wick/ops/matmul.h"
#include "wick/ops/shape.h"
#include "wick/ops/unary.h"
#include "wick/ops/where.h"

namespace wick {
namespace {

/// The rows of heads that have so many each.
Range rows_of(const Range& heads, int64_t rows) { return {heads.begin * rows, heads.count * rows}; }

AttentionOptions with_heads(AttentionOptions options, const HeadsPart& part) {
  options.heads = part.queries.count;
  options.key_value_heads = part.keys.count;
  return options;
}

/// Powers of 2^(-8 / n) for n heads, a power of two; heads beyond it have odd powers of 2^(-4 / n).
std::vector<float> alibi_slopes(int64_t heads) {
  int64_t n = 1;
  while (2 * n <= heads) n *= 2;
  std::vector<float> slopes;
  for (int64_t i = 1; i <= n; i++) slopes.push_back(float(std::exp2(-8.0 * double(i) / double(n))));
  for (int64_t i = 1; n + (i + 1) / 2 <= heads; i += 2)
    slopes.push_back(float(std::exp2(-4.0 * double(i) / double(n))));
  return slopes;
}

/// Whether queries may attend to a key by their chunk: [B, 1, T, keys]. `visible` [B, T]: the last
/// position that each attends to, `positions`: the same as indices of keys.
Tensor in_chunk(const Tensor& visible, const Tensor& positions, int64_t chunk, int64_t keys) {
  const Tensor starts = positions - remainder(visible, chunk);
  const Tensor at = arange(keys, {.dtype = DType::kI64, .device = visible.device()});
  return at >= unsqueeze(unsqueeze(starts, 1), 3);
}

}  // namespace

HeadsProjection::HeadsProjection(const AttentionOptions& o, Parameters& p, const std::string& name,
                                 int64_t all, const Range& own, const std::string& norm,
                                 bool has_gate, bool counts)
    : heads(own.count),
      head_dim(o.head_dim),
      has_gate(has_gate),
      clip(o.clip),
      norm_later(o.norm_after_rope),
      projection(p, name, o.hidden_size, (has_gate ? 2 : 1) * all * o.head_dim,
                 {.bias = o.bias,
                  .deviation = o.deviation,
                  .part = part_of(0, rows_of(own, (has_gate ? 2 : 1) * o.head_dim),
                                  p.options().ranks.get())}),
      all_norm(o.norm, p, o.qk_norm == QkNorm::kProjection && !p.options().ranks ? norm : "",
               heads * o.head_dim),
      head_norm(
          o.qk_norm == QkNorm::kRotated ? NormKind{.type = NormType::kRmsPlain, .eps = o.norm.eps}
                                        : o.norm,
          p,
          o.qk_norm == QkNorm::kHead || (o.qk_norm == QkNorm::kRotated && o.rotary_dim > 0) ? norm
                                                                                            : "",
          o.head_dim) {
  if (o.qk_norm == QkNorm::kProjection && p.options().ranks && !norm.empty())
    split_norm.emplace(p, norm, all * o.head_dim, rows_of(own, o.head_dim),
                       NormOptions{.eps = o.norm.eps, .adds_one = o.norm.adds_one}, counts);
  if (o.qk_norm != QkNorm::kEachHead || norm.empty()) return;
  per_head_norm.emplace(p, norm, head_dim, LayerNormOptions{.eps = o.norm.eps, .affine = false});
  head_weights =
      p.take(norm + ".weight", {all, head_dim}, {1, 0}, part_of(0, own, p.options().ranks.get()));
}

HeadsProjection::Heads HeadsProjection::heads_of(const Tensor& of_projection) const {
  const int64_t b = of_projection.size(0), t = of_projection.size(1);
  if (!has_gate) return {reshape(of_projection, {b, t, heads, head_dim}), {}};
  const Tensor both = reshape(of_projection, {b, t, heads, 2 * head_dim});
  return {narrow(both, 3, 0, head_dim), narrow(both, 3, head_dim, head_dim)};
}

HeadsProjection::Heads HeadsProjection::of_projection(const Tensor& of_projection) const {
  const auto [x, gate] = heads_of(of_projection);
  const Tensor y =
      split_heads(has_gate ? reshape(x, {x.size(0), x.size(1), heads * head_dim}) : of_projection);
  return {norm_later ? y : of_heads(y), gate};
}

Tensor HeadsProjection::split_heads(const Tensor& of_projection) const {
  Tensor y = split_norm ? (*split_norm)(of_projection) : all_norm(of_projection);
  if (clip > 0) y = clamp(y, {.min = -clip, .max = clip});
  return reshape(y, {y.size(0), y.size(1), heads, head_dim});
}

Tensor HeadsProjection::of_heads(const Tensor& y) const {
  return per_head_norm ? (*per_head_norm)(y)*head_weights.tensor() : head_norm(y);
}

Alibi::Alibi(int64_t all, const Range& own, int64_t head_dim, const TensorOptions& options)
    : slopes(cast(narrow(Tensor::from(alibi_slopes(all), {1, all, 1, 1}, options.device), 1,
                         own.begin, own.count),
                  DType::kBf16)),
      dtype(options.dtype == DType::kF64 ? DType::kF64 : DType::kF32),
      scale(1 / std::sqrt(double(head_dim))) {}

Tensor Alibi::operator()(int64_t keys) const {
  const Tensor at = arange(keys, {.dtype = DType::kI64, .device = slopes.device()});
  return cast(slopes * cast(at, DType::kBf16), dtype) * scale;
}

namespace {

/// The keys [B, 1, T, S] of a layer with a window that queries attend to, if these also see later
/// positions: sdpa counts a window back from the last position that a query sees.
Tensor seen_keys(const Step& step, const SdpaOptions& o, int64_t keys) {
  const Tensor first = minimum(step.positions - (o.window - 1), step.seen_from),
               base = step.visible - o.positions;  // the position of key 0
  const Tensor at = arange(keys, {.dtype = DType::kI64, .device = first.device()});
  return unsqueeze(at >= unsqueeze(first - base, 2), 1);
}

}  // namespace

Attention::Attention(const AttentionOptions& all, Parameters& p, const std::string& name)
    : Attention(
          all, heads_part(name + "q_proj", all.heads, all.key_value_heads, p.options().ranks.get()),
          p, name) {}

Attention::Attention(const AttentionOptions& all, const HeadsPart& part, Parameters& p,
                     const std::string& name)
    : options_(with_heads(all, part)),
      alibi_(all.alibi && !p.only_shapes()
                 ? std::optional<Alibi>(
                       std::in_place, all.heads, part.queries, all.head_dim,
                       TensorOptions{.dtype = p.options().dtype, .device = p.options().device})
                 : std::nullopt),
      q_proj_(all, p, name + "q_proj", all.heads, part.queries, name + "q_norm", all.gate),
      value_norm_({.type = NormType::kRmsPlain, .eps = all.norm.eps}, p,
                  all.value_norm ? name + "v_norm" : "", all.head_dim),
      o_proj_(p, name + "o_proj", all.heads * all.head_dim, rows_of(part.queries, all.head_dim),
              all.hidden_size, {.bias = all.output_bias, .deviation = all.output_deviation}) {
  const AttentionOptions& o = options_;
  if (o.keys_of < 0)
    k_proj_.emplace(o, p, name + "k_proj", all.key_value_heads, part.keys, name + "k_norm", false,
                    part.counts_keys);
  if (o.keys_of < 0 && !o.values_of_keys)
    v_proj_.emplace(o, p, name + "v_proj", all.key_value_heads, part.keys, "");
  if (o.sinks)
    sinks_ = p.take(name + "sinks.weight", {all.heads}, {0, o.deviation},
                    part_of(0, part.queries, p.options().ranks.get()));
  if (k_proj_ && q_proj_.head_norm.rms && k_proj_->head_norm.rms && !p.only_shapes() &&
      !p.options().trainable)
    norms_ = stack({q_proj_.head_norm.rms->scale(), k_proj_->head_norm.rms->scale()}, 0);
}

/// Whether queries, keys and values of the projections need no more than rope_into does.
bool Attention::adds_in_one_step(const AttentionCache::Rows& rows) const {
  const AttentionOptions& o = options_;
  const bool has_norms = o.qk_norm != QkNorm::kNone;
  return rows.keys && k_proj_ && v_proj_ && o.rotary_dim == o.head_dim && o.clip == 0 &&
         !o.norm_after_rope && !o.keeps_keys && value_norm_.is_identity() &&
         (!has_norms || (o.qk_norm == QkNorm::kHead && norms_));
}

Tensor Attention::turned(const Tensor& heads, const HeadsProjection& projection,
                         const Step& step) const {
  const Tensor y = options_.rotary_dim > 0
                       ? rotated(heads, options_.slides ? step.local_rope : step.rope,
                                 options_.pairs, options_.rotary_dim)
                       : heads;
  return options_.norm_after_rope ? projection.of_heads(y) : y;
}

/// Of x by each projection that the layer has: of queries, of keys, of values.
std::vector<Tensor> Attention::projected(const Normalized& x) const {
  std::vector<Tensor> weights, biases;
  const auto add = [&](const HeadsProjection& of) {
    weights.push_back(of.projection.weight);
    biases.push_back(of.projection.bias.defined() ? of.projection.bias.tensor() : Tensor());
  };
  add(q_proj_);
  if (k_proj_) add(*k_proj_);
  if (v_proj_) add(*v_proj_);
  if (const RmsNorm* norm = x.rms())
    return rms_norm_linear_parts(x.x, norm->scale(), weights, biases, norm->options.eps);
  return linear_parts(x.value(), weights, biases);
}

/// The keys and values to attend to: of the tokens, or all of the cache, to which it adds them.
AttentionCache::KeysValues Attention::keys_values(std::span<const Tensor> of_projections,
                                                  const Step& step) const {
  if (options_.keys_of >= 0) return step.kept->at(options_.keys_of);
  const Tensor plain = k_proj_->split_heads(of_projections[1]);  // [B, T, G, D]
  const Tensor heads = k_proj_->norm_later ? plain : k_proj_->of_heads(plain),
               values = v_proj_ ? v_proj_->of_projection(of_projections[2]).x : plain;
  AttentionCache::KeysValues all = {transpose(turned(heads, *k_proj_, step), 1, 2),
                                    transpose(value_norm_(values), 1, 2), step.visible};
  if (AttentionCache* const cache = step.cache_of<AttentionCache>(options_.layer))
    all = cache->write(all.keys, all.values, step.positions, step.visible);
  if (options_.keeps_keys) step.kept->insert_or_assign(options_.layer, all);
  return all;
}

/// The tokens' queries and the keys and values that they attend to.
Attention::AddedTokens Attention::added_tokens(std::span<const Tensor> of_projections,
                                               const Step& step) const {
  AttentionCache* const cache = step.cache_of<AttentionCache>(options_.layer);
  const AttentionCache::Rows rows =
      cache && k_proj_ && !grad_enabled() ? cache->rows_at(step.positions) : AttentionCache::Rows();
  if (!adds_in_one_step(rows)) {
    const HeadsProjection::Heads queries = q_proj_.of_projection(of_projections[0]);
    return {turned(queries.x, q_proj_, step), queries.gate, keys_values(of_projections, step)};
  }
  const auto [x, gate] = q_proj_.heads_of(of_projections[0]);
  const Rotation& rope = options_.slides ? step.local_rope : step.rope;
  const RopeIntoOptions options{.pairs = options_.pairs,
                                .norms = norms_,
                                .eps = options_.norm.eps,
                                .key_scales = rows.key_scales,
                                .value_scales = rows.value_scales};
  const Tensor queries =
      rope_into(*rows.keys, *rows.values, x, k_proj_->heads_of(of_projections[1]).x,
                v_proj_->heads_of(of_projections[2]).x, rope.tables, rope.rows, rows.at, options);
  return {queries, gate, cache->written(step.visible)};
}

Tensor Attention::operator()(const Normalized& x, const Step& step, const Tensor& residual) const {
  const int64_t b = x.x.size(0), t = x.x.size(1);
  const std::vector<Tensor> of_projections = projected(x);
  const auto [turned_queries, gate, keys_and_values] = added_tokens(of_projections, step);
  const Tensor q = options_.temperature(transpose(turned_queries, 1, 2), step.positions);
  SdpaOptions sdpa_options = keys_and_values.in(options_.sdpa);
  const int64_t keys = keys_and_values.count();
  // Fewer keys than a chunk are the keys of the first chunk.
  if (options_.chunked && keys >= sdpa_options.window)
    sdpa_options.mask = in_chunk(step.visible, sdpa_options.positions, sdpa_options.window, keys);
  if (alibi_) sdpa_options.mask = (*alibi_)(keys);
  if (sdpa_options.window > 0 && step.seen_from) {
    sdpa_options.mask = seen_keys(step, sdpa_options, keys);
    sdpa_options.window = 0;
  }
  if (options_.sinks) sdpa_options.sinks = sinks_;
  const Tensor of_heads = sdpa(q, keys_and_values.keys, keys_and_values.values, sdpa_options);
  Tensor y = transpose(of_heads, 1, 2);  // [B, T, H, D]
  if (gate) y = y * sigmoid(gate);
  return o_proj_(reshape(y, {b, t, options_.heads * options_.head_dim}), residual);
}

/// The sizes of the layer's cache; whether it is a WindowCache.
std::pair<KeysValuesSizes, bool> Attention::cache_sizes(const CacheOptions& o) const {
  const int64_t window = options_.sdpa.window, room = WindowCache::room(window, o.chunk);
  const bool slides = window > 0 && room < o.capacity;
  return {{.sequences = o.sequences,
           .heads = options_.key_value_heads,
           .capacity = slides ? room : o.capacity,
           .head_dim = options_.head_dim,
           .type = o.type,
           .spans_capacity = o.spans_capacity},
          slides};
}

int64_t Attention::cache_bytes(const CacheOptions& o, DType dtype) const {
  if (options_.keys_of >= 0) return 0;
  const auto [sizes, slides] = cache_sizes(o);
  return bytes_of(sizes, dtype, slides ? CacheOptions() : o);
}

std::unique_ptr<LayerCache> Attention::make_cache(const CacheOptions& o,
                                                  const std::shared_ptr<BlockTable>& table,
                                                  const TensorOptions& options) const {
  if (options_.keys_of >= 0) return std::make_unique<NoCache>();
  const auto [sizes, slides] = cache_sizes(o);
  if (slides) return std::make_unique<WindowCache>(sizes, options_.sdpa.window, options);
  if (table) return std::make_unique<BlocksCache>(sizes, table, options);
  return std::make_unique<RowsCache>(sizes, options);
}

void Attention::add_work(double before, const TensorOptions& options, TokenWork* work) const {
  const int64_t window = options_.sdpa.window;
  const double attended = options_.chunked ? std::fmod(before, double(window)) + 1
                          : window > 0     ? std::min(before + 1, double(window))
                                           : before + 1;
  const int64_t keys = options_.key_value_heads * options_.head_dim;
  work->cache_bytes += attended * double(stored_bytes(work->cache, options.dtype, 2 * keys));
  work->cache_flop += 4 * attended * double(options_.heads * options_.head_dim);
}

}  // namespace wick
