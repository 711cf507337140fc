// Mamba against transformers: tests/golden/mamba/make.py.
#include <cmath>
#include <optional>

#include "../expect.h"
#include "logits.h"
#include "models/architectures.h"
#include "wick/generate/session.h"
#include "wick/io/gguf.h"
#include "wick/io/json.h"
#include "wick/io/safetensors.h"
#include "wick/ops/autograd.h"
#include "wick/ops/cast.h"
#include "wick/ops/create.h"
#include "wick/ops/loss.h"
#include "wick/ops/reduce.h"
#include "wick/ops/shape.h"
#include "wick/ops/unary.h"

namespace wick {
namespace {

using test::expect_logits_in_parts;
using test::largest_difference;
using test::next_tokens;

const std::string kFolder = std::string(WICK_GOLDEN) + "/mamba";
constexpr double kNear = 1e-4;  // logits are of size 10

struct Golden {
  NamedTensors expected = load_safetensors(kFolder + "/expected.safetensors");
  std::vector<int64_t> ids(int row) const {
    return expected.at("ids." + std::to_string(row)).to_vector<int64_t>();
  }
  Tensor logits(int row) const { return expected.at("logits." + std::to_string(row)); }
};

std::shared_ptr<const CausalModel> model_of(Parameters& parameters, const ModelConfig& config) {
  EXPECT_TRUE(config.ignored_keys().empty());
  auto model = config.make(parameters, 0);
  EXPECT_TRUE(parameters.left().empty());
  return model;
}
std::unique_ptr<ModelConfig> folder_config() {
  const Settings settings = read_json(kFolder + "/config.json");
  return architecture_of_folder(settings).of_folder(settings, nullptr, nullptr);
}
std::shared_ptr<const CausalModel> load(const std::string& file, const Device& device,
                                        DType dtype = DType::kF32) {
  const ParameterOptions options{.dtype = dtype, .device = device};
  if (file.ends_with(".gguf")) {
    const GgufReader reader(kFolder + "/" + file);
    const auto config =
        architecture_of_gguf(reader.metadata()).of_gguf(reader.metadata(), reader.source());
    Parameters parameters(config->tensors(reader.source()), options);
    return model_of(parameters, *config);
  }
  const auto config = folder_config();
  Parameters parameters(config->tensors(SafetensorsReader(kFolder).source()), options);
  return model_of(parameters, *config);
}

class Mamba : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  const Golden golden;
  const Device device = Device::parse(std::get<1>(GetParam()));
  const std::shared_ptr<const CausalModel> model = load(std::get<0>(GetParam()), device);
};

TEST_P(Mamba, GivesTheLogitsOfTransformers) {
  for (int row = 0; row < 3; row++) {
    const auto ids = golden.ids(row);
    const int64_t t = int64_t(ids.size());
    const Tensor logits =
        model->forward(Tensor::from(ids, {1, t}, device), positions_from_0(1, t, device));
    EXPECT_LT(largest_difference(squeeze(logits, 0), golden.logits(row)), kNear);
  }
}

TEST_P(Mamba, PartsOfUnevenRowsThenTokensGiveThemToo) {
  expect_logits_in_parts(*model, {.sequences = 3, .capacity = 128, .chunk = 16},
                         {golden.ids(0), golden.ids(1), golden.ids(2)},
                         {golden.logits(0), golden.logits(1), golden.logits(2)}, kNear);
}

INSTANTIATE_TEST_SUITE_P(FilesAndDevices, Mamba,
                         ::testing::Values(std::tuple("folder", "cpu"),
                                           std::tuple("model.gguf", "cpu"),
                                           std::tuple("folder", "emu:32"),
                                           std::tuple("folder", "emu:64")));

TEST(MambaGradients, AreThoseOfTransformers) {
  const Golden golden;
  for (const char* name : {"cpu", "emu:32"}) {
    const Device device = Device::parse(name);
    const auto config = folder_config();
    Parameters parameters(config->tensors(SafetensorsReader(kFolder).source()),
                          {.device = device, .trainable = true});
    const auto model = model_of(parameters, *config);
    const std::vector<int64_t> ids = golden.ids(1);
    const int64_t t = int64_t(ids.size()) - 1;
    const Tensor logits = model->forward(
        Tensor::from(std::vector<int64_t>(ids.begin(), ids.end() - 1), {1, t}, device),
        positions_from_0(1, t, device));
    backward(
        cross_entropy(squeeze(logits, 0),
                      Tensor::from(std::vector<int64_t>(ids.begin() + 1, ids.end()), {t}, device)));
    EXPECT_EQ(parameters.vars().size(), 22u);
    for (const auto& [parameter, var] : parameters.vars())
      EXPECT_LT(largest_difference(var.grad(), golden.expected.at("gradient." + parameter)), 1e-5)
          << parameter;
  }
}

TEST(MambaSession, GoesBackToTheLastAppendAndReadsOnFromThere) {
  const auto model = load("folder", Device::cpu());
  std::vector<float> seen;
  const auto keep = [&](const Tensor& logits) {
    seen = logits.to_vector<float>();
    return logits;
  };
  Session session(*model, {.sequences = 1,
                           .capacity = 200,
                           .chunk = 16,
                           .sampling = {.temperature = 0},
                           .on_logits = keep});
  const Golden golden;
  const std::vector<int64_t> text = golden.ids(2);
  session.append({text.begin(), text.begin() + 40});
  for (int i = 0; i < 20; i++) session.step();
  EXPECT_EQ(session.tokens_read(), 59);
  session.rewind(40);
  session.append({text.begin() + 40, text.end()});  // from the mark: new tokens only
  EXPECT_EQ(session.tokens_read(), 59 + 30);
  session.step();
  const std::vector<float> last =
      narrow(golden.logits(2), 0, int64_t(text.size()) - 1, 1).to_vector<float>();
  for (size_t i = 0; i < last.size(); i++) EXPECT_NEAR(seen[i], last[i], kNear);
  // Before the mark there is only the beginning.
  session.rewind(30);
  session.step();
  EXPECT_EQ(session.tokens_read(), 59 + 30 + 30);
  const std::vector<float> earlier = narrow(golden.logits(2), 0, 29, 1).to_vector<float>();
  for (size_t i = 0; i < earlier.size(); i++) EXPECT_NEAR(seen[i], earlier[i], kNear);
}

TEST(MambaSession, AStoppedSequenceKeepsItsState) {
  const auto model = load("folder", Device::cpu());
  const Golden golden;
  const std::vector<int64_t> text = golden.ids(1);
  Session alone(*model, {.capacity = 64, .sampling = {.temperature = 0}});
  alone.append(text);
  const int64_t first = alone.step()[0];
  alone.append({5, 6});
  const std::vector<int64_t> after = {alone.step()[0], alone.step()[0]};
  // The first row stops at once, while the second goes on.
  Session both(
      *model,
      {.sequences = 2, .capacity = 64, .sampling = {.temperature = 0}, .stop_ids = {{first}}});
  both.append_each({text, {3, 4}});
  for (int i = 0; i < 5; i++) both.step();
  ASSERT_TRUE(both.stopped(0));
  both.append_each({{5, 6}, {7}});
  EXPECT_EQ(both.step()[0], after[0]);
  EXPECT_EQ(both.step()[0], after[1]);
}

TEST(MambaConfig, BadKeysAreErrorsThatNameThem) {
  const auto refused = [](const char* key, const Setting& value, const std::string& text) {
    Settings settings = read_json(kFolder + "/config.json");
    settings.set(key, value);
    EXPECT_ERROR(architecture_of_folder(settings).of_folder(settings, nullptr, nullptr), kFormat,
                 text);
  };
  refused("hidden_act", "gelu", "\"hidden_act\": expected \"silu\"");
  refused("conv_kernel", 1, "\"conv_kernel\": expected at least 2");
  refused("time_step_rank", "all", "\"time_step_rank\": expected");
  refused("state_size", 0, "\"state_size\": expected");
  refused("num_hidden_layers", int64_t{1} << 31, "\"num_hidden_layers\": expected at most 65536");
  refused("expand", int64_t{1} << 31, "\"expand\": expected at most ");
}

TEST(MambaConfig, OfAGgufFileHasLimitedSizes) {
  const GgufReader reader(kFolder + "/model.gguf");
  for (const char* key : {"block_count", "ssm.inner_size", "embedding_length"}) {
    Settings metadata = reader.metadata();
    const std::string name = std::string("mamba.") + key;
    metadata.set(name, int64_t{1} << 40);
    EXPECT_ERROR(architecture_of_gguf(metadata).of_gguf(metadata, reader.source()), kFormat,
                 "\"" + name + "\": expected at most ");
  }
}

/// The golden's tensors, with an output layer that has these values throughout, or without one.
TensorSource with_head(std::optional<double> value) {
  NamedTensors tensors = load_safetensors(kFolder + "/model.safetensors");
  tensors.erase("lm_head.weight");
  const Tensor embedding = tensors.at("backbone.embeddings.weight");
  if (value) tensors["lm_head.weight"] = full(embedding.shape(), *value);
  return source_of(tensors, "m");
}

TEST(MambaConfig, AnOutputLayerThatTheConfigDeniesIsUsedWithAWarning) {
  Settings settings = read_json(kFolder + "/config.json");
  settings.set("tie_word_embeddings", true);
  const TensorSource source = with_head(0);
  std::vector<std::string> warnings;
  const auto config = architecture_of_folder(settings).of_folder(settings, &source, &warnings);
  ASSERT_EQ(warnings.size(), 1);
  EXPECT_NE(warnings[0].find("lm_head.weight differs from the embedding"), std::string::npos);
  Parameters parameters(config->tensors(source), ParameterOptions{});
  const Tensor logits = model_of(parameters, *config)
                            ->forward(Tensor::from(std::vector<int64_t>{1, 2}, {1, 2}),
                                      positions_from_0(1, 2, Device::cpu()));
  EXPECT_EQ(amax(abs(logits)).item<float>(), 0);
}

TEST(MambaConfig, AnUntiedModelNeedsItsOutputLayer) {
  Settings settings = read_json(kFolder + "/config.json");
  settings.set("tie_word_embeddings", false);
  const TensorSource source = with_head({});
  std::vector<std::string> warnings;
  const auto config = architecture_of_folder(settings).of_folder(settings, &source, &warnings);
  Parameters parameters(config->tensors(source), ParameterOptions{});
  EXPECT_ERROR(config->make(parameters, 0), kFormat, "no tensor is named \"lm_head.weight\"");
}

}  // namespace
}  // namespace wick
