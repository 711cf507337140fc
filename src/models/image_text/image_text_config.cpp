// Configs of models that compare images with texts, from config.json. Source of the keys and
// defaults: transformers 5.24 (Apache 2.0), SiglipConfig and CLIPConfig.
#include "models/image_text/image_tower_config.h"
#include "models/names/other_keys.h"
#include "models/names/tensor_plan.h"
#include "models/names/typed_settings.h"
#include "wick/models/image_text_model.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

ImageTextConfig siglip_defaults() {
  const TowerConfig blocks = {.hidden_size = 768,
                              .intermediate_size = 3072,
                              .num_hidden_layers = 12,
                              .num_attention_heads = 12,
                              .layer_norm_eps = 1e-6,
                              .hidden_act = TowerAct::kGeluTanh};
  return {.model_type = "siglip",
          .image = {.blocks = blocks,
                    .image_size = 224,
                    .patch_size = 16,
                    .patch_bias = true,
                    .pooling = ImagePooling::kAttention},
          .text = {.blocks = blocks,
                   .vocab_size = 32000,
                   .max_position_embeddings = 64,
                   .pooling = TextPooling::kLast,
                   .eos_token_id = 49407,
                   .pad_token_id = 1},
          .feature_layers = FeatureLayers::kText,
          .logit_bias = true};
}

ImageTextConfig clip_defaults() {
  const TowerConfig blocks = {.hidden_size = 768,
                              .intermediate_size = 3072,
                              .num_hidden_layers = 12,
                              .num_attention_heads = 12,
                              .layer_norm_eps = 1e-5,
                              .hidden_act = TowerAct::kQuickGelu};
  TowerConfig text_blocks = blocks;
  text_blocks.hidden_size = 512, text_blocks.intermediate_size = 2048;
  text_blocks.num_attention_heads = 8;
  return {.model_type = "clip",
          .image = {.blocks = blocks,
                    .image_size = 224,
                    .patch_size = 32,
                    .input_norm = true,
                    .pooling = ImagePooling::kClassToken},
          .text = {.blocks = text_blocks,
                   .vocab_size = 49408,
                   .max_position_embeddings = 77,
                   .is_causal = true,
                   .pooling = TextPooling::kFirstEnd,
                   .eos_token_id = 49407,
                   .pad_token_id = 1},
          .feature_layers = FeatureLayers::kBoth,
          .projection_dim = 512,
          .logit_scale_init_value = 2.6592};
}

struct Family {
  std::string_view model_type;
  ImageTextConfig (*defaults)();
};
constexpr Family kFamilies[] = {{"siglip", siglip_defaults}, {"clip", clip_defaults}};

constexpr std::pair<std::string_view, TowerAct> kActs[] = {
    {"gelu", TowerAct::kGelu},
    {"gelu_pytorch_tanh", TowerAct::kGeluTanh},
    {"gelu_new", TowerAct::kGeluTanh},
    {"quick_gelu", TowerAct::kQuickGelu}};

constexpr std::string_view kTowerKeys[] = {"hidden_size",       "intermediate_size",
                                           "num_hidden_layers", "num_attention_heads",
                                           "layer_norm_eps",    "hidden_act"};
constexpr std::string_view kImageKeys[] = {"num_channels", "image_size", "patch_size",
                                           "vision_use_head"};
constexpr std::string_view kTextKeys[] = {"vocab_size", "max_position_embeddings", "eos_token_id",
                                          "pad_token_id", "projection_size"};
constexpr std::string_view kOwnKeys[] = {
    "model_type",         "text_config",    "vision_config",         "text_config_dict",
    "vision_config_dict", "projection_dim", "logit_scale_init_value"};

