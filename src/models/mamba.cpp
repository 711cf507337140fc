// Mamba: layers whose state has a fixed size. Source: Gu & Dao 2023, arXiv:2312.00752.
#include <algorithm>
#include <cmath>
#include <optional>

#include "models/architectures.h"
#include "models/caches/layer_cache.h"
#include "models/names/tensor_plan.h"
#include "models/names/tied_head.h"
#include "models/names/typed_settings.h"
#include "models/parts/mixer.h"
#include "scalar/round_up.h"
#include "wick/nn/layers.h"
#include "wick/ops/arrange.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/matmul.h"
#include "wick/ops/recurrence.h"
#include "wick/ops/reduce.h"
#include "wick/ops/shape.h"
#include "wick/ops/unary.h"

// Shapes: B sequences, T tokens each, E inner size, N state size, K taps of the convolution.
namespace wick {
namespace {

struct MambaConfig {
  int64_t vocab_size = 50280;
  int64_t hidden_size = 768;
  int64_t state_size = 16;
  int64_t num_hidden_layers = 32;
  int64_t inner_size = 1536;
  int64_t conv_kernel = 4;
  int64_t time_step_rank = 48;
  double layer_norm_epsilon = 1e-5;
  double initializer_range = 0.1;
  bool use_bias = false;  // of in_proj and out_proj
  bool use_conv_bias = true;
  bool residual_in_fp32 = true;
  bool tie_word_embeddings = true;
  std::vector<int64_t> eos_token_ids;
  std::vector<std::string> ignored_keys;
};

constexpr int64_t kMaxLayers = 1 << 16;

/// Nothing limits the length of a text; this is llama.cpp's number.
constexpr int64_t kPositions = int64_t{1} << 20;

/// Values of a call that all layers share.
struct MambaStep {
  ModelCache* cache;  // may be nullptr
  Tensor lengths;     // [B] i64: see new_tokens
};

struct MambaMixer {
  static constexpr int64_t kPart = 64;  // tokens that are scanned at once

  const int64_t layer, inner, states, taps, rank;
  const Linear in_proj, x_proj, dt_proj, out_proj;
  const Parameter conv_weight, conv_bias;  // [E, 1, K], [E]
  const Parameter a_log, d;                // [E, N], [E]

  MambaMixer(const MambaConfig& c, Parameters& p, const std::string& name, int64_t layer)
      : layer(layer),
        inner(c.inner_size),
        states(c.state_size),
        taps(c.conv_kernel),
        rank(c.time_step_rank),
        in_proj(p, name + "in_proj", c.hidden_size, 2 * inner, linear_options(c, c.use_bias)),
        x_proj(p, name + "x_proj", inner, rank + 2 * states, linear_options(c, false)),
        dt_proj(p, name + "dt_proj", rank, inner, linear_options(c, true)),
        out_proj(p, name + "out_proj", inner, c.hidden_size, linear_options(c, c.use_bias)),
        conv_weight(p.take(name + "conv1d.weight", {inner, 1, taps}, {0, c.initializer_range})),
        conv_bias(c.use_conv_bias ? p.take(name + "conv1d.bias", {inner}, {0, 0}) : Parameter()),
        a_log(p.take(name + "A_log", {inner, states}, {0, 0})),
        d(p.take(name + "D", {inner}, {1, 0})) {}

  static LinearOptions linear_options(const MambaConfig& c, bool bias) {
    return {.bias = bias, .deviation = c.initializer_range};
  }

