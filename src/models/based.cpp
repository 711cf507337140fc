// Based: gated short convolutions, linear attention and attention within a window. Source: Arora et
// al. 2024, arXiv:2402.18668.
#include <algorithm>
#include <cmath>
#include <memory>

#include "models/architectures.h"
#include "models/caches/layer_cache.h"
#include "models/names/tensor_plan.h"
#include "models/names/typed_settings.h"
#include "models/parts/attention.h"
#include "models/parts/mixer.h"
#include "models/parts/mlp.h"
#include "wick/nn/layers.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/linear_attention.h"
#include "wick/ops/matmul.h"
#include "wick/ops/recurrence.h"
#include "wick/ops/reduce.h"
#include "wick/ops/shape.h"

// Shapes: B sequences, T tokens each, E channels of the convolution, K taps, H heads.
namespace wick {
namespace {

enum class LayerKind { kConv, kLinear, kSliding };

struct BasedConfig {
  int64_t vocab_size = 50257;  // without the rows that pad the embedding
  int64_t hidden_size = 0;
  int64_t intermediate_size = 0;
  int64_t num_attention_heads = 0;
  std::vector<LayerKind> layers;
  int64_t positions = 2048;
  double layer_norm_epsilon = 1e-5;
  int64_t conv_channels = 0;
  int64_t conv_kernel = 3;
  bool conv_bias = true;  // of in_proj and out_proj
  int64_t linear_heads = 16;
  int64_t feature_dim = 16;  // of queries and keys, before the feature map
  double linear_eps = 1e-12;
  int64_t window = 0;  // keys that a query sees, its own among them
  int64_t rotary_dim = 0;
  double rope_theta = 10000;
  double initializer_range = 0.02;
  bool residual_in_fp32 = false;
  std::vector<int64_t> eos_token_ids;
  std::vector<std::string> ignored_keys;
};

constexpr int64_t kMaxLayers = 1 << 16;
constexpr int64_t kMaxFeatureDim = 1 << 10;

DType state_dtype(DType dtype) { return dtype == DType::kF64 ? DType::kF64 : DType::kF32; }

// ---- layers

/// out(silu(conv(u)) v) with (u, v) = in(x).
class BaseConv final : public Mixer {
 public:
  BaseConv(const BasedConfig& c, Parameters& p, const std::string& name, int64_t layer)
      : layer_(layer),
        channels_(c.conv_channels),
        taps_(c.conv_kernel),
        in_proj_(p, name + "in_proj", c.hidden_size, 2 * channels_, options(c)),
        out_proj_(p, name + "out_proj", channels_, c.hidden_size, options(c)),
        weight_(
            p.take(name + "conv.conv.weight", {channels_, 1, taps_}, {0, c.initializer_range})) {}

  Tensor operator()(const Normalized& input, const Step& step,
                    const Tensor& residual) const override {
    const Tensor x = input.value();
    StateCache* const cache = step.cache_of<StateCache>(layer_);
    const std::vector<Tensor> both = chunk(in_proj_(x), 2, 2);  // u, v: [B, T, E]
    const TensorAndState conv = causal_conv1d(
        both[0], select(weight_.tensor(), 1, 0),
        {.state = cache ? cache->state(0) : Tensor(), .lengths = step.new_tokens, .silu = true});
    const Tensor y = held_outputs(conv.y * both[1], step.new_tokens, cache, 1);
    if (cache) {
      cache->set_state(0, conv.state);
    }
    return out_proj_(y, {.residual = residual});
  }
  std::unique_ptr<LayerCache> make_cache(const CacheOptions& cache,
                                         const std::shared_ptr<BlockTable>&,
                                         const TensorOptions& options) const override {
    const std::vector<StateCache::Kind> kinds = {{{taps_ - 1, channels_}, options.dtype},
                                                 {{1, channels_}, options.dtype}};
    return std::make_unique<StateCache>(cache.sequences, kinds, options.device);
  }
  bool keeps_state() const override { return true; }
  void add_work(double, const TensorOptions& options, TokenWork* work) const override {
    const double inputs = double(taps_ - 1) * double(channels_);
    work->cache_bytes += 2 * inputs * double(dtype_size(options.dtype));  // read and written
    work->cache_flop += 2 * inputs;
  }

 private:
  static LinearOptions options(const BasedConfig& c) {
    return {.bias = c.conv_bias, .deviation = c.initializer_range};
  }

