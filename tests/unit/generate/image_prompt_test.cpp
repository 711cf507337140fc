// Prompts of image files and texts, against transformers: tests/golden/image_prompt/make_prompts.py.
#include "../image_prompt.h"
#include "../expect.h"
#include "letters_model.h"
#include "wick/generate/generation.h"
#include "wick/media/image.h"

namespace wick {
namespace {

LanguageModel loaded(const std::string& name, const char* device = "cpu") {
  return load_model(test::folder_of(name), {.device = Device::parse(device), .dtype = DType::kF32});
}

std::vector<Image> images_of(const std::vector<std::string>& files) {
  std::vector<Image> images;
  for (const std::string& file : files)
    images.push_back(read_image(std::string(WICK_GOLDEN) + "/images/" + file));
  return images;
}

/// Greedy, with make_prompts.py's penalty; no token stops a sequence.
SessionOptions penalized(int64_t capacity = 0) {
  SessionOptions options = test::greedy(capacity);
  options.sampling.repetition_penalty = 2;
  return options;
}

class ImagePrompt : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(ImagePrompt, IsContinuedAsByTransformers) {
  const auto& [name, device] = GetParam();
  const LanguageModel model = loaded(name, device);
  const NamedTensors expected = load_safetensors(test::folder_of(name) + "/prompts.safetensors");
  const struct {
    std::vector<std::string> files;
    std::string text;
  } cases[] = {{{"photo.png"}, "a cat in a hat"},
               {{"rgba.png", "gray.png"}, "the cats"},
               {{"photo.png"}, ""},
               {{"photo.png", "alpha.webp"}, "a cat <image> and a hat <image> sit"}};
  for (size_t i = 0; i < std::size(cases); i++) {
    const std::string key = std::to_string(i);
    const Prompt prompt = model.prompt(cases[i].text, images_of(cases[i].files));
    EXPECT_EQ(prompt.ids, expected.at(key + ".input_ids").to_vector<int64_t>());
    const std::vector<int64_t> ids = expected.at(key + ".generated").to_vector<int64_t>();
    Generation text(model, prompt.ids,
                    {.max_tokens = int64_t(ids.size()), .pixel_values = prompt.pixel_values},
                    penalized());
    EXPECT_EQ(text.finish().ids, ids) << key;
    EXPECT_EQ(text.session().tokens_read(), int64_t(prompt.ids.size() + ids.size()) - 1);
  }
}

INSTANTIATE_TEST_SUITE_P(ModelsAndDevices, ImagePrompt,
                         ::testing::Combine(::testing::Values("paligemma", "paligemma2"),
                                            ::testing::Values("cpu", "emu:32")));

TEST(ImagePrompts, DoNotSlide) {
  const LanguageModel model = loaded("paligemma");
  const Prompt prompt = model.prompt("a cat", images_of({"photo.png"}));
  const int64_t length = int64_t(prompt.ids.size());
  const GenerationOptions options{
      .max_tokens = 20, .slide = true, .pixel_values = prompt.pixel_values};
  Generation text(model, prompt.ids, options, penalized(length + 2));
  EXPECT_EQ(text.finish().ending, Ending::kContext);
  EXPECT_EQ(text.result().ids.size(), 3u);
  EXPECT_ERROR(Generation(model, prompt.ids, options, penalized(length - 1)), kOutOfRange,
               "exceed the capacity");
  // A text alone does.
  const std::vector<int64_t> ids = model.prompt_ids("a cat");
  Generation slides(model, ids, {.max_tokens = 20, .slide = true}, penalized(8));
  EXPECT_EQ(slides.finish().ending, Ending::kLength);
}

TEST(ImagePrompts, AreNotContinuedByAModelWithAVectorForEachToken) {
  const LanguageModel model = loaded("colpali");
  const Prompt prompt = model.prompt("a cat", images_of({"photo.png"}));
  const GenerationOptions options{.max_tokens = 2, .pixel_values = prompt.pixel_values};
  EXPECT_ERROR(Generation(model, prompt.ids, options, penalized()).finish(), kUnsupported,
               "continues no text");
}

TEST(ImagePrompts, WithoutImagesAreThoseOfTexts) {
  const LanguageModel model = loaded("paligemma");
  const Prompt prompt = model.prompt("a cat", {});
  EXPECT_EQ(prompt.ids, model.prompt_ids("a cat"));
  EXPECT_FALSE(prompt.pixel_values);
}

TEST(ImagePrompts, RefuseWhatDoesNotFit) {
  const std::vector<Image> one = images_of({"photo.png"});
  LanguageModel model = loaded("paligemma");
  EXPECT_ERROR(model.prompt("<image><image>", one), kInvalidArgument,
               "prompt: expected a <image> in the text for each of 1 images, got 2");
  LanguageModel lacking = model;
  lacking.image_processor.reset();
  EXPECT_ERROR(lacking.prompt("a", one), kUnsupported, "the model has no image processor");
  lacking = model;
  lacking.tokenizer.reset();
  EXPECT_ERROR(lacking.prompt("a", one), kUnsupported, "the model has no tokenizer");
  const LanguageModel letters = test::letters_model();
  EXPECT_ERROR(letters.prompt("a", one), kUnsupported, "a model of type llama reads no images");
  lacking = model;
  lacking.tokenizer = letters.tokenizer;
  lacking.bos_token = "";
  EXPECT_EQ(lacking.tokenizer->token(40), "O");  // a letter in the placeholder's place
  EXPECT_EQ(lacking.prompt("ab", one).ids, (std::vector<int64_t>{40, 40, 40, 40, 0, 1}));
}

}  // namespace
}  // namespace wick
