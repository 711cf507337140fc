// Models that compare images with texts, against transformers: tests/golden/image_text/make.py.
#include "wick/models/image_text_model.h"

#include "../expect.h"
#include "logits.h"
#include "wick/io/json.h"
#include "wick/io/safetensors.h"
#include "wick/models/forward.h"
#include "wick/models/registry.h"
#include "wick/ops/autograd.h"
#include "wick/ops/binary.h"
#include "wick/ops/create.h"
#include "wick/ops/reduce.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

using test::largest_difference;

constexpr double kNear = 1e-4;

std::string folder_of(const std::string& name) {
  return std::string(WICK_GOLDEN) + "/image_text/" + name;
}
Settings settings_of(const std::string& name) {
  return read_json(folder_of(name) + "/config.json");
}

struct Golden {
  explicit Golden(const std::string& name)
      : tensors(load_safetensors(folder_of(name) + "/expected.safetensors")) {}
  const Tensor& operator[](const std::string& name) const { return tensors.at(name); }
  const NamedTensors tensors;
};

ImageTextModel load(const std::string& name, const Device& device) {
  const ImageTextConfig config = image_text_config(settings_of(name));
  EXPECT_TRUE(config.ignored_keys.empty());
  Parameters parameters(image_text_tensors(SafetensorsReader(folder_of(name)).source()),
                        {.device = device});
  ImageTextModel model(config, parameters);
  EXPECT_TRUE(parameters.left().empty());
  return model;
}

class ImageText : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  const Golden golden{std::get<0>(GetParam())};
  const ImageTextModel model =
      load(std::get<0>(GetParam()), Device::parse(std::get<1>(GetParam())));
};

TEST_P(ImageText, GivesTheTensorsOfTransformers) {
  const NamedTensors out =
      forward(model, {{"pixel_values", golden["pixel_values"]}, {"input_ids", golden["input_ids"]}},
              {.hidden = true});
  int compared = 0;
  for (const auto& [name, tensor] : out) {
    if (name == "logits_per_text") continue;
    EXPECT_EQ(tensor.shape(), golden[name].shape()) << name;
    EXPECT_LT(largest_difference(tensor, golden[name]), kNear) << name;
    compared++;
  }
  const auto& [type, image, text, layers, dim, bias, init, ignored] = model.config();
  EXPECT_EQ(compared, 7 + image.blocks.num_hidden_layers + text.blocks.num_hidden_layers);
  EXPECT_LT(largest_difference(transpose(out.at("logits_per_text")), golden["logits_per_image"]),
            kNear);
}

TEST_P(ImageText, GivesTheFeaturesOfTransformers) {
  const Tensor images = model.image_features(golden["pixel_values"]),
               texts = model.text_features(golden["input_ids"], golden["attention_mask"]);
  EXPECT_LT(largest_difference(images, golden["image_features"]), kNear);
  EXPECT_LT(largest_difference(texts, golden["masked.text_features"]), kNear);
  EXPECT_LT(largest_difference(model.text_features(golden["input_ids"]), golden["text_features"]),
            kNear);
  EXPECT_LT(
      largest_difference(model.logits_per_image(images, texts), golden["masked.logits_per_image"]),
      kNear);
  EXPECT_LT(largest_difference(model.image_hidden(golden["pixel_values"]),
                               golden["vision_model_output.last_hidden_state"]),
            kNear);
}

INSTANTIATE_TEST_SUITE_P(ModelsAndDevices, ImageText,
                         ::testing::Combine(::testing::Values("siglip", "siglip_gelu", "clip",
                                                              "clip_largest_id"),
                                            ::testing::Values("cpu", "emu:32")));

