// Queries and images of models with a vector for each token, against transformers:
// tests/golden/image_prompt/make_colpali.py.
#include "load/retrieval.h"

#include "../expect.h"
#include "../image_prompt.h"
#include "../models/logits.h"
#include "../temporary_folder.h"
#include "wick/io/file.h"
#include "wick/load/image_text.h"
#include "wick/models/late_interaction.h"
#include "wick/ops/binary.h"

namespace wick {
namespace {

using test::folder_of;
using test::largest_difference;
using test::TemporaryFolder;

constexpr double kNear = 1e-4;
const std::vector<std::string> kQueries = {"a cat in a hat", "where is the rat?", ""};
const std::vector<std::string> kImages = {"photo.png", "rgba.png", "gray.png"};

Image image_of(const std::string& file) {
  return read_image(std::string(WICK_GOLDEN) + "/images/" + file);
}

LanguageModel loaded(const std::string& path) {
  return load_model(path, {.device = Device::cpu(), .dtype = DType::kF32});
}

class Retrieval : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(Retrieval, GivesTheVectorsAndScoresOfTransformers) {
  const auto& [name, device] = GetParam();
  const LanguageModel model =
      load_model(folder_of(name), {.device = Device::parse(device), .dtype = DType::kF32});
  EXPECT_TRUE(model.warnings.empty());
  EXPECT_EQ(load_kind(folder_of(name)), ModelKind::kCausal);
  const NamedTensors expected = load_safetensors(folder_of(name) + "/ranked.safetensors");
  std::vector<Tensor> images;
  for (size_t i = 0; i < kImages.size(); i++) {
    const std::string key = "image." + std::to_string(i);
    const Image image = image_of(kImages[i]);
    EXPECT_EQ(model.prompt(model.retrieval.image_text, {&image, 1}).ids,
              expected.at(key + ".input_ids").to_vector<int64_t>());
    images.push_back(model.embed_image(image));
    EXPECT_EQ(images.back().shape(), expected.at(key).shape());
    EXPECT_LT(largest_difference(images.back(), expected.at(key)), kNear) << key;
  }
  for (size_t i = 0; i < kQueries.size(); i++) {
    const std::string key = "query." + std::to_string(i);
    EXPECT_EQ(model.query_ids(kQueries[i]), expected.at(key + ".input_ids").to_vector<int64_t>());
    const Tensor query = model.embed_query(kQueries[i]);
    EXPECT_EQ(query.shape(), expected.at(key).shape());
    EXPECT_LT(largest_difference(query, expected.at(key)), kNear) << key;
    EXPECT_LT(largest_difference(late_interaction(query, images),
                                 select(expected.at("scores"), 0, int64_t(i))),
              kNear)
        << key;
  }
}

INSTANTIATE_TEST_SUITE_P(FormsAndDevices, Retrieval,
                         ::testing::Combine(::testing::Values("colpali", "colpali_engine"),
                                            ::testing::Values("cpu", "emu:32")));

/// A copy of a golden model.
class RetrievalFolder : public ::testing::Test {
 protected:
  const TemporaryFolder folder;

  void copy(const std::string& name, const std::vector<const char*>& files) {
    for (const char* file : files) folder.write(file, read_file(folder_of(name) + "/" + file));
  }
};

TEST_F(RetrievalFolder, TextsAreTheProcessorsOrThoseOfTheCodeThatPublishedTheModel) {
  copy("colpali", {"config.json", "model.safetensors", "tokenizer.json"});
  const RetrievalTexts texts = loaded(folder.path()).retrieval;
  EXPECT_EQ(texts.query_prefix, "Question: ");
  EXPECT_EQ(texts.query_suffix, "<pad><pad><pad><pad><pad><pad><pad><pad><pad><pad>");
  EXPECT_EQ(texts.image_text, "Describe the image.");
  EXPECT_EQ(loaded(folder_of("colpali_engine")).retrieval.query_prefix, "Query: ");
  folder.write("processor_config.json",
               R"({"query_prefix": "find ", "visual_prompt_prefix": "the page"})");
  folder.write("tokenizer_config.json", R"({"bos_token": "<bos>", "pad_token": "<unk>"})");
  const LanguageModel model = loaded(folder.path());
  EXPECT_EQ(model.retrieval.query_prefix, "find ");
  EXPECT_EQ(model.retrieval.query_suffix.substr(0, 10), "<unk><unk>");
  EXPECT_EQ(model.retrieval.image_text, "the page");
  EXPECT_TRUE(loaded(folder_of("paligemma")).retrieval.query_suffix.empty());
}

TEST_F(RetrievalFolder, AnOutputLayerInTheFileIsNotRead) {
  copy("colpali", {"config.json", "tokenizer.json"});
  NamedTensors tensors = load_safetensors(folder_of("colpali") + "/model.safetensors");
  tensors["vlm.language_model.lm_head.weight"] =
      Tensor::from(std::vector<float>(48 * 16), {48, 16});
  save_safetensors(folder.file("model.safetensors"), tensors);
  const LanguageModel model = loaded(folder.path());
  EXPECT_TRUE(model.warnings.empty());
  EXPECT_EQ(model.weights.count("lm_head.weight"), 0u);
}

TEST_F(RetrievalFolder, VectorsThatAreNoNumbersAreAnError) {
  copy("colpali", {"config.json", "tokenizer.json"});
  NamedTensors tensors = load_safetensors(folder_of("colpali") + "/model.safetensors");
  Tensor& bias = tensors.at("embedding_proj_layer.bias");
  bias = bias / 0;
  save_safetensors(folder.file("model.safetensors"), tensors);
  EXPECT_ERROR(loaded(folder.path()).embed_query("a"), kFormat,
               "embed_query: the features of token 0 are all 0 or not finite");
}

TEST(RetrievalModels, RefuseTextsThatDoNotFit) {
  const LanguageModel model = loaded(folder_of("colpali"));
  EXPECT_ERROR(model.embed("a cat"), kUnsupported,
               "embed: a model of type colpali has a vector for each token: embed_query and "
               "embed_image give them");
  EXPECT_ERROR(model.embed_query("a <image>"), kInvalidArgument,
               "expected 4 placeholders (id 40) for each of 0 images, got 1");
  EXPECT_ERROR(model.embed_query(std::string(100, 'x') + std::string(100, 'a')), kOutOfRange,
               "exceeds the 64 positions of the model");
  EXPECT_EQ(model.embed_query("\xff\xfe").size(1), 128);
  const Image image = image_of("photo.png");
  LanguageModel lacking = model;
  lacking.image_processor.reset();
  EXPECT_ERROR(lacking.embed_image(image), kUnsupported, "the model has no image processor");
  lacking.tokenizer.reset();
  EXPECT_ERROR(lacking.embed_query("a"), kUnsupported, "the model has no tokenizer");
  const LanguageModel other = loaded(folder_of("paligemma"));
  EXPECT_ERROR(other.embed_query("a"), kUnsupported,
               "query_ids: expected a model with a vector for each token, such as ColPali, got one "
               "of type paligemma");
  EXPECT_ERROR(other.embed_image(image), kUnsupported,
               "embed_image: expected a model with a vector for each token");
}

}  // namespace
}  // namespace wick