  Tensor operator()(const Tensor& hidden, const MambaStep& step) const {  // [B, T, hidden_size]
    const int64_t batch = hidden.size(0), tokens = hidden.size(1);
    StateCache* const cache =
        step.cache ? &static_cast<StateCache&>(step.cache->layer(layer)) : nullptr;
    const Tensor both = in_proj(hidden);
    const auto conv = causal_conv1d(narrow(both, 2, 0, inner), select(conv_weight.tensor(), 1, 0),
                                    {.bias = conv_bias.defined() ? conv_bias.tensor() : Tensor(),
                                     .state = cache ? cache->state(0) : Tensor(),
                                     .lengths = step.lengths,
                                     .silu = true});
    const Tensor& x = conv.y;  // [B, T, E]

    const Tensor selected = x_proj(x);  // [B, T, rank + 2 N]
    // States and their factors are f32, or f64.
    const DType wide = x.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
    const Tensor dt = cast(softplus(dt_proj(narrow(selected, 2, 0, rank))), wide);  // [B, T, E]
    const Tensor b = cast(narrow(selected, 2, rank, states), wide),
                 c = cast(narrow(selected, 2, rank + states, states), wide), wide_x = cast(x, wide),
                 a = -exp(cast(a_log.tensor(), wide));
    Tensor state = cache ? reshape(cache->state(1), {batch, inner * states}) : Tensor();
    std::vector<Tensor> outputs;
    for (int64_t first = 0; first < tokens; first += kPart) {
      const int64_t count = std::min(kPart, tokens - first);
      const auto part = [&](const Tensor& t) { return narrow(t, 1, first, count); };
      const Tensor part_dt = part(dt);
      const Tensor decay = exp(unsqueeze(part_dt, 3) * a);  // [B, T, E, N]
      const Tensor added = unsqueeze(part_dt * part(wide_x), 3) * unsqueeze(part(b), 2);
      const Shape flat{batch, count, inner * states};
      const auto all =
          linear_scan(reshape(decay, flat), reshape(added, flat),
                      {.state = state, .lengths = step.lengths ? step.lengths - first : Tensor()});
      state = all.state;
      outputs.push_back(sum(reshape(all.y, added.shape()) * unsqueeze(part(c), 2), {.dims = {-1}}));
    }
    Tensor y = outputs.size() == 1 ? outputs[0] : cat(outputs, 1);  // [B, T, E]
    y = cast(y + wide_x * cast(d.tensor(), wide), x.dtype());
    if (cache) {
      cache->set_state(0, conv.state);
      cache->set_state(1, reshape(state, {batch, inner, states}));
    }
    return out_proj(y * silu(narrow(both, 2, inner, inner)));
  }
};

struct Block {
  const RmsNorm norm;
  const MambaMixer mixer;

  Block(const MambaConfig& c, Parameters& p, const std::string& name, int64_t layer)
      : norm(p, name + "norm", c.hidden_size, NormOptions{.eps = c.layer_norm_epsilon}),
        mixer(c, p, name + "mixer.", layer) {}
  /// x [B, T, hidden_size], in f32 if residuals are.
  Tensor operator()(const Tensor& x, DType dtype, const MambaStep& step) const {
    return x + cast(mixer(norm(cast(x, dtype)), step), x.dtype());
  }
};

struct Layers {
  const MambaConfig config;
  const ModelFacts facts;
  const TensorOptions options;
  const int64_t positions;
  const Embedding embeddings;
  std::vector<Block> blocks;
  const RmsNorm norm;
  const Parameter output_weight;

  Layers(const MambaConfig& c, const ModelFacts& facts, Parameters& p, int64_t positions)
      : config(c),
        facts(facts),
        options{.dtype = p.options().dtype, .device = p.options().device},
        positions(positions > 0 ? positions : kPositions),
        embeddings(p, "backbone.embeddings", c.vocab_size, c.hidden_size, c.initializer_range),
        blocks(make_blocks(c, p)),
        norm(p, "backbone.norm_f", c.hidden_size, NormOptions{.eps = c.layer_norm_epsilon}),
        output_weight(c.tie_word_embeddings ? embeddings.weight
                                            : Linear(p, "lm_head", c.hidden_size, c.vocab_size,
                                                     {.deviation = c.initializer_range})
                                                  .weight) {}
  static std::vector<Block> make_blocks(const MambaConfig& c, Parameters& p) {
    std::vector<Block> blocks;
    blocks.reserve(size_t(c.num_hidden_layers));
    for (int64_t i = 0; i < c.num_hidden_layers; i++)
      blocks.emplace_back(c, p, "backbone.layers." + std::to_string(i) + ".", i);
    return blocks;
  }
};

class Mamba final : public CausalModel {
 public:
  explicit Mamba(std::shared_ptr<const Layers> layers) : layers_(std::move(layers)) {}