TEST(ImageTextGradients, AreThoseOfTransformers) {
  for (const char* name : {"siglip", "clip"})
    for (const char* device_name : {"cpu", "emu:32"}) {
      const Golden golden(name);
      const Device device = Device::parse(device_name);
      Parameters parameters(image_text_tensors(SafetensorsReader(folder_of(name)).source()),
                            {.device = device, .trainable = true});
      const ImageTextModel model(image_text_config(settings_of(name)), parameters);
      const NamedTensors out = forward(model, {{"pixel_values", golden["pixel_values"]},
                                               {"input_ids", golden["input_ids"]},
                                               {"attention_mask", golden["attention_mask"]}});
      backward(sum(golden["weights"].to(device) * out.at("logits_per_image")));
      EXPECT_GT(parameters.vars().size(), 70u);
      for (const auto& [parameter, var] : parameters.vars())
        EXPECT_LT(largest_difference(var.grad(), golden["gradient." + parameter]), kNear)
            << name << " " << parameter;
    }
}

TEST(ImageTextModel, RejectsInputsOfOtherSizesAndTypes) {
  const ImageTextModel model = load("siglip", Device::cpu());
  EXPECT_ERROR(model.image_features(zeros({1, 3, 24, 24})), kShapeMismatch,
               "pixel_values: expected [N, 3, 20, 20], got [1, 3, 24, 24]; the embeddings of "
               "positions are not interpolated");
  EXPECT_ERROR(model.image_features(zeros({3, 20, 20})), kShapeMismatch, "got [3, 20, 20]");
  EXPECT_ERROR(model.image_features(zeros({1, 3, 20, 20}, {.dtype = DType::kU8})), kDTypeMismatch,
               "pixel_values: expected a floating dtype, got u8");
  const TensorOptions integers{.dtype = DType::kI64};
  EXPECT_ERROR(model.text_features(zeros({1, 11}, integers)), kOutOfRange,
               "expected at most 10 tokens");
  EXPECT_ERROR(model.text_features(zeros({1, 0}, integers)), kShapeMismatch, "[1, 0]");
  EXPECT_ERROR(model.text_features(zeros({1, 4})), kDTypeMismatch, "ids: expected integers");
  EXPECT_ERROR(model.text_features(full({1, 4}, 40, integers)), kOutOfRange, "40");
  EXPECT_ERROR(model.text_features(zeros({1, 4}, integers), zeros({1, 3}, integers)),
               kShapeMismatch, "mask: expected [1, 4], got [1, 3]");
  EXPECT_ERROR(model.logits_per_image(zeros({1, 24}), zeros({1, 16})), kShapeMismatch,
               "text_features: expected [N, 24], got [1, 16]");
}

TEST(ImageTextModel, ReadsNoImagesAndAnyNumberOfTokens) {
  const ImageTextModel model = load("clip", Device::cpu());
  EXPECT_EQ(model.image_features(zeros({0, 3, 20, 20})).shape(), Shape({0, 12}));
  const Golden golden("clip");
  // Tokens after the end of a text do not reach its feature.
  const Tensor row = narrow(golden["input_ids"], 0, 1, 1);
  EXPECT_LT(largest_difference(model.text_features(narrow(row, 1, 0, 4)),
                               narrow(golden["text_features"], 0, 1, 1)),
            kNear);
}

TEST(ImageTextForward, NamesWhatItCannotRead) {
  const ImageTextModel model = load("clip", Device::cpu());
  const Tensor ids = zeros({1, 4}, {.dtype = DType::kI64});
  EXPECT_ERROR(forward(model, {{"ids", ids}}), kInvalidArgument,
               "a model of type clip does not read \"ids\"");
  EXPECT_ERROR(forward(model, {}), kInvalidArgument, "got neither");
  EXPECT_ERROR(forward(model, {{"pixel_values", zeros({1, 3, 20, 20})}, {"attention_mask", ids}}),
               kInvalidArgument, "attention_mask: expected input_ids");
  EXPECT_EQ(forward(model, {{"input_ids", ids}}).size(), 1u);
}

