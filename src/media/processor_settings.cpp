#include "media/processor_settings.h"

#include <algorithm>
#include <string_view>

#include "wick/base/error.h"

namespace wick::media {
namespace {

using Triple = std::array<double, 3>;
using Kind = ResizeTarget::Kind;

/// What transformers' class has where the file says nothing.
struct Defaults {
  std::string_view name;  // the class is NAME and one of kClassEndings
  Resample resample;
  ResizeTarget size;
  bool square;  // a size that is one number is both sides, not the shorter one
  bool crop;    // to 224 x 224
  Triple mean, deviation;
};

constexpr Triple kHalf = {0.5, 0.5, 0.5};
constexpr Defaults kDefaults[] = {
    {"Siglip", Resample::kBicubic, {}, false, false, kHalf, kHalf},
    {"CLIP",
     Resample::kBicubic,
     {.kind = Kind::kShortest, .shortest = 224},
     false,
     true,
     {0.48145466, 0.4578275, 0.40821073},
     {0.26862954, 0.26130258, 0.27577711}},
    {"ViT", Resample::kBilinear, {}, true, false, kHalf, kHalf},
};
constexpr std::string_view kClassEndings[] = {"ImageProcessor", "ImageProcessorFast",
                                              "ImageProcessorPil", "FeatureExtractor"};
// Files without a type name the processor of text and images.
constexpr std::pair<std::string_view, std::string_view> kTypeOfProcessor[] = {
    {"SiglipProcessor", "SiglipImageProcessor"},
    {"PaliGemmaProcessor", "SiglipImageProcessor"},
    {"ColPaliProcessor", "SiglipImageProcessor"},
    {"CLIPProcessor", "CLIPImageProcessor"},
};

const Defaults& defaults_of(const Settings& config) {
  std::string type =
      config.text_or("image_processor_type", config.text_or("feature_extractor_type", ""));
  if (type.empty()) {
    const std::string processor = config.text_or("processor_class", "");
    for (const auto& [name, image_type] : kTypeOfProcessor)
      if (processor == name) type = image_type;
  }
  for (const Defaults& defaults : kDefaults)
    for (const std::string_view ending : kClassEndings)
      if (type.starts_with(defaults.name) && type.substr(defaults.name.size()) == ending)
        return defaults;
  fail(ErrorCode::kUnsupported, config.where(),
       "expected the image processor of Siglip, CLIP or ViT as \"image_processor_type\", got \"",
       type, "\"");
}

// Keys that are read below, and those that change nothing here.
constexpr std::string_view kKnownKeys[] = {
    "image_processor_type",
    "feature_extractor_type",
    "processor_class",
    "do_resize",
    "size",
    "default_to_square",
    "resample",
    "do_center_crop",
    "crop_size",
    "do_rescale",
    "rescale_factor",
    "do_normalize",
    "image_mean",
    "image_std",
    "do_convert_rgb",
    "image_seq_length",       // of the text
    "_valid_processor_keys",  // names of keys
    "return_tensors",
    "device",
    "disable_grouping",
    "input_data_format",  // where and how it runs
    "pad_size",           // of do_pad, which is no known key
};

void check_keys(const Settings& config) {
  for (const auto& [key, setting] : config.entries()) {
    const bool* flag = std::get_if<bool>(&setting.value);
    const bool is_off = std::holds_alternative<std::nullptr_t>(setting.value) || (flag && !*flag);
    if (is_off ||
        std::find(std::begin(kKnownKeys), std::end(kKnownKeys), key) != std::end(kKnownKeys))
      continue;
    const auto* text = std::get_if<std::string>(&setting.value);
    if (key == "data_format" && text && *text == "channels_first") continue;
    fail(ErrorCode::kUnsupported, config.where(), "\"", key, "\" is not supported, got ",
         describe(setting));
  }
}

/// The size with this key, which exists: a number, [height, width] or an object. Errors: kFormat.
ResizeTarget target_of(const Settings& config, std::string_view key, bool square) {
  if (const auto* sides = std::get_if<Settings>(&config.find(key)->value)) {
    for (const auto& [name, value] : sides->entries())
      if (name != "height" && name != "width" && name != "shortest_edge" &&
          name != "longest_edge" && name != "max_height" && name != "max_width")
        sides->fail_expected(name, "no such key");
    if (sides->has("shortest_edge")) {
      ResizeTarget target{.kind = Kind::kShortest, .shortest = sides->integer("shortest_edge", 1)};
      if (sides->find("longest_edge") && sides->integer_or("longest_edge", 0) > 0) {
        target.kind = Kind::kShortestUpTo;
        target.longest = sides->integer("longest_edge", 1);
      }
      return target;
    }
    if (sides->has("max_height"))
      return {.kind = Kind::kWithin,
              .height = sides->integer("max_height", 1),
              .width = sides->integer("max_width", 1)};
    return {.height = sides->integer("height", 1), .width = sides->integer("width", 1)};
  }
  const std::vector<int64_t> sides = config.integers(key);
  if (sides.empty() || sides.size() > 2 || *std::min_element(sides.begin(), sides.end()) < 1)
    config.fail_expected(key, "a size of one or two positive numbers, or an object");
  if (sides.size() == 2) return {.height = sides[0], .width = sides[1]};
  if (!square) return {.kind = Kind::kShortest, .shortest = sides[0]};
  return {.height = sides[0], .width = sides[0]};
}

/// Three numbers, or one for all channels. Errors: kFormat.
Triple triple_of(const Settings& config, std::string_view key, const Triple& otherwise) {
  const std::vector<double> values = config.reals(key);
  if (values.empty()) return otherwise;
  if (values.size() == 1) return {values[0], values[0], values[0]};
  if (values.size() != 3) config.fail_expected(key, "three numbers");
  return {values[0], values[1], values[2]};
}

}  // namespace

ProcessorSettings read_processor_settings(const Settings& config) {
  const Defaults& defaults = defaults_of(config);
  check_keys(config);
  ProcessorSettings result;
  if (config.flag_or("do_resize", true)) {
    const bool square = config.flag_or("default_to_square", defaults.square);
    result.resize = config.has("size") ? target_of(config, "size", square) : defaults.size;
    const int64_t resample = config.integer_or("resample", int64_t(defaults.resample));
    if (resample > int64_t(Resample::kHamming)) config.fail_expected("resample", "0 to 5");
    result.resample = Resample(resample);
  }
  if (config.flag_or("do_center_crop", defaults.crop)) {
    if (!config.has("crop_size") && !defaults.crop) config.fail_expected("crop_size", "a size");
    const ResizeTarget crop =
        config.has("crop_size") ? target_of(config, "crop_size", true) : ResizeTarget{};
    if (crop.kind != Kind::kExact) config.fail_expected("crop_size", "a height and a width");
    result.crop = {crop.height, crop.width};
  }
  if (config.flag_or("do_rescale", true))
    result.rescale = config.real_or("rescale_factor", 1.0 / 255);
  if (config.flag_or("do_normalize", true)) {
    const Triple deviation = triple_of(config, "image_std", defaults.deviation);
    for (const double value : deviation)
      if (!(float(value) > 0)) config.fail_expected("image_std", "positive numbers");
    result.normalize = {triple_of(config, "image_mean", defaults.mean), deviation};
  }
  return result;
}

}  // namespace wick::media
