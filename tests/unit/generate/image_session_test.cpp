// Sessions of models that read images, against transformers: tests/golden/image_prompt/make.py.
#include "../expect.h"
#include "../image_prompt.h"
#include "../models/logits.h"
#include "../small_config.h"
#include "wick/generate/session.h"
#include "wick/ops/create.h"

namespace wick {
namespace {

using test::largest_difference;

constexpr double kNear = 1e-4;

class ImageSession : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  /// A session that keeps the logits of its last step. Its chunks are shorter than a prompt.
  Session session_of(int64_t sequences = 1) {
    return Session(*golden.model, {.sequences = sequences,
                                   .capacity = 40,
                                   .chunk = 3,
                                   .sampling = {.temperature = 0},
                                   .on_logits = [this](const Tensor& x) { return logits = x; }});
  }
  /// The difference of a row's logits after `count` of its tokens, by the last step.
  double difference(int64_t row, int64_t count, int64_t sequence = 0) const {
    return largest_difference(narrow(logits, 0, sequence, 1), golden.logits(row, count - 1, 1));
  }
  /// A row's tokens [begin, end).
  std::vector<int64_t> part(int64_t row, int64_t begin, int64_t end) const {
    return {rows[size_t(row)].begin() + begin, rows[size_t(row)].begin() + end};
  }
  Tensor image(int64_t row) const { return narrow(golden["pixel_values"], 0, row, 1); }

  const test::ImagePromptGolden golden{std::get<0>(GetParam()),
                                       Device::parse(std::get<1>(GetParam()))};
  const std::vector<std::vector<int64_t>> rows = golden.rows();
  const std::vector<int64_t> prompts = golden.prompts();
  Tensor logits;
};

TEST_P(ImageSession, ReadsAPromptWithAnImageAndThenNoMoreThanIsNew) {
  Session session = session_of();
  const int64_t prompt = prompts[0], all = int64_t(rows[0].size());
  session.append(part(0, 0, prompt), image(0));
  EXPECT_TRUE(session.has_images());
  session.step();
  EXPECT_LT(difference(0, prompt), kNear);
  EXPECT_EQ(session.tokens_read(), prompt);
  session.rewind(prompt);  // drops the sampled token, for transformers' next ones
  session.append(part(0, prompt, prompt + 1));
  session.step();
  EXPECT_LT(difference(0, prompt + 1), kNear);
  session.rewind(prompt + 1);
  session.append(part(0, prompt + 1, all));
  session.step();
  EXPECT_LT(difference(0, all), kNear);
  EXPECT_EQ(session.tokens_read(), all);
  // A token of the prompt's end is enough to go on from there.
  session.rewind(prompt);
  session.step();
  EXPECT_LT(difference(0, prompt), kNear);
  EXPECT_LE(session.tokens_read(), all + 1);
}

TEST_P(ImageSession, RowsOfABatchAreThoseOfTransformers) {
  Session session = session_of(2);
  session.append_each({part(0, 0, prompts[0]), part(1, 0, prompts[1])}, golden["pixel_values"]);
  session.step();
  for (const int64_t row : {0, 1}) EXPECT_LT(difference(row, prompts[size_t(row)], row), kNear);
  for (const int64_t row : {0, 1}) session.rewind(prompts[size_t(row)], row);
  session.append_each({part(0, prompts[0], prompts[0] + 4), part(1, prompts[1], prompts[1] + 1)});
  session.step();
  EXPECT_LT(difference(0, prompts[0] + 4, 0), kNear);
  EXPECT_LT(difference(1, prompts[1] + 1, 1), kNear);
  EXPECT_EQ(session.tokens_read(), prompts[0] + prompts[1] + 5);
}

TEST_P(ImageSession, ARewindIntoThePromptReadsItAgainWithTheFeaturesThatItKept) {
  Session session = session_of();
  const int64_t prompt = prompts[0], cut = 6;
  session.append(part(0, 0, prompt), image(0));
  session.rewind(cut);
  EXPECT_EQ(session.tokens_read(), prompt);
  session.append(part(0, cut, prompt));
  session.step();
  EXPECT_LT(difference(0, prompt), kNear);
  EXPECT_EQ(session.tokens_read(), 2 * prompt);
  // A shorter prompt by itself.
  session.rewind(cut);
  session.step();
  const Tensor shorter = logits;
  session.rewind(0);
  EXPECT_FALSE(session.has_images());
  session.append(part(0, 0, cut), image(0));
  session.step();
  EXPECT_LT(largest_difference(logits, shorter), kNear);
  // Half an image.
  session.rewind(2);
  EXPECT_TRUE(session.has_images());
  session.step();
  EXPECT_EQ(session.length(), 3);
  EXPECT_GT(largest_difference(logits, shorter), 1e-2);
}

INSTANTIATE_TEST_SUITE_P(ModelsAndDevices, ImageSession,
                         ::testing::Combine(::testing::Values("paligemma", "paligemma2"),
                                            ::testing::Values("cpu", "emu:32")));

TEST(ImageSessions, RefuseImagesAndPlaceholdersThatDoNotFit) {
  const test::ImagePromptGolden golden("paligemma", Device::cpu());
  Session session(*golden.model);
  const auto rows = golden.rows();
  const Tensor& images = golden["pixel_values"];
  EXPECT_ERROR(session.append(rows[0]), kInvalidArgument,
               "expected 4 placeholders (id 40) for each of 0 images, got 4");
  EXPECT_ERROR(session.append(rows[0], images), kInvalidArgument, "for each of 2 images, got 4");
  EXPECT_ERROR(session.append({3, 4}, narrow(images, 0, 0, 1)), kInvalidArgument,
               "for each of 1 images, got 0");
  EXPECT_ERROR(session.append(rows[0], zeros({1, 3, 8, 8})), kShapeMismatch,
               "pixel_values: expected [N, 3, 20, 20], got [1, 3, 8, 8]");
  EXPECT_EQ(session.length(), 0);
  session.append(rows[0], narrow(images, 0, 0, 1));
  EXPECT_EQ(session.length(), int64_t(rows[0].size()));

  Parameters parameters({.device = Device::cpu()});
  const Decoder decoder(test::small_config(), parameters);
  EXPECT_ERROR(Session(decoder).append({1}, images), kUnsupported,
               "a model of type llama reads no images");
}

}  // namespace
}  // namespace wick