  const int64_t layer_, channels_, taps_;
  const Linear in_proj_, out_proj_;
  const Parameter weight_;  // [E, 1, K]
};

/// Attention whose weights are the Taylor series of exp, up to the square.
class TaylorAttention final : public Mixer {
 public:
  TaylorAttention(const BasedConfig& c, Parameters& p, const std::string& name, int64_t layer)
      : layer_(layer),
        heads_(c.linear_heads),
        feature_dim_(c.feature_dim),
        head_dim_(c.hidden_size / c.linear_heads),
        eps_(c.linear_eps),
        proj_q_(p, name + "proj_q", c.hidden_size, heads_ * feature_dim_, options(c)),
        proj_k_(p, name + "proj_k", c.hidden_size, heads_ * feature_dim_, options(c)),
        proj_v_(p, name + "proj_v", c.hidden_size, c.hidden_size, options(c)),
        out_proj_(p, name + "out_proj", c.hidden_size, c.hidden_size, options(c)) {}

  Tensor operator()(const Normalized& input, const Step& step,
                    const Tensor& residual) const override {
    const Tensor x = input.value();
    StateCache* const cache = step.cache_of<StateCache>(layer_);
    const auto heads_of = [&](const Tensor& y, int64_t size) {
      return reshape(y, {x.size(0), x.size(1), heads_, size});
    };
    const TensorAndState attended =
        linear_attention(heads_of(proj_q_(x), feature_dim_), heads_of(proj_k_(x), feature_dim_),
                         heads_of(proj_v_(x), head_dim_),
                         {.map = FeatureMap::kTaylor,
                          .eps = eps_,
                          .state = cache ? cache->state(0) : Tensor(),
                          .lengths = step.new_tokens});
    const Tensor y = held_outputs(reshape(attended.y, x.shape()), step.new_tokens, cache, 1);
    if (cache) {
      cache->set_state(0, attended.state);
    }
    return out_proj_(y, {.residual = residual});
  }
  std::unique_ptr<LayerCache> make_cache(const CacheOptions& cache,
                                         const std::shared_ptr<BlockTable>&,
                                         const TensorOptions& options) const override {
    const std::vector<StateCache::Kind> kinds = {
        {{heads_, features(), head_dim_ + 1}, state_dtype(options.dtype)},
        {{1, heads_ * head_dim_}, options.dtype}};
    return std::make_unique<StateCache>(cache.sequences, kinds, options.device);
  }
  bool keeps_state() const override { return true; }
  void add_work(double, const TensorOptions& options, TokenWork* work) const override {
    const double states = double(heads_) * double(features()) * double(head_dim_ + 1);
    work->cache_bytes += 2 * states * double(dtype_size(state_dtype(options.dtype)));
    work->cache_flop += 4 * states;
  }

 private:
  static LinearOptions options(const BasedConfig& c) { return {.deviation = c.initializer_range}; }
  int64_t features() const { return 1 + feature_dim_ + feature_dim_ * feature_dim_; }

  const int64_t layer_, heads_, feature_dim_, head_dim_;
  const double eps_;
  const Linear proj_q_, proj_k_, proj_v_, out_proj_;
};

std::shared_ptr<const Mixer> make_mixer(const BasedConfig& c, Parameters& p,
                                        const std::string& name, int64_t layer) {
  switch (c.layers[size_t(layer)]) {
    case LayerKind::kConv:
      return std::make_shared<BaseConv>(c, p, name, layer);
    case LayerKind::kLinear:
      return std::make_shared<TaylorAttention>(c, p, name, layer);
    case LayerKind::kSliding:
      return std::make_shared<Attention>(
          AttentionOptions{.layer = layer,
                           .hidden_size = c.hidden_size,
                           .heads = c.num_attention_heads,
                           .key_value_heads = c.num_attention_heads,
                           .head_dim = c.hidden_size / c.num_attention_heads,
                           .rotary_dim = c.rotary_dim,
                           .deviation = c.initializer_range,
                           .output_deviation = c.initializer_range,
                           .sdpa = {.is_causal = true, .window = c.window}},
          p, name);
  }
  return nullptr;
}

struct Block {
  const RmsNorm norm1;
  const std::shared_ptr<const Mixer> mixer;
  const RmsNorm norm2;
  const Mlp mlp;