/// Keys without effect on results, beside the list of decoders. Old versions of transformers filled
/// each part of a config with the settings of generation, which change nothing here.
constexpr std::string_view kIdleHere[] = {"model_type",
                                          "dtype",
                                          "torch_dtype",
                                          "torchscript",
                                          "initializer_factor",
                                          "initializer_range",
                                          "dropout",
                                          "projection_dim",
                                          "bos_token_id",
                                          "decoder_start_token_id",
                                          "tie_word_embeddings",
                                          "tie_encoder_decoder",
                                          "pruned_heads",
                                          "cross_attention_hidden_size",
                                          "add_cross_attention",
                                          "tokenizer_class",
                                          "prefix",
                                          "use_bfloat16",
                                          "tf_legacy_loss",
                                          "max_length",
                                          "min_length",
                                          "do_sample",
                                          "early_stopping",
                                          "num_beams",
                                          "num_beam_groups",
                                          "diversity_penalty",
                                          "temperature",
                                          "top_k",
                                          "top_p",
                                          "typical_p",
                                          "repetition_penalty",
                                          "length_penalty",
                                          "no_repeat_ngram_size",
                                          "encoder_no_repeat_ngram_size",
                                          "bad_words_ids",
                                          "num_return_sequences",
                                          "output_scores",
                                          "return_dict_in_generate",
                                          "forced_bos_token_id",
                                          "forced_eos_token_id",
                                          "remove_invalid_values",
                                          "exponential_decay_length_penalty",
                                          "suppress_tokens",
                                          "begin_suppress_tokens",
                                          "_commit_hash"};

bool is_idle(const std::string& key) {
  return contains(kIdleHere, key) ||
         std::any_of(std::begin(kIdleKeys), std::end(kIdleKeys),
                     [&](std::string_view known) { return key.starts_with(known); });
}

void read_blocks(const Settings& s, TowerConfig& c) {
  c.hidden_size = size_of(s, "hidden_size", c.hidden_size);
  c.intermediate_size = size_of(s, "intermediate_size", c.intermediate_size);
  c.num_hidden_layers =
      size_of(s, "num_hidden_layers", c.num_hidden_layers, TowerConfig::kMaxLayers);
  c.num_attention_heads = size_of(s, "num_attention_heads", c.num_attention_heads);
  if (c.hidden_size % c.num_attention_heads != 0)
    s.fail_expected("num_attention_heads",
                    "a divisor of hidden_size " + std::to_string(c.hidden_size));
  c.layer_norm_eps = positive(s, "layer_norm_eps", c.layer_norm_eps);
  if (s.has("hidden_act")) c.hidden_act = named(s, "hidden_act", s.text("hidden_act"), kActs);
}

void read_image(const Settings& s, ImageTowerConfig& c) {
  constexpr int64_t kMaxSize = ImageTowerConfig::kMaxImageSize;
  read_blocks(s, c.blocks);
  c.num_channels = size_of(s, "num_channels", c.num_channels, kMaxSize);
  c.image_size = size_of(s, "image_size", c.image_size, kMaxSize);
  c.patch_size = size_of(s, "patch_size", c.patch_size, kMaxSize);
  if (c.patch_size > c.image_size)
    s.fail_expected("patch_size", "at most image_size " + std::to_string(c.image_size));
  if (c.pooling == ImagePooling::kAttention && !s.flag_or("vision_use_head", true))
    c.pooling = ImagePooling::kNone;
}

void read_text(const Settings& s, TextTowerConfig& c) {
  read_blocks(s, c.blocks);
  c.vocab_size = size_of(s, "vocab_size", c.vocab_size);
  c.max_position_embeddings = size_of(s, "max_position_embeddings", c.max_position_embeddings);
  c.eos_token_id = s.integer_or("eos_token_id", c.eos_token_id);
  c.pad_token_id = s.integer_or("pad_token_id", c.pad_token_id);
  // An early version of transformers wrote this number into the configs of all CLIPs.
  constexpr int64_t kWrongEnd = 2;
  if (c.pooling == TextPooling::kFirstEnd && c.eos_token_id == kWrongEnd)
    c.pooling = TextPooling::kLargestId;
}