  std::shared_ptr<const CausalModel> shared() const override {
    return std::make_shared<Mamba>(*this);
  }
  const ModelFacts& facts() const override { return layers_->facts; }
  int64_t positions() const override { return layers_->positions; }
  TensorOptions options() const override { return layers_->options; }
  Tensor logits(const Tensor& hidden) const override {
    return linear(hidden, layers_->output_weight, {});
  }
  Tensor embed(const Tensor& ids) const override { return layers_->embeddings(ids); }
  bool steps_are_alike() const override { return true; }
  std::unique_ptr<ModelCache> make_cache(const CacheOptions& o) const override {
    const MambaConfig& c = layers_->config;
    std::vector<std::unique_ptr<LayerCache>> caches;
    for (int64_t i = 0; i < c.num_hidden_layers; i++)
      caches.push_back(std::make_unique<StateCache>(
          o.sequences,
          std::vector<StateCache::Kind>{{{c.conv_kernel - 1, c.inner_size}, options().dtype},
                                        {{c.inner_size, c.state_size}, wide()}},
          options().device));
    return std::make_unique<ModelCache>(o, std::move(caches));
  }
  TokenWork work(const std::map<std::string, TensorInfo>& weights, double,
                 CacheType) const override {
    const MambaConfig& c = layers_->config;
    TokenWork work;
    for (const auto& [name, info] : weights) {
      const bool is_output =
          name == (c.tie_word_embeddings ? "backbone.embeddings.weight" : "lm_head.weight");
      if (name == "backbone.embeddings.weight" && !is_output) continue;
      work.bytes += double(bytes_of(info.dtype, numel(info.shape)));
      (is_output ? work.output_elements : work.elements) += double(numel(info.shape));
    }
    const double states = double(c.num_hidden_layers * c.inner_size * c.state_size);
    work.cache_bytes = 2 * states * double(dtype_size(wide()));  // read and written
    work.cache_flop = 7 * states;
    return work;
  }

 protected:
  Tensor hidden_of(const TokenGrid& grid, ModelCache* cache,
                   std::vector<Tensor>* all) const override {
    for (const int64_t length : grid.lengths)
      check(length <= positions(), ErrorCode::kOutOfRange, "mamba", "a text of ", length,
            " tokens exceeds the ", positions(), " positions that the model is loaded for");
    const DType dtype = options().dtype;
    const bool is_half = dtype != DType::kF32 && dtype != DType::kF64;
    const DType residual = layers_->config.residual_in_fp32 && is_half ? DType::kF32 : dtype;
    const MambaStep step{.cache = cache,
                         .lengths = new_tokens(cache, grid.tokens(), options().device)};
    Tensor x = cast(grid.embeddings ? grid.embeddings : layers_->embeddings(grid.ids), residual);
    for (const Block& block : layers_->blocks) {
      if (all) all->push_back(cast(x, dtype));
      x = block(x, dtype, step);
    }
    x = layers_->norm(cast(x, dtype));
    if (all) all->push_back(x);
    return x;
  }

 private:
  DType wide() const { return options().dtype == DType::kF64 ? DType::kF64 : DType::kF32; }

  std::shared_ptr<const Layers> layers_;
};

// ---- files

/// The keys of config.json that say nothing of the results.
constexpr std::string_view kIdleKeys[] = {
    "architectures", "model_type",       "torch_dtype",          "dtype",
    "bos_token_id",  "pad_token_id",     "time_step_floor",      "time_step_init_scheme",
    "time_step_max", "time_step_min",    "time_step_scale",      "rescale_prenorm_residual",
    "use_cache",     "use_mambapy",      "use_associative_scan", "transformers_version",
    "_name_or_path", "intermediate_size"};

class Config final : public ModelConfig {
 public:
  explicit Config(MambaConfig config) : config_(std::move(config)) {}