  Block(const BasedConfig& c, Parameters& p, const std::string& name, int64_t layer)
      : norm1(p, name + "norm1", c.hidden_size, NormOptions{.eps = c.layer_norm_epsilon}),
        mixer(make_mixer(c, p, name + "mixer.", layer)),
        norm2(p, name + "norm2", c.hidden_size, NormOptions{.eps = c.layer_norm_epsilon}),
        mlp({.hidden_size = c.hidden_size,
             .intermediate_size = c.intermediate_size,
             .deviation = c.initializer_range,
             .output_deviation = c.initializer_range},
            p, name + "mlp.") {}
  /// x [B, T, hidden_size], in f32 if residuals are.
  Tensor operator()(const Tensor& x, DType dtype, const Step& step) const {
    if (x.dtype() == dtype) {
      const Tensor y = (*mixer)(norm1(x), step, x);
      return mlp(norm2(y), y);
    }
    const Tensor y = x + cast((*mixer)(norm1(cast(x, dtype)), step), x.dtype());
    return y + cast(mlp(norm2(cast(y, dtype))), x.dtype());
  }
};

struct Layers {
  const BasedConfig config;
  const ModelFacts facts;
  const TensorOptions options;
  const int64_t positions;
  const Rotary rope;
  const Embedding embeddings;
  std::vector<Block> blocks;
  const RmsNorm norm;

  Layers(const BasedConfig& c, const ModelFacts& facts, Parameters& p, int64_t at_most)
      : config(c),
        facts(facts),
        options{.dtype = p.options().dtype, .device = p.options().device},
        positions(at_most > 0 ? at_most : c.positions),
        rope(rotates(c) ? positions : 0, c.rotary_dim, c.rope_theta, {}, options),
        embeddings(p, "transformer.embeddings.word_embeddings", c.vocab_size, c.hidden_size,
                   c.initializer_range),
        blocks(make_blocks(c, p)),
        norm(p, "transformer.ln_f", c.hidden_size, NormOptions{.eps = c.layer_norm_epsilon}) {}
  static bool rotates(const BasedConfig& c) {
    return c.rotary_dim > 0 && contains(c.layers, LayerKind::kSliding);
  }
  static std::vector<Block> make_blocks(const BasedConfig& c, Parameters& p) {
    std::vector<Block> blocks;
    blocks.reserve(c.layers.size());
    for (int64_t i = 0; i < int64_t(c.layers.size()); i++)
      blocks.emplace_back(c, p, "transformer.layers." + std::to_string(i) + ".", i);
    return blocks;
  }
};

class Based final : public CausalModel {
 public:
  explicit Based(std::shared_ptr<const Layers> layers) : layers_(std::move(layers)) {}

  std::shared_ptr<const CausalModel> shared() const override {
    return std::make_shared<Based>(*this);
  }
  const ModelFacts& facts() const override { return layers_->facts; }
  int64_t positions() const override { return layers_->positions; }
  TensorOptions options() const override { return layers_->options; }
  Tensor logits(const Tensor& hidden) const override {
    return linear(hidden, layers_->embeddings.weight, {});
  }
  Tensor embed(const Tensor& ids) const override { return layers_->embeddings(ids); }
  bool steps_are_alike() const override { return true; }
  std::unique_ptr<ModelCache> make_cache(const CacheOptions& o) const override {
    std::vector<std::unique_ptr<LayerCache>> caches;
    for (const Block& block : layers_->blocks)
      caches.push_back(block.mixer->make_cache(o, nullptr, options()));
    return std::make_unique<ModelCache>(o, std::move(caches));
  }
  TokenWork work(const std::map<std::string, TensorInfo>& weights, double before,
                 CacheType cache) const override {
    TokenWork work;
    work.cache = cache;
    for (const auto& [name, info] : weights) {
      const bool is_output = name == "transformer.embeddings.word_embeddings.weight";
      work.bytes += double(bytes_of(info.dtype, numel(info.shape)));
      (is_output ? work.output_elements : work.elements) += double(numel(info.shape));
    }
    for (const Block& block : layers_->blocks) block.mixer->add_work(before, options(), &work);
    return work;
  }

