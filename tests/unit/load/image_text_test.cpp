#include "wick/load/image_text.h"

#include "../expect.h"
#include "../models/logits.h"
#include "../temporary_folder.h"
#include "wick/io/file.h"
#include "wick/io/json.h"
#include "wick/io/safetensors.h"
#include "wick/load/convert.h"
#include "wick/ops/create.h"

namespace wick {
namespace {

using test::largest_difference;
using test::TemporaryFolder;

/// A copy of a golden model, to which files are added.
class LoadImageText : public ::testing::Test {
 protected:
  const TemporaryFolder folder;

  void copy(const std::string& name) {
    for (const char* file : {"config.json", "model.safetensors"})
      folder.write(file, read_file(golden(name) + "/" + file));
  }
  static std::string golden(const std::string& name) {
    return std::string(WICK_GOLDEN) + "/image_text/" + name;
  }
  LoadedImageText load() const { return load_image_text(folder.path(), {.device = Device::cpu()}); }

  // Letters that stand for themselves, of ids below the models' vocabulary of 40.
  static constexpr const char* kTokenizer =
      R"({"normalizer": {"type": "Lowercase"},
          "post_processor": {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 0}},
              {"SpecialToken": {"id": "</s>", "type_id": 0}}], "pair": [],
              "special_tokens": {"</s>": {"id": "</s>", "ids": [7], "tokens": ["</s>"]}}},
          "added_tokens": [{"id": 7, "content": "</s>", "special": true}, {"id": 5, "content": "<pad>", "special": true}],
          "model": {"type": "BPE", "vocab": {"a": 10, "b": 11, "c": 12, "<pad>": 5, "</s>": 7}, "merges": []}})";
};

TEST_F(LoadImageText, GivesTheModelThatTheFolderHolds) {
  for (const char* name : {"siglip", "clip"}) {
    copy(name);
    EXPECT_EQ(load_kind(folder.path()), ModelKind::kImageText);
    const LoadedImageText loaded = load();
    EXPECT_TRUE(loaded.warnings.empty());
    EXPECT_EQ(loaded.weights.at("vision_model.post_layernorm.bias").dtype, DType::kF32);
    const NamedTensors expected = load_safetensors(golden(name) + "/expected.safetensors");
    EXPECT_LT(largest_difference(loaded.model->image_features(expected.at("pixel_values")),
                                 expected.at("image_features")),
              1e-4);
  }
}