  ModelFacts facts() const override {
    return {.model_type = "mamba",
            .vocab_size = config_.vocab_size,
            .hidden_size = config_.hidden_size,
            .max_position_embeddings = kPositions,
            .is_causal = true};
  }
  const std::vector<int64_t>& eos_token_ids() const override { return config_.eos_token_ids; }
  const std::vector<std::string>& ignored_keys() const override { return config_.ignored_keys; }
  TensorSource tensors(const TensorSource& files) const override;
  std::shared_ptr<const CausalModel> make(Parameters& parameters,
                                          int64_t positions) const override {
    return std::make_shared<Mamba>(
        std::make_shared<Layers>(config_, facts(), parameters, positions));
  }

 private:
  MambaConfig config_;
};

struct Name {
  std::string_view gguf, hub;
};
constexpr Name kLayerNames[] = {
    {"attn_norm.weight", "norm.weight"},
    {"ssm_in.weight", "mixer.in_proj.weight"},
    {"ssm_in.bias", "mixer.in_proj.bias"},
    {"ssm_conv1d.weight", "mixer.conv1d.weight"},
    {"ssm_conv1d.bias", "mixer.conv1d.bias"},
    {"ssm_x.weight", "mixer.x_proj.weight"},
    {"ssm_dt.weight", "mixer.dt_proj.weight"},
    {"ssm_dt.bias", "mixer.dt_proj.bias"},
    {"ssm_a", "mixer.A_log"},
    {"ssm_d", "mixer.D"},
    {"ssm_out.weight", "mixer.out_proj.weight"},
    {"ssm_out.bias", "mixer.out_proj.bias"},
};

/// The hub's name for one of a GGUF file's; the name itself if it is unknown.
std::string hub_name(const std::string& name) {
  for (const auto& [gguf, hub] : {Name{"token_embd.weight", "backbone.embeddings.weight"},
                                  Name{"output_norm.weight", "backbone.norm_f.weight"},
                                  Name{"output.weight", "lm_head.weight"}})
    if (name == gguf) return std::string(hub);
  const size_t part = name.find('.', 4);
  if (!name.starts_with("blk.") || part == std::string::npos) return name;
  for (const auto& [gguf, hub] : kLayerNames)
    if (name.substr(part + 1) == gguf)
      return "backbone.layers." + name.substr(4, part + 1 - 4) + std::string(hub);
  return name;
}

TensorSource Config::tensors(const TensorSource& files) const {
  const bool is_gguf = files.tensors.count("token_embd.weight") > 0;
  TensorPlan plan(files);
  plan.rename([&](const std::string& name) {
    const std::string hub = is_gguf ? hub_name(name) : name;
    return hub == "lm_head.weight" && config_.tie_word_embeddings ? "" : hub;
  });
  using Inputs = std::vector<Tensor>;
  for (const std::string& name : plan.names()) {
    TensorInfo info = plan.info(name);
    if (name.ends_with("conv1d.weight") &&
        info.shape.size() == 2) {  // GGUF leaves out the dim of 1
      info.shape.insert(1, 1);
      plan.change(name, info, [](const Inputs& inputs) { return unsqueeze(inputs[0], 1); });
    }
    if (is_gguf && name.ends_with(".A_log"))  // GGUF has -exp(A_log)
      plan.change(name, info, [](const Inputs& inputs) { return log(-inputs[0]); });
  }
  return plan.source();
}

std::unique_ptr<ModelConfig> of_folder(const Settings& s, const TensorSource* tensors,
                                       std::vector<std::string>* warnings) {
  MambaConfig c;
  c.vocab_size = size_of(s, "vocab_size", c.vocab_size);
  c.hidden_size = size_of(s, "hidden_size", c.hidden_size);
  c.state_size = size_of(s, "state_size", c.state_size);
  c.num_hidden_layers = size_of(s, "num_hidden_layers", c.num_hidden_layers, kMaxLayers);
  c.inner_size = size_of(s, "expand", 2, kLargestSize / c.hidden_size) * c.hidden_size;
  c.conv_kernel = size_of(s, "conv_kernel", c.conv_kernel);
  if (c.conv_kernel < 2) s.fail_expected("conv_kernel", "at least 2");
  const Setting* const rank = s.find("time_step_rank");
  const bool is_auto =
      !rank || s.has("time_step_rank") == false || std::holds_alternative<std::string>(rank->value);
  if (is_auto && s.text_or("time_step_rank", "auto") != "auto")
    s.fail_expected("time_step_rank", "an integer or \"auto\"");
  c.time_step_rank = is_auto ? ceil_div(c.hidden_size, 16) : size_of(s, "time_step_rank", 1);
  c.layer_norm_epsilon = positive(s, "layer_norm_epsilon", c.layer_norm_epsilon);
  c.initializer_range = positive(s, "initializer_range", c.initializer_range);
  c.use_bias = s.flag_or("use_bias", c.use_bias);
  c.use_conv_bias = s.flag_or("use_conv_bias", c.use_conv_bias);
  c.residual_in_fp32 = s.flag_or("residual_in_fp32", c.residual_in_fp32);
  c.tie_word_embeddings = s.flag_or("tie_word_embeddings", c.tie_word_embeddings);
  if (s.text_or("hidden_act", "silu") != "silu") s.fail_expected("hidden_act", "\"silu\"");
  c.eos_token_ids = s.integers("eos_token_id");
  constexpr std::string_view kRead[] = {
      "vocab_size", "hidden_size",       "state_size",       "num_hidden_layers",
      "expand",     "conv_kernel",       "time_step_rank",   "layer_norm_epsilon",
      "use_bias",   "use_conv_bias",     "residual_in_fp32", "tie_word_embeddings",
      "hidden_act", "initializer_range", "eos_token_id"};
  for (const auto& [key, value] : s.entries())
    if (!contains(kRead, key) && !contains(kIdleKeys, key)) c.ignored_keys.push_back(key);
  if (tensors && c.tie_word_embeddings)
    c.tie_word_embeddings = !has_own_head(*tensors, "backbone.embeddings.weight", *warnings);
  return std::make_unique<Config>(std::move(c));
}

std::unique_ptr<ModelConfig> of_gguf(const Settings& metadata, const TensorSource& tensors) {
  const auto size = [&](const char* key, int64_t most = kLargestSize) {
    const std::string name = std::string("mamba.") + key;
    metadata.integer(name, 1);  // it must be there
    return size_of(metadata, name.c_str(), 1, most);
  };
  MambaConfig c;
  c.hidden_size = size("embedding_length");
  c.num_hidden_layers = size("block_count", kMaxLayers);
  c.conv_kernel = size("ssm.conv_kernel");
  c.inner_size = size("ssm.inner_size");
  c.state_size = size("ssm.state_size");
  c.time_step_rank = size("ssm.time_step_rank");
  if (c.conv_kernel < 2) metadata.fail_expected("mamba.ssm.conv_kernel", "at least 2");
  const char* const eps = "mamba.attention.layer_norm_rms_epsilon";
  metadata.real(eps);
  c.layer_norm_epsilon = positive(metadata, eps, 1);
  check(!metadata.flag_or("mamba.ssm.dt_b_c_rms", false), ErrorCode::kUnsupported, metadata.where(),
        "\"mamba.ssm.dt_b_c_rms\": expected false, got true");
  const auto embedding = tensors.tensors.find("token_embd.weight");
  check(embedding != tensors.tensors.end() && embedding->second.shape.size() == 2,
        ErrorCode::kFormat, metadata.where(), "expected a tensor \"token_embd.weight\" of 2 dims");
  c.vocab_size = embedding->second.shape[0];
  c.tie_word_embeddings = tensors.tensors.count("output.weight") == 0;
  c.use_bias = tensors.tensors.count("blk.0.ssm_in.bias") > 0;
  c.use_conv_bias = tensors.tensors.count("blk.0.ssm_conv1d.bias") > 0;
  return std::make_unique<Config>(std::move(c));
}

}  // namespace

const Architecture kMamba = {.name = "mamba",
                             .model_types = [] { return std::vector<std::string_view>{"mamba"}; },
                             .ggufs = [] { return std::vector<std::string_view>{"mamba"}; },
                             .of_folder = of_folder,
                             .of_gguf = of_gguf};

}  // namespace wick
