// Models that read images beside text, against transformers: tests/golden/image_prompt/make.py.
#include <map>

#include "../expect.h"
#include "../image_prompt.h"
#include "logits.h"
#include "wick/models/forward.h"
#include "wick/ops/autograd.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/create.h"
#include "wick/ops/reduce.h"
#include "wick/ops/shape.h"
#include "wick/ops/unary.h"

namespace wick {
namespace {

using Golden = test::ImagePromptGolden;
using test::config_of;
using test::folder_of;
using test::largest_difference;
using test::next_tokens;

constexpr double kNear = 1e-4;
constexpr int64_t kImage = 40;

class ImagePrompt : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  const Golden golden{std::get<0>(GetParam()), Device::parse(std::get<1>(GetParam()))};
  const CausalModel& model = *golden.model;
};

TEST_P(ImagePrompt, ForwardGivesTheTensorsOfTransformers) {
  EXPECT_LT(
      largest_difference(model.image_features(golden["pixel_values"]), golden["image_features"]),
      kNear);
  const NamedTensors out = forward(model, golden.inputs(), {.hidden = true});
  // Padding's rows, which transformers computes too, are 0.
  const Tensor mask = golden["attention_mask"];
  const auto compare = [&](const std::string& name) {
    const Tensor rows = cast(unsqueeze(mask, 2), DType::kF32);
    EXPECT_LT(largest_difference(out.at(name).to(Device::cpu()), golden[name] * rows), kNear)
        << name;
  };
  compare("logits");
  for (const char* name : {"hidden_states.0", "hidden_states.1", "hidden_states.2"}) compare(name);
}

TEST_P(ImagePrompt, ForwardOfTextAloneIsCausalIfItIsNoPrompt) {
  const Tensor& ids = golden["causal.input_ids"];
  const Tensor ones = ids * 0 + 1;
  const NamedTensors causal = forward(model, {{"input_ids", ids}, {"token_type_ids", ones}});
  EXPECT_LT(largest_difference(causal.at("logits"), golden["causal.logits"]), kNear);
  const NamedTensors prompt = forward(model, {{"input_ids", ids}});
  EXPECT_GT(largest_difference(prompt.at("logits"), golden["causal.logits"]), 1e-2);
}

TEST_P(ImagePrompt, PrefillThenTokenByTokenThenATurnOfUnevenRowsGivesItsLogits) {
  const NoGrad off;
  const auto rows = golden.rows();
  const std::vector<int64_t> prompts = golden.prompts();
  std::vector<int64_t> at(2, 0);
  const CacheOptions rows_cache{.sequences = 2, .capacity = 24, .chunk = 16};
  CacheOptions blocks = rows_cache, windows = rows_cache;
  blocks.block = 4;
  windows.capacity = 600;  // more than a layer with a window keeps
  for (const CacheOptions& options : {rows_cache, blocks, windows}) {
    const std::unique_ptr<ModelCache> cache = model.make_cache(options);
    const auto read = [&](const std::vector<int64_t>& counts, bool is_prompt) {
      TokenBatch batch = next_tokens(rows, at, counts, golden.device);
      if (is_prompt) {
        batch.features = golden.features();
        batch.places = image_places(model, batch.ids.to_vector<int64_t>(), 2);
        see_prefixes(batch, prompts);
      }
      const Tensor logits = model.logits(model.hidden(batch, cache.get()));
      for (size_t row = 0; row < 2; row++) {
        EXPECT_LT(largest_difference(narrow(logits, 0, batch.offsets[row], counts[row]),
                                     golden.logits(int64_t(row), at[row], counts[row])),
                  kNear)
            << "row " << row << ", position " << at[row];
        at[row] += counts[row];
      }
    };
    at = {0, 0};
    read(prompts, true);
    for (int step = 0; step < 2; step++) read({1, 1}, false);
    read({int64_t(rows[0].size()) - at[0], int64_t(rows[1].size()) - at[1]}, false);
  }
}

INSTANTIATE_TEST_SUITE_P(ModelsAndDevices, ImagePrompt,
                         ::testing::Combine(::testing::Values("paligemma", "paligemma2"),
                                            ::testing::Values("cpu", "emu:32")));

TEST(ImagePrompts, TheirGradientsReachTheImage) {
  const Golden golden("paligemma", Device::cpu());
  NamedTensors inputs = golden.inputs();
  const Var pixels(inputs.at("pixel_values"));
  inputs["pixel_values"] = pixels;
  backward(sum(forward(*golden.model, inputs).at("logits")));
  EXPECT_GT(sum(abs(pixels.grad())).item<float>(), 1e-3f);
}

TEST(ImagePrompts, RefuseOtherCountsOfImagesThanTheTextHas) {
  const Golden golden("paligemma", Device::cpu());
  NamedTensors inputs = golden.inputs();
  inputs["pixel_values"] = narrow(golden["pixel_values"], 0, 0, 1);
  EXPECT_ERROR(forward(*golden.model, inputs), kInvalidArgument,
               "expected 4 placeholders (id 40) for each of 1 images, got 8");
  inputs["pixel_values"] = zeros({2, 3, 24, 24});
  EXPECT_ERROR(forward(*golden.model, inputs), kShapeMismatch,
               "pixel_values: expected [N, 3, 20, 20], got [2, 3, 24, 24]");
  inputs.erase("input_ids");
  EXPECT_ERROR(forward(*golden.model, inputs), kInvalidArgument,
               "pixel_values: expected input_ids beside it");
  inputs = golden.inputs();
  inputs["token_type_ids"] = 1 - golden["token_type_ids"];
  EXPECT_ERROR(forward(*golden.model, inputs), kInvalidArgument, "got a 0 after a 1");
  inputs["pixels"] = zeros({1});
  EXPECT_ERROR(forward(*golden.model, inputs), kInvalidArgument,
               "expected input_ids or inputs_embeds, attention_mask, pixel_values and "
               "token_type_ids");
}

TEST(ImagePrompts, CountTheWorkOfTextAlone) {
  const Golden golden("paligemma", Device::cpu());
  std::map<std::string, TensorInfo> weights = {
      {"model.layers.0.mlp.up_proj.weight", {DType::kF32, {24, 16}}}};
  const TokenWork text = golden.model->work(weights, 3);
  weights["vision_tower.encoder.layers.0.mlp.fc1.weight"] = {DType::kF32, {20, 24}};
  weights["multi_modal_projector.linear.weight"] = {DType::kF32, {16, 24}};
  EXPECT_EQ(golden.model->work(weights, 3).bytes, text.bytes);
}

// ---- config.json

/// paligemma's config.json with a value of one of its objects, "" for its own, replaced.
Settings settings_with(const std::string& object, const std::string& key, const Setting& value) {
  Settings all = read_json(folder_of("paligemma") + "/config.json");
  if (object.empty()) return all.set(key, value);
  Settings part = *all.group(object);
  return all.set(object, part.set(key, value));
}

TEST(PaliGemmaConfig, RefusesPartsThatDoNotFit) {
  EXPECT_ERROR(config_of(settings_with("text_config", "model_type", "llama")), kUnsupported,
               "\"model_type\": expected \"gemma\" or \"gemma2\", got \"llama\"");
  EXPECT_ERROR(config_of(settings_with("vision_config", "model_type", "clip_vision_model")),
               kUnsupported, "expected \"siglip_vision_model\", got \"clip_vision_model\"");
  EXPECT_ERROR(config_of(settings_with("", "projection_dim", 24)), kFormat,
               "\"projection_dim\": expected the hidden_size of text_config 16, got 24");
  EXPECT_ERROR(config_of(settings_with("", "image_token_index", 48)), kFormat,
               "\"image_token_index\": expected an id below vocab_size 48, got 48");
  EXPECT_ERROR(config_of(settings_with("", "vision_config", nullptr)), kFormat,
               "\"vision_config\": expected an object");
  EXPECT_EQ(config_of(settings_with("vision_config", "odd", 1))->ignored_keys(),
            std::vector<std::string>{"vision_config.odd"});
}

TEST(PaliGemmaConfig, SaysHowItReadsImages) {
  const ModelFacts facts = config_of(settings_with("vision_config", "image_size", 30))->facts();
  EXPECT_EQ(facts.model_type, "paligemma");
  ASSERT_TRUE(facts.images);
  EXPECT_EQ(facts.images->token_id, kImage);
  EXPECT_EQ(facts.images->tokens, 9);
  EXPECT_EQ(facts.images->pixels, Shape({3, 30, 30}));
  EXPECT_TRUE(facts.images->prompt_is_prefix);
}

}  // namespace
}  // namespace wick
