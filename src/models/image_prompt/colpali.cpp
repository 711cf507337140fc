// ColPali: a PaliGemma whose hidden states become a vector for each token, to find pages by them.
// Source: Faysse et al. 2024, arXiv:2407.01449, section 4; the keys and names by transformers 5.24
// (Apache 2.0) and by the authors' colpali-engine (MIT).
#include "models/architectures.h"
#include "models/image_prompt/image_decoder.h"
#include "models/image_prompt/paligemma.h"
#include "models/image_text/image_tower_config.h"
#include "models/names/tensor_plan.h"
#include "models/names/typed_settings.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/statistics.h"

namespace wick {
namespace {

const std::string kProjection = "embedding_proj_layer";

class ColPali final : public ImageDecoder {
 public:
  ColPali(const PaliGemmaConfig& config, Parameters& p, int64_t positions)
      : ImageDecoder(config.text, config.image, config.facts, p, positions),
        projection_(p, kProjection, config.facts.hidden_size, config.facts.embedding_dim,
                    {.bias = true}) {}

  std::shared_ptr<const CausalModel> shared() const override {
    return std::make_shared<ColPali>(*this);
  }
  Tensor logits(const Tensor&) const override {
    fail(ErrorCode::kUnsupported, "logits", "a model of type ", facts().model_type,
         " has a vector for each token (token_embeddings), and no logits");
  }
  Tensor token_embeddings(const Tensor& hidden) const override {
    const Tensor projected = projection_(hidden);
    const Tensor x = projected.dtype() == DType::kF64 ? projected : cast(projected, DType::kF32);
    return x / norm(x, 2, {.dims = {-1}, .keepdim = true});
  }

 protected:
  /// The tokens of a row see each other, unless the batch says otherwise.
  Tensor hidden_of(const TokenGrid& grid, ModelCache* cache,
                   std::vector<Tensor>* all) const override {
    if (grid.seen_from) return ImageDecoder::hidden_of(grid, cache, all);
    std::vector<int64_t> last;  // [B T]
    for (const int64_t length : grid.lengths)
      last.insert(last.end(), size_t(grid.tokens()), length - 1);
    TokenGrid whole = grid;
    whole.visible = Tensor::from(last, grid.positions.shape(), grid.positions.device());
    whole.seen_from = grid.positions * 0;
    return ImageDecoder::hidden_of(whole, cache, all);
  }

 private:
  const Linear projection_;
};

/// transformers' form has a PaliGemma's config as "vlm_config"; the authors' form is a PaliGemma's
/// config, and its vectors have 128 elements.
PaliGemmaConfig read_config(const Settings& s) {
  PaliGemmaConfig c;
  int64_t dim = 128;
  if (s.text("model_type") == "colpali") {
    c = paligemma_config(part_of(s, "vlm_config"));
    dim = size_of(s, "embedding_dim", dim);
    for (std::string& key : c.ignored_keys) key.insert(0, "vlm_config.");
    // Older files repeat the text's settings.
    constexpr std::string_view kKeys[] = {"model_type", "vlm_config", "embedding_dim",
                                          "text_config"};
    list_ignored(s, "", {kKeys}, &c.ignored_keys);
  } else {
    c = paligemma_config(s);
  }
  c.text.tie_word_embeddings = true;  // no output layer is read
  c.facts.model_type = "colpali";
  c.facts.is_causal = false;
  c.facts.embedding_dim = dim;
  return c;
}

/// PaliGemma's name of a tensor, or the projection's name; "" for an output layer.
std::string file_name(std::string name) {
  if (name.ends_with("lm_head.weight")) return "";
  const std::string published = "custom_text_proj.";
  if (name.starts_with(published)) return kProjection + "." + name.substr(published.size());
  for (const char* prefix : {"vlm.", "model."})
    if (name.starts_with(prefix)) return name.substr(std::string_view(prefix).size());
  return name;
}

class Config final : public ModelConfig {
 public:
  explicit Config(PaliGemmaConfig config) : config_(std::move(config)) {}

  ModelFacts facts() const override { return config_.facts; }
  const std::vector<int64_t>& eos_token_ids() const override { return config_.text.eos_token_ids; }
  const std::vector<std::string>& ignored_keys() const override { return config_.ignored_keys; }
  TensorSource tensors(const TensorSource& files) const override {
    TensorPlan plan(files);
    plan.rename(file_name);
    return paligemma_tensors(plan.source(), config_.text);
  }
  std::shared_ptr<const CausalModel> make(Parameters& parameters,
                                          int64_t positions) const override {
    return std::make_shared<ColPali>(config_, parameters, positions);
  }

 private:
  const PaliGemmaConfig config_;
};

}  // namespace

const Architecture kColPali = {
    .name = "colpali",
    .model_types = [] { return std::vector<std::string_view>{"colpali"}; },
    .ggufs = [] { return std::vector<std::string_view>{}; },
    .of_folder = [](const Settings& settings, const TensorSource*, std::vector<std::string>*)
        -> std::unique_ptr<ModelConfig> { return std::make_unique<Config>(read_config(settings)); },
    .of_gguf = [](const Settings& metadata, const TensorSource&) -> std::unique_ptr<ModelConfig> {
      fail(ErrorCode::kUnsupported, metadata.where(), "wick reads ColPali from folders alone");
    }};

}  // namespace wick