TEST_F(LoadImageText, PadsTextsOfASiglipToAllItsPositions) {
  copy("siglip");
  folder.write("tokenizer.json", kTokenizer);
  const TextRows rows = load().rows({"Ab", ""});
  EXPECT_EQ(rows.ids.shape(), Shape({2, 10}));
  EXPECT_EQ(rows.ids.to_vector<int64_t>(),  // padded with the config's pad_token_id
            (std::vector<int64_t>{10, 11, 7, 1, 1, 1, 1, 1, 1, 1, 7, 1, 1, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_FALSE(bool(rows.mask));
  folder.write("tokenizer_config.json", R"({"pad_token": {"content": "<pad>"}})");
  EXPECT_EQ(load().pad_id, 5);
}

TEST_F(LoadImageText, ReadsTheTokenizerOfSpieceModel) {
  copy("siglip");
  folder.write("spiece.model", read_file(std::string(WICK_GOLDEN) + "/tokenizers/siglip.model"));
  const std::vector<int64_t> padded = {8, 6, 1, 1, 1, 1, 1, 1, 1, 1};
  EXPECT_EQ(load().rows({"A the!"}).ids.to_vector<int64_t>(), padded);
  EXPECT_EQ(load_tokenizer(folder.path()).encode_ids("A the!"), (std::vector<int64_t>{8, 6, 1}));
  folder.write("tokenizer_config.json", R"({"tokenizer_class": "SiglipTokenizer"})");
  EXPECT_EQ(load().rows({"A the!"}).ids.to_vector<int64_t>(), padded);
  folder.write("spiece.model", "\x0a");
  EXPECT_ERROR(load(), kFormat, "/spiece.model: field 1 is cut off");
  folder.write("tokenizer_config.json", R"({"tokenizer_class": "T5Tokenizer"})");
  EXPECT_FALSE(load().tokenizer.has_value());
  EXPECT_ERROR(load_tokenizer(folder.path()), kFormat,
               "expected tokenizer.json, a SigLIP's spiece");
}

TEST_F(LoadImageText, PadsTextsOfAClipToTheLongestAndHidesThePadding) {
  copy("clip");
  folder.write("tokenizer.json", kTokenizer);
  folder.write("tokenizer_config.json", R"({"pad_token": "</s>"})");
  const LoadedImageText loaded = load();
  const TextRows rows = loaded.rows({"c", "aBc"});
  EXPECT_EQ(rows.ids.shape(), Shape({2, 4}));
  EXPECT_EQ(rows.ids.to_vector<int64_t>(), (std::vector<int64_t>{12, 7, 7, 7, 10, 11, 12, 7}));
  EXPECT_EQ(rows.mask.to_vector<int64_t>(), (std::vector<int64_t>{1, 1, 0, 0, 1, 1, 1, 1}));
  EXPECT_ERROR(loaded.rows({"abcabcabcabc"}), kOutOfRange,
               "expected texts of at most 12 tokens, the model's positions, got one of 13");
  EXPECT_ERROR(loaded.rows({}), kInvalidArgument, "expected at least one text");
}

TEST_F(LoadImageText, EmbedsFilesAndTextsAndScoresThemAsTransformersDoes) {
  std::vector<Image> images;
  for (const char* file : {"photo.png", "rgba.png", "gray.png", "alpha.webp"})
    images.push_back(read_image(std::string(WICK_GOLDEN) + "/images/" + file));
  for (const char* name : {"siglip", "clip"}) {
    const LoadedImageText loaded = load_image_text(golden(name), {.device = Device::cpu()});
    const NamedTensors expected = load_safetensors(golden(name) + "/embedded.safetensors");
    const Tensor embedded = loaded.embed_images(images);
    const Tensor texts = loaded.embed_texts({"A cat", "two dogs", ""});
    EXPECT_LT(largest_difference(embedded, expected.at("image_embeds")), 1e-5) << name;
    EXPECT_LT(largest_difference(texts, expected.at("text_embeds")), 1e-5) << name;
    const Tensor scores = loaded.scores(texts, embedded);
    EXPECT_EQ(scores.shape(), Shape({3, 4}));
    EXPECT_LT(largest_difference(scores, expected.at("scores")), 1e-4) << name;
    EXPECT_ERROR(loaded.scores(embedded, zeros({1, 3})), kShapeMismatch, "image_features");
    EXPECT_ERROR(loaded.embed_images({}), kInvalidArgument, "expected images");
  }
}

TEST_F(LoadImageText, ReadsTheProcessorFromEitherFile) {
  copy("siglip");
  const Image image = {.width = 1, .height = 1, .pixels = {255, 0, 0}};
  EXPECT_FALSE(load().image_processor.has_value());
  EXPECT_ERROR(load_image_processor(folder.path()), kFormat,
               "expected preprocessor_config.json or");
  EXPECT_ERROR(load().embed_images({&image, 1}), kUnsupported, "the model has no image processor");
  const auto side = [&] { return (*load().image_processor)({&image, 1}).size(3); };
  folder.write(
      "preprocessor_config.json",
      R"({"image_processor_type": "SiglipImageProcessor", "size": {"height": 5, "width": 5}})");
  EXPECT_EQ(side(), 5);
  EXPECT_ERROR(load().embed_images({&image, 1}), kShapeMismatch, "expected [N, 3, 20, 20]");
  folder.write("processor_config.json", R"({"processor_class": "SiglipProcessor"})");
  EXPECT_EQ(side(), 5);
  folder.write(
      "processor_config.json",
      R"({"image_processor": {"image_processor_type": "SiglipImageProcessor", "size": {"height": 20, "width": 20}}})");
  EXPECT_EQ(side(), 20);
  EXPECT_EQ(load_image_processor(folder.path())({&image, 1}).size(3), 20);
  folder.write("processor_config.json",
               R"({"image_processor": {"image_processor_type": "Other"}})");
  EXPECT_ERROR(load(), kUnsupported, "processor_config.json: \"image_processor\": expected");
}

TEST_F(LoadImageText, FeaturesThatAreNotFiniteAreAnError) {
  copy("siglip");
  folder.write("preprocessor_config.json", R"({"image_processor_type": "SiglipImageProcessor",
                                              "size": {"height": 20, "width": 20}})");
  NamedTensors tensors = load_safetensors(golden("siglip") + "/model.safetensors");
  tensors["vision_model.head.layernorm.bias"] =
      full(tensors.at("vision_model.head.layernorm.bias").shape(), NAN);
  save_safetensors(folder.path() + "/model.safetensors", tensors);
  const Image image = {.width = 1, .height = 1, .pixels = {255, 0, 0}};
  EXPECT_ERROR(load().embed_images({&image, 1}), kFormat,
               "the features of image 0 are all 0 or not finite");
}

TEST_F(LoadImageText, NamesModelsOfAnotherKind) {
  const std::string decoder = std::string(WICK_GOLDEN) + "/llama/grouped";
  EXPECT_EQ(load_kind(decoder), ModelKind::kCausal);
  EXPECT_EQ(load_kind(std::string(WICK_GOLDEN) + "/mamba/model.gguf"), ModelKind::kCausal);
  EXPECT_ERROR(load_image_text(decoder), kUnsupported,
               "config.json: expected a model that compares images with texts; one of type llama "
               "continues or embeds texts");
  EXPECT_ERROR(load_image_text(std::string(WICK_GOLDEN) + "/mamba/model.gguf"), kUnsupported,
               "got a GGUF file");
  const char* const text =
      "config.json: expected a model that continues or embeds texts; one of type clip compares "
      "images with "
      "texts";
  EXPECT_ERROR(load_model(golden("clip")), kUnsupported, text);
  EXPECT_ERROR(load_facts(golden("clip")), kUnsupported, text);
  EXPECT_ERROR(load_config(golden("clip")), kUnsupported, text);
  EXPECT_ERROR(convert_to_gguf(golden("clip"), folder.path() + "/out.gguf"), kUnsupported, text);
}

TEST_F(LoadImageText, BadFoldersAreErrorsThatSayWhy) {
  copy("clip");
  EXPECT_ERROR(load_image_text(folder.path(), {.positions = 5}), kInvalidArgument, "got 5");
  EXPECT_ERROR(load_image_text(folder.path(), {.dtype = DType::kI32}), kInvalidArgument, "dtype");
  EXPECT_ERROR(load().rows({"a"}), kUnsupported, "the model has no tokenizer");
  NamedTensors tensors = load_safetensors(golden("clip") + "/model.safetensors");
  tensors["extra"] = tensors.at("logit_scale");
  save_safetensors(folder.path() + "/model.safetensors", tensors);
  EXPECT_ERROR(load(), kFormat, "tensor \"extra\" is not part of a model of type clip");
  tensors.erase("extra");
  tensors.erase("text_projection.weight");
  save_safetensors(folder.path() + "/model.safetensors", tensors);
  EXPECT_ERROR(load(), kFormat, "no tensor is named \"text_projection.weight\"");
  Settings settings = read_json(folder.path() + "/config.json");
  settings.set("colour", 3);
  copy("clip");
  folder.write("config.json", to_json(settings, -1));
  EXPECT_EQ(load().warnings,
            std::vector<std::string>{folder.path() + ": unknown key \"colour\" is ignored"});
}

}  // namespace
}  // namespace wick