 protected:
  Tensor hidden_of(const TokenGrid& grid, ModelCache* cache,
                   std::vector<Tensor>* all) const override {
    require_room_for(grid);
    const DType dtype = options().dtype;
    const bool is_half = dtype != DType::kF32 && dtype != DType::kF64;
    const Rotation rope = layers_->rope.of(grid.positions, {});
    const Step step{grid.positions,
                    grid.visible,
                    grid.seen_from,
                    rope,
                    rope,
                    cache,
                    new_tokens(cache, grid.tokens(), options().device)};
    Tensor x = grid.embeddings ? grid.embeddings : layers_->embeddings(grid.ids);
    if (layers_->config.residual_in_fp32 && is_half) x = cast(x, DType::kF32);
    for (const Block& block : layers_->blocks) {
      if (all) all->push_back(cast(x, dtype));
      x = block(x, dtype, step);
    }
    x = layers_->norm(cast(x, dtype));
    if (all) all->push_back(x);
    return x;
  }

 private:
  void require_room_for(const TokenGrid& grid) const {
    for (const int64_t length : grid.lengths)
      check(length <= positions(), ErrorCode::kOutOfRange, "based", "a text of ", length,
            " tokens exceeds the ", positions(), " positions that the model is loaded for");
  }

  std::shared_ptr<const Layers> layers_;
};

// ---- files

class Config final : public ModelConfig {
 public:
  explicit Config(BasedConfig config) : config_(std::move(config)) {}

  ModelFacts facts() const override {
    return {.model_type = "based",
            .vocab_size = config_.vocab_size,
            .hidden_size = config_.hidden_size,
            .max_position_embeddings = config_.positions,
            .is_causal = true};
  }
  const std::vector<int64_t>& eos_token_ids() const override { return config_.eos_token_ids; }
  const std::vector<std::string>& ignored_keys() const override { return config_.ignored_keys; }
  TensorSource tensors(const TensorSource& files) const override;
  std::shared_ptr<const CausalModel> make(Parameters& parameters,
                                          int64_t positions) const override {
    return std::make_shared<Based>(
        std::make_shared<Layers>(config_, facts(), parameters, positions));
  }