/// A tower's settings; empty if the file lacks them. A CLIP's "text_config_dict" replaces
/// "text_config".
Settings group_of(const Settings& s, const std::string& key, bool has_dict) {
  if (const Settings* dict = has_dict ? s.group(key + "_dict") : nullptr) return *dict;
  const Settings* const group = s.group(key);
  return group ? *group : Settings(s.where() + ": " + key);
}

}  // namespace

void list_ignored(const Settings& s, const std::string& prefix,
                  std::initializer_list<std::span<const std::string_view>> known,
                  std::vector<std::string>* ignored) {
  for (const auto& [key, value] : s.entries()) {
    check(key != "quantization_config" || !s.has(key), ErrorCode::kUnsupported, s.where(),
          "\"quantization_config\": wick has no quantized weights of such models");
    const bool is_known =
        std::any_of(known.begin(), known.end(),
                    [&](std::span<const std::string_view> list) { return contains(list, key); });
    if (!is_known && !is_idle(key) && s.has(key)) ignored->push_back(prefix + key);
  }
}

ImageTowerConfig siglip_tower_config(const Settings& s, std::vector<std::string>* ignored) {
  const std::string type = s.text_or("model_type", "siglip_vision_model");
  check(type == "siglip_vision_model", ErrorCode::kUnsupported, s.where(),
        "\"model_type\": expected \"siglip_vision_model\", got \"", type, "\"");
  ImageTowerConfig c = siglip_defaults().image;
  read_image(s, c);
  c.pooling = ImagePooling::kNone;
  // Sizes that other keys say.
  constexpr std::string_view kDerived[] = {"num_image_tokens", "projector_hidden_act"};
  list_ignored(s, "vision_config.", {kTowerKeys, kImageKeys, kDerived}, ignored);
  return c;
}

std::vector<std::string_view> image_text_model_types() {
  std::vector<std::string_view> types;
  for (const Family& family : kFamilies) types.push_back(family.model_type);
  return types;
}

ImageTextConfig image_text_config(const Settings& s) {
  std::vector<std::pair<std::string_view, const Family*>> families;
  for (const Family& family : kFamilies) families.emplace_back(family.model_type, &family);
  ImageTextConfig c = named(s, "model_type", s.text("model_type"), families)->defaults();
  const bool has_own = c.feature_layers == FeatureLayers::kBoth;
  const Settings image = group_of(s, "vision_config", has_own),
                 text = group_of(s, "text_config", has_own);
  read_image(image, c.image);
  read_text(text, c.text);
  if (has_own) {
    c.projection_dim = size_of(s, "projection_dim", c.projection_dim);
  } else {
    check(c.image.pooling != ImagePooling::kNone, ErrorCode::kUnsupported, image.where(),
          "\"vision_use_head\": expected true, since features are made by the head");
    c.projection_dim = c.image.blocks.hidden_size;
    const int64_t size = size_of(text, "projection_size", c.text.blocks.hidden_size);
    check(size == c.projection_dim, ErrorCode::kFormat, text.where(),
          "\"projection_size\": expected the hidden_size of images ", c.projection_dim, ", got ",
          size);
  }
  c.logit_scale_init_value = s.real_or("logit_scale_init_value", c.logit_scale_init_value);
  list_ignored(image, "vision_config.", {kTowerKeys, kImageKeys}, &c.ignored_keys);
  list_ignored(text, "text_config.", {kTowerKeys, kTextKeys}, &c.ignored_keys);
  list_ignored(s, "", {kOwnKeys}, &c.ignored_keys);
  return c;
}

TensorSource image_text_tensors(const TensorSource& source) {
  TensorPlan plan(source);
  plan.rename([](const std::string& name) {
    return name.ends_with(".embeddings.position_ids") ? "" : name;
  });
  // A CLIP's file has a scalar.
  if (plan.has("logit_scale") && plan.info("logit_scale").shape.empty())
    plan.change("logit_scale", {plan.info("logit_scale").dtype, {1}},
                [](const std::vector<Tensor>& inputs) { return reshape(inputs[0], {1}); });
  return plan.source();
}

}  // namespace wick
