// Source: Beyer et al. 2024, arXiv:2407.07726; Steiner et al. 2024, arXiv:2412.03555; the keys and
// names by transformers 5.24 (Apache 2.0).
#include "models/image_prompt/paligemma.h"

#include "models/architectures.h"
#include "models/image_prompt/image_decoder.h"
#include "models/image_text/image_tower_config.h"
#include "models/names/decoder_names.h"
#include "models/names/typed_settings.h"

namespace wick {
namespace {

/// The config.json of the text part by itself.
Settings text_settings(const Settings& s) {
  const Settings& part = part_of(s, "text_config");
  Settings text(part.where());
  text.set("model_type", "gemma");
  for (const auto& [key, value] : part.entries())
    // Facts of every PaliGemma.
    if (key != "use_bidirectional_attention" && key != "num_image_tokens") text.set(key, value);
  for (const char* key :
       {"torch_dtype", "dtype", "bos_token_id", "eos_token_id", "tie_word_embeddings"})
    if (const Setting* value = s.find(key)) text.set(key, *value);
  const std::string type = text.text("model_type");
  check(type == "gemma" || type == "gemma2", ErrorCode::kUnsupported, text.where(),
        "\"model_type\": expected \"gemma\" or \"gemma2\", got \"", type, "\"");
  return text;
}

/// wick's name of a tensor of images; "" for the text's, and for a head that nothing reads.
std::string image_name(std::string name) {
  if (name.starts_with("model.")) name.erase(0, 6);  // transformers 5 in memory
  if (name.starts_with("multi_modal_projector.")) return name;
  const std::string tower = "vision_tower.", model = "vision_model.";
  if (!name.starts_with(tower)) return "";
  if (name.compare(tower.size(), model.size(), model) == 0)  // published files
    name.erase(tower.size(), model.size());
  const bool is_idle = name.starts_with(tower + "head.") || name.ends_with(".position_ids");
  return is_idle ? "" : name;
}

class Config final : public ModelConfig {
 public:
  explicit Config(PaliGemmaConfig config) : config_(std::move(config)) {}

  ModelFacts facts() const override { return config_.facts; }
  int64_t num_layers() const override { return config_.text.num_hidden_layers; }
  const std::vector<int64_t>& eos_token_ids() const override { return config_.text.eos_token_ids; }
  const std::vector<std::string>& ignored_keys() const override { return config_.ignored_keys; }
  TensorSource tensors(const TensorSource& files) const override {
    return paligemma_tensors(files, config_.text);
  }
  std::shared_ptr<const CausalModel> make(Parameters& parameters,
                                          int64_t positions) const override {
    return std::make_shared<ImageDecoder>(config_.text, config_.image, config_.facts, parameters,
                                          positions);
  }

 private:
  const PaliGemmaConfig config_;
};

}  // namespace

const Settings& part_of(const Settings& config, const char* key) {
  const Settings* const part = config.group(key);
  if (!part) config.fail_expected(key, "an object");
  return *part;
}

PaliGemmaConfig paligemma_config(const Settings& s) {
  PaliGemmaConfig c;
  c.text = decoder_config(text_settings(s));
  for (const std::string& key : c.text.ignored_keys) c.ignored_keys.push_back("text_config." + key);
  c.image = siglip_tower_config(part_of(s, "vision_config"), &c.ignored_keys);
  const int64_t size = size_of(s, "projection_dim", 2048);
  if (size != c.text.hidden_size)
    s.fail_expected("projection_dim",
                    "the hidden_size of text_config " + std::to_string(c.text.hidden_size));
  c.facts = facts_of(c.text);
  c.facts.model_type = "paligemma";
  const ImageReading images = {
      .token_id = s.integer_or("image_token_index", 256000),
      .tokens = c.image.tokens(),
      .pixels = {c.image.num_channels, c.image.image_size, c.image.image_size},
      .prompt_is_prefix = true};
  c.facts.images = images;
  if (images.token_id >= c.text.vocab_size)
    s.fail_expected("image_token_index",
                    "an id below vocab_size " + std::to_string(c.text.vocab_size));
  constexpr std::string_view kKeys[] = {
      "model_type",  "text_config", "vision_config", "projection_dim", "image_token_index",
      "hidden_size", "vocab_size",  "eos_token_id",  "pad_token_id",   "ignore_index"};
  list_ignored(s, "", {kKeys}, &c.ignored_keys);
  return c;
}

TensorSource paligemma_tensors(const TensorSource& files, const DecoderConfig& config) {
  const TensorSource text = decoder_tensors(files, config);
  TensorPlan plan(files);
  plan.rename(image_name);
  const TensorSource image = plan.source();
  TensorSource all{files.where, text.tensors, {}};
  all.tensors.insert(image.tensors.begin(), image.tensors.end());
  all.load = [text, image](const std::string& name, const Device& device) {
    return (image.tensors.count(name) > 0 ? image : text).load(name, device);
  };
  return all;
}

const Architecture kPaliGemma = {
    .name = "paligemma",
    .model_types = [] { return std::vector<std::string_view>{"paligemma"}; },
    .ggufs = [] { return std::vector<std::string_view>{}; },
    .of_folder = [](const Settings& settings, const TensorSource* tensors,
                    std::vector<std::string>* warnings) -> std::unique_ptr<ModelConfig> {
      PaliGemmaConfig config = paligemma_config(settings);
      if (tensors) keep_own_head(*tensors, config.text, *warnings);
      return std::make_unique<Config>(std::move(config));
    },
    .of_gguf = [](const Settings& metadata, const TensorSource&) -> std::unique_ptr<ModelConfig> {
      fail(ErrorCode::kUnsupported, metadata.where(), "wick reads PaliGemma from folders alone");
    }};

}  // namespace wick