TEST(ImageTextConfig, HasTheDefaultsOfTransformers) {
  Settings settings("config.json");
  settings.set("model_type", "siglip");
  const ImageTextConfig siglip = image_text_config(settings);
  EXPECT_EQ(siglip.image.tokens(), 196);
  EXPECT_EQ(siglip.projection_dim, 768);
  EXPECT_EQ(siglip.text.max_position_embeddings, 64);
  settings.set("model_type", "clip");
  const ImageTextConfig clip = image_text_config(settings);
  EXPECT_EQ(clip.image.tokens(), 50);
  EXPECT_EQ(clip.projection_dim, 512);
  EXPECT_EQ(clip.text.blocks.num_attention_heads, 8);
}

TEST(ImageTextConfig, OfAnEarlyClipHasItsSizesInAnotherGroup) {
  Settings settings = settings_of("clip");
  settings.set("text_config_dict", Settings("config.json: text_config_dict").set("vocab_size", 99));
  const ImageTextConfig config = image_text_config(settings);
  EXPECT_EQ(config.text.vocab_size, 99);
  EXPECT_EQ(config.text.blocks.hidden_size, 512);  // not text_config's
}

TEST(ImageTextConfig, BadKeysAreErrorsThatNameThem) {
  const auto refused = [](const char* group, const char* key, const Setting& value,
                          const std::string& text) {
    Settings settings = settings_of("siglip"), inner = *settings.group(group);
    settings.set(group, inner.set(key, value));
    EXPECT_ERROR(image_text_config(settings), kFormat, text);
  };
  refused("vision_config", "hidden_act", "relu", "\"hidden_act\": expected \"gelu\"");
  refused("vision_config", "num_attention_heads", 5, "a divisor of hidden_size 24");
  refused("vision_config", "patch_size", 21, "\"patch_size\": expected at most image_size 20");
  refused("vision_config", "image_size", int64_t{1} << 40,
          "\"image_size\": expected at most 16384");
  refused("text_config", "num_hidden_layers", int64_t{1} << 31,
          "\"num_hidden_layers\": expected at");
  refused("text_config", "projection_size", 16, "expected the hidden_size of images 24, got 16");
  refused("text_config", "layer_norm_eps", 0, "\"layer_norm_eps\": expected");
  Settings settings = settings_of("siglip"), inner = *settings.group("vision_config");
  settings.set("vision_config", inner.set("vision_use_head", false));
  EXPECT_ERROR(image_text_config(settings), kUnsupported, "\"vision_use_head\": expected true");
  settings = settings_of("clip");
  settings.set("quantization_config", Settings("config.json: q").set("bits", 4));
  EXPECT_ERROR(image_text_config(settings), kUnsupported, "quantization_config");
}

TEST(ImageTextConfig, UnknownKeysAreListed) {
  Settings settings = settings_of("clip"), inner = *settings.group("vision_config");
  settings.set("vision_config", inner.set("depth", 3)).set("colour", true);
  EXPECT_EQ(image_text_config(settings).ignored_keys,
            std::vector<std::string>({"vision_config.depth", "colour"}));
}

TEST(ImageTextTensors, TablesOfPositionsAreLeftOut) {
  NamedTensors tensors = load_safetensors(folder_of("clip") + "/model.safetensors");
  tensors["text_model.embeddings.position_ids"] = zeros({1, 12}, {.dtype = DType::kI64});
  const TensorSource source = image_text_tensors(source_of(tensors, "m"));
  EXPECT_EQ(source.tensors.size(), tensors.size() - 1);
  EXPECT_EQ(source.tensors.at("logit_scale").shape, Shape({1}));
}

TEST(ModelKinds, AreToldByTheModelType) {
  EXPECT_EQ(kind_of_folder(settings_of("clip")), ModelKind::kImageText);
  EXPECT_EQ(kind_of_folder(read_json(std::string(WICK_GOLDEN) + "/mamba/config.json")),
            ModelKind::kCausal);
  EXPECT_ERROR(
      architecture_of_folder(settings_of("siglip")), kUnsupported,
      "expected a model that continues or embeds texts; one of type siglip compares images with "
      "texts");
  EXPECT_ERROR(kind_of_folder(Settings("c").set("model_type", "vit")), kFormat,
               "\"siglip\", \"clip\"");
}

}  // namespace
}  // namespace wick
