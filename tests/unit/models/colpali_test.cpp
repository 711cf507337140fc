// ColPali, against transformers: tests/golden/image_prompt/make_colpali.py.
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

constexpr double kNear = 1e-4;

class ColPali : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  const Golden golden{std::get<0>(GetParam()), Device::parse(std::get<1>(GetParam()))};
  const CausalModel& model = *golden.model;

  /// A tensor's rows of the tokens of row 1, the query, which follow its padding.
  Tensor of_query(const std::string& name) const {
    const Tensor row = select(golden[name], 0, 1);
    const int64_t count = int64_t(golden.rows()[1].size());
    return narrow(row, 0, row.size(0) - count, count);
  }
};

TEST_P(ColPali, ForwardGivesTheTensorsOfTransformers) {
  const NamedTensors out = forward(model, golden.inputs(), {.hidden = true});
  EXPECT_EQ(out.count("logits"), 0u);
  // Padding's hidden states, which transformers computes too, are 0.
  const Tensor mask = cast(unsqueeze(golden["attention_mask"], 2), DType::kF32);
  for (const char* name : {"embeddings", "hidden_states.0", "hidden_states.1", "hidden_states.2"})
    EXPECT_LT(largest_difference(out.at(name).to(Device::cpu()), golden[name] * mask), kNear)
        << name;
}

TEST_P(ColPali, TokensOfTextsOfAnyLengthsSeeTheTokensAfterThem) {
  const NoGrad off;
  const std::vector<int64_t> query = golden.rows()[1];
  const int64_t count = int64_t(query.size());
  const Tensor ids = Tensor::from(query, {1, count}, golden.device);
  const Tensor alone = model.hidden(ids, positions_from_0(1, count, golden.device));
  EXPECT_LT(largest_difference(alone, of_query("hidden_states.2")), kNear);
  // Beside a shorter text, without a word on what tokens see.
  const TokenBatch batch = test::next_tokens({{5, 6, 7}, query}, {0, 0}, {3, count}, golden.device);
  const Tensor vectors = model.token_embeddings(narrow(model.hidden(batch), 0, 3, count));
  EXPECT_LT(largest_difference(vectors, of_query("embeddings")), kNear);
}

INSTANTIATE_TEST_SUITE_P(FormsAndDevices, ColPali,
                         ::testing::Combine(::testing::Values("colpali", "colpali_engine"),
                                            ::testing::Values("cpu", "emu:32")));

TEST(ColPalis, HaveVectorsOfLength1WithGradients) {
  const Golden golden("colpali", Device::cpu());
  NamedTensors inputs = golden.inputs();
  const Var pixels(inputs.at("pixel_values"));
  inputs["pixel_values"] = pixels;
  const Tensor vectors = forward(*golden.model, inputs).at("embeddings");
  EXPECT_EQ(vectors.size(2), golden.model->facts().embedding_dim);
  const Tensor squares = sum(vectors * vectors, {.dims = {-1}});
  EXPECT_LT(largest_difference(squares, golden["attention_mask"]), 1e-6);
  backward(sum(narrow(vectors, 2, 0, 1)));
  EXPECT_GT(sum(abs(pixels.grad())).item<float>(), 1e-3f);
}

TEST(ColPalis, HaveNoLogitsAndContinueNoText) {
  const Golden golden("colpali", Device::cpu());
  const CausalModel& model = *golden.model;
  EXPECT_ERROR(model.logits(zeros({1, 16})), kUnsupported,
               "a model of type colpali has a vector for each token (token_embeddings), and no "
               "logits");
  const auto cache = model.make_cache({.sequences = 1, .capacity = 8});
  const TokenBatch batch = test::next_tokens({{5, 6}}, {0}, {2}, Device::cpu());
  EXPECT_ERROR(model.hidden(batch, cache.get()), kUnsupported, "continues no text");
  const Golden other("paligemma", Device::cpu());
  EXPECT_ERROR(other.model->token_embeddings(zeros({1, 16})), kUnsupported,
               "a model of type paligemma has no vector for each token");
}

// ---- config.json

TEST(ColPaliConfig, HasTwoForms) {
  for (const char* name : {"colpali", "colpali_engine"}) {
    const ModelFacts facts = config_of(read_json(folder_of(name) + "/config.json"))->facts();
    EXPECT_EQ(facts.model_type, "colpali");
    EXPECT_EQ(facts.embedding_dim, 128);
    EXPECT_EQ(facts.hidden_size, 16);
    EXPECT_FALSE(facts.is_causal);
    ASSERT_TRUE(facts.images);
    EXPECT_EQ(facts.images->token_id, 40);
    EXPECT_EQ(facts.images->tokens, 4);
  }
  Settings settings = read_json(folder_of("colpali_engine") + "/config.json");
  settings.set("architectures", Setting::List{"PaliGemmaForConditionalGeneration"});
  EXPECT_EQ(config_of(settings)->facts().model_type, "paligemma");
}

TEST(ColPaliConfig, RefusesPartsThatDoNotFit) {
  const Settings settings = read_json(folder_of("colpali") + "/config.json");
  const auto with = [&](const std::string& key, const Setting& value) {
    return Settings(settings).set(key, value);
  };
  EXPECT_EQ(config_of(with("embedding_dim", 96))->facts().embedding_dim, 96);
  EXPECT_ERROR(config_of(with("vlm_config", nullptr)), kFormat,
               "\"vlm_config\": expected an object");
  EXPECT_ERROR(config_of(with("embedding_dim", 0)), kFormat, "\"embedding_dim\"");
  Settings part = *settings.group("vlm_config");
  EXPECT_ERROR(config_of(with("vlm_config", part.set("projection_dim", 24))), kFormat,
               "\"projection_dim\": expected the hidden_size of text_config 16, got 24");
  part.set("projection_dim", 16).set("odd", 1);
  EXPECT_EQ(config_of(with("vlm_config", part).set("even", 2))->ignored_keys(),
            (std::vector<std::string>{"vlm_config.odd", "even"}));
}

}  // namespace
}  // namespace wick