 private:
  BasedConfig config_;
};

/// Replaces a tensor by its parts along the first dim, of equal sizes. One whose rows do not divide
/// stays, so that the parts are missing.
void split(TensorPlan& plan, const std::string& name, const std::vector<std::string>& parts) {
  TensorInfo info = plan.info(name);
  const int64_t count = int64_t(parts.size());
  if (info.shape.size() != 2 || info.shape[0] % count != 0) return;
  const int64_t rows = info.shape[0] /= count;
  for (int64_t i = 0; i < count; i++)
    plan.add(parts[size_t(i)], {name}, info, [i, rows](const std::vector<Tensor>& inputs) {
      return narrow(inputs[0], 0, i * rows, rows);
    });
  plan.drop(name);
}

TensorSource Config::tensors(const TensorSource& files) const {
  const std::string embedding = "transformer.embeddings.word_embeddings.weight";
  // Files that were saved by the trainer have a prefix, and its counters.
  TensorPlan plan(files);
  plan.rename([&](const std::string& name) {
    if (name.find("metrics.") != name.npos) return std::string();
    return name.starts_with("model.") ? name.substr(6) : name;
  });
  if (plan.has("lm_head.weight")) {  // the embedding, which some files leave out
    if (plan.has(embedding))
      plan.drop("lm_head.weight");
    else
      plan.rename([&](const std::string& n) { return n == "lm_head.weight" ? embedding : n; });
  }
  if (plan.has(embedding)) {
    TensorInfo info = plan.info(embedding);
    const int64_t rows = config_.vocab_size;
    if (info.shape.size() == 2 && info.shape[0] > rows) {  // padded
      info.shape[0] = rows;
      plan.change(embedding, info, [rows](const std::vector<Tensor>& inputs) {
        return narrow(inputs[0], 0, 0, rows);
      });
    }
  }
  for (size_t i = 0; i < config_.layers.size(); i++) {
    const std::string layer = "transformer.layers." + std::to_string(i) + ".";
    const std::string mixer = layer + "mixer.", mlp = layer + "mlp.";
    plan.rename([&](const std::string& name) {
      if (name == mlp + "fc2.weight") return mlp + "down_proj.weight";
      const bool slides = config_.layers[i] == LayerKind::kSliding;
      return slides && name == mixer + "out_proj.weight" ? mixer + "o_proj.weight" : name;
    });
    if (plan.has(mlp + "fc1.weight"))
      split(plan, mlp + "fc1.weight", {mlp + "up_proj.weight", mlp + "gate_proj.weight"});
    if (plan.has(mixer + "Wqkv.weight"))
      split(plan, mixer + "Wqkv.weight",
            {mixer + "q_proj.weight", mixer + "k_proj.weight", mixer + "v_proj.weight"});
  }
  return plan.source();
}

/// The options of a kind of layer; empty ones if they are missing.
Settings group_of(const Settings& s, const char* key) {
  const Settings* const group = s.group(key);
  return group ? *group : Settings(s.where() + ": \"" + key + "\"");
}

/// Checks that the class which a group is made by is among the published ones.
void require_class(const Settings& group, std::initializer_list<const char*> parts) {
  const std::string target = group.text_or("_target_", *parts.begin());
  std::string known;
  for (const char* part : parts) {
    if (target.find(part) != target.npos) return;
    known += (known.empty() ? "a class named \"" : " or \"") + std::string(part) + "\"";
  }
  group.fail_expected("_target_", known);
}

/// Marks the layers that a key lists.
void mark_layers(const Settings& s, const char* key, LayerKind kind, BasedConfig* c) {
  const int64_t count = int64_t(c->layers.size());
  for (const int64_t layer : s.integers(key)) {
    if (layer < 0 || layer >= count)
      s.fail_expected(key, "layers from 0 to " + std::to_string(count - 1));
    if (c->layers[size_t(layer)] != LayerKind::kConv)
      s.fail_expected(key, "each layer once, in one of both lists");
    c->layers[size_t(layer)] = kind;
  }
}

void read_conv(const Settings& s, BasedConfig* c) {
  require_class(s, {"BaseConv"});
  const int64_t expand = size_of(s, "expand_proj", 2, kLargestSize / c->hidden_size);
  if (expand * c->hidden_size % 2 != 0) s.fail_expected("expand_proj", "an even number");
  c->conv_channels = expand * c->hidden_size / 2;
  const std::vector<int64_t> kernels = s.integers("kernel_sizes");
  if (kernels.size() > 1 || (!kernels.empty() && kernels[0] < 1))
    s.fail_expected("kernel_sizes", "one size of at least 1");
  c->conv_kernel = size_of(s, "kernel_size", kernels.empty() ? c->conv_kernel : kernels[0]);
  if (c->conv_kernel < 2) s.fail_expected("kernel_size", "at least 2");
  c->conv_bias = s.flag_or("use_bias", c->conv_bias);
}

void read_linear(const Settings& s, BasedConfig* c) {
  require_class(s, {"LinearAttention"});
  c->linear_heads = size_of(s, "num_heads", c->linear_heads);
  if (c->hidden_size % c->linear_heads != 0)
    s.fail_expected("num_heads", "a divisor of n_embd " + std::to_string(c->hidden_size));
  c->feature_dim = size_of(s, "feature_dim", c->feature_dim, kMaxFeatureDim);
  const int64_t head_dim = c->hidden_size / c->linear_heads;
  if (size_of(s, "head_dim", head_dim) != head_dim)
    s.fail_expected("head_dim", std::to_string(head_dim));
  c->linear_eps = positive(s, "eps", c->linear_eps);
  c->positions = size_of(s, "l_max", c->positions);
  const Settings map = group_of(s, "feature_map");
  require_class(map, {"TaylorExp"});
  if (size_of(map, "input_dim", c->feature_dim) != c->feature_dim)
    map.fail_expected("input_dim", "the feature_dim " + std::to_string(c->feature_dim));
}

void read_sliding(const Settings& s, BasedConfig* c) {
  require_class(s, {"SlidingAttention", "SlidingsMHA"});
  if (size_of(s, "num_heads", c->num_attention_heads) != c->num_attention_heads)
    s.fail_expected("num_heads", "the n_head " + std::to_string(c->num_attention_heads));
  c->window = size_of(s, "window_size", 128) / 2 + 1;
}

/// Keys that change results, with the one value that wick computes. Missing keys have the values of
/// the published models.
struct FixedKey {
  const char* key;
  Setting value;
};
const std::vector<FixedKey>& fixed_keys() {
  static const std::vector<FixedKey> keys = {{"activation_function", "swiglu"},
                                             {"rms_norm", true},
                                             {"prenorm", true},
                                             {"scale_attn_weights", true},
                                             {"tie_word_embeddings", true},
                                             {"max_position_embeddings", 0},
                                             {"qkv_proj_bias", false},
                                             {"out_proj_bias", false},
                                             {"mlp_fc1_bias", false},
                                             {"mlp_fc2_bias", false},
                                             {"parallel_block", false},
                                             {"rotary_emb_interleaved", false},
                                             {"scale_attn_by_inverse_layer_idx", false},
                                             {"attn_dwconv", false}};
  return keys;
}

constexpr std::string_view kRead[] = {"vocab_size",
                                      "n_embd",
                                      "n_inner",
                                      "n_layer",
                                      "n_head",
                                      "n_positions",
                                      "layer_norm_epsilon",
                                      "alt_mixer_layers",
                                      "alt_mixer_2_layers",
                                      "mixer",
                                      "alt_mixer",
                                      "alt_mixer_2",
                                      "rotary_emb_fraction",
                                      "rotary_emb_base",
                                      "residual_in_fp32",
                                      "initializer_range",
                                      "eos_token_id"};
/// The keys of config.json that say nothing of the results.
constexpr std::string_view kIdleKeys[] = {"_target_",
                                          "_name_or_path",
                                          "architectures",
                                          "attn_pdrop",
                                          "bos_token_id",
                                          "dtype",
                                          "embd_pdrop",
                                          "fused_bias_fc",
                                          "fused_dropout_add_ln",
                                          "fused_mlp",
                                          "model_type",
                                          "pad_vocab_size_multiple",
                                          "reorder_and_upcast_attn",
                                          "resid_pdrop",
                                          "special_initializer",
                                          "torch_dtype",
                                          "transformers_version",
                                          "use_cache",
                                          "use_flash_attn"};

void require_fixed_keys(const Settings& s) {
  for (const auto& [key, value] : fixed_keys()) {
    const Setting* const found = s.find(key);
    if (found && describe(*found) != describe(value)) s.fail_expected(key, describe(value));
  }
}

std::unique_ptr<ModelConfig> of_folder(const Settings& s, const TensorSource*,
                                       std::vector<std::string>*) {
  BasedConfig c;
  require_fixed_keys(s);
  c.vocab_size = size_of(s, "vocab_size", c.vocab_size);
  c.hidden_size = size_of(s, "n_embd");
  c.intermediate_size = size_of(s, "n_inner");
  c.layers.assign(size_t(size_of(s, "n_layer", 0, kMaxLayers)), LayerKind::kConv);
  c.num_attention_heads = size_of(s, "n_head");
  if (c.hidden_size % c.num_attention_heads != 0)
    s.fail_expected("n_head", "a divisor of n_embd " + std::to_string(c.hidden_size));
  if (s.integer_or("n_positions", 0) > 0) c.positions = size_of(s, "n_positions");
  c.layer_norm_epsilon = positive(s, "layer_norm_epsilon", c.layer_norm_epsilon);
  c.initializer_range = positive(s, "initializer_range", c.initializer_range);
  c.residual_in_fp32 = s.flag_or("residual_in_fp32", c.residual_in_fp32);
  mark_layers(s, "alt_mixer_layers", LayerKind::kLinear, &c);
  mark_layers(s, "alt_mixer_2_layers", LayerKind::kSliding, &c);
  read_conv(group_of(s, "mixer"), &c);
  read_linear(group_of(s, "alt_mixer"), &c);
  read_sliding(group_of(s, "alt_mixer_2"), &c);
  const double fraction = s.real_or("rotary_emb_fraction", 1);
  if (fraction < 0 || fraction > 1) s.fail_expected("rotary_emb_fraction", "from 0 to 1");
  c.rotary_dim = int64_t(fraction * double(c.hidden_size / c.num_attention_heads));
  if (c.rotary_dim % 2 != 0)
    s.fail_expected("rotary_emb_fraction", "an even number of each head's elements");
  c.rope_theta = positive(s, "rotary_emb_base", c.rope_theta);
  c.eos_token_ids = s.integers("eos_token_id");
  const auto is_fixed = [](const std::string& key) {
    return std::any_of(fixed_keys().begin(), fixed_keys().end(),
                       [&](const FixedKey& fixed) { return key == fixed.key; });
  };
  for (const auto& [key, value] : s.entries())
    if (!contains(kRead, key) && !contains(kIdleKeys, key) && !is_fixed(key))
      c.ignored_keys.push_back(key);
  return std::make_unique<Config>(std::move(c));
}

}  // namespace

const Architecture kBased = {.name = "based",
                             .model_types = [] { return std::vector<std::string_view>{"based"}; },
                             .ggufs = [] { return std::vector<std::string_view>(); },
                             .of_folder = of_folder,
                             .of_gguf = nullptr};

}  // namespace wick
