// Based against a program written from its paper: tests/golden/based/make.py.
#include <cmath>

#include "../expect.h"
#include "logits.h"
#include "wick/generate/session.h"
#include "wick/io/json.h"
#include "wick/io/safetensors.h"
#include "wick/models/registry.h"
#include "wick/ops/arrange.h"
#include "wick/ops/autograd.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/loss.h"
#include "wick/ops/reduce.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

using test::expect_logits_in_parts;
using test::largest_difference;
using test::next_tokens;

const std::string kFolder = std::string(WICK_GOLDEN) + "/based";
constexpr double kNear = 1e-4;  // logits are of size 10

struct Golden {
  NamedTensors expected = load_safetensors(kFolder + "/expected.safetensors");
  std::vector<int64_t> ids(int row) const {
    return expected.at("ids." + std::to_string(row)).to_vector<int64_t>();
  }
  Tensor logits(int row) const { return expected.at("logits." + std::to_string(row)); }
};

Settings settings() { return read_json(kFolder + "/config.json"); }
std::unique_ptr<ModelConfig> config_of(const Settings& s) {
  return architecture_of_folder(s).of_folder(s, nullptr, nullptr);
}
std::shared_ptr<const CausalModel> model_of(const ModelConfig& config, Parameters& parameters) {
  EXPECT_TRUE(config.ignored_keys().empty());
  auto model = config.make(parameters, 0);
  EXPECT_TRUE(parameters.left().empty());
  return model;
}
std::shared_ptr<const CausalModel> model_of(const TensorSource& files, const Device& device,
                                            DType dtype = DType::kF32) {
  const auto config = config_of(settings());
  Parameters parameters(config->tensors(files), {.dtype = dtype, .device = device});
  return model_of(*config, parameters);
}
TensorSource golden_files() { return SafetensorsReader(kFolder).source(); }

Tensor logits_of(const CausalModel& model, const std::vector<int64_t>& ids) {
  const int64_t t = int64_t(ids.size());
  const Device device = model.options().device;
  return squeeze(model.forward(Tensor::from(ids, {1, t}, device), positions_from_0(1, t, device)),
                 0);
}

class Based : public ::testing::TestWithParam<const char*> {
 protected:
  const Golden golden;
  const Device device = Device::parse(GetParam());
  const std::shared_ptr<const CausalModel> model = model_of(golden_files(), device);
};

TEST_P(Based, GivesTheLogitsOfThePaper) {
  for (int row = 0; row < 3; row++)
    EXPECT_LT(largest_difference(logits_of(*model, golden.ids(row)), golden.logits(row)), kNear);
}

TEST_P(Based, PartsOfUnevenRowsThenTokensGiveThemToo) {
  expect_logits_in_parts(*model, {.sequences = 3, .capacity = 1024, .chunk = 16},
                         {golden.ids(0), golden.ids(1), golden.ids(2)},
                         {golden.logits(0), golden.logits(1), golden.logits(2)}, kNear);
}

INSTANTIATE_TEST_SUITE_P(Devices, Based, ::testing::Values("cpu", "emu:32"));

TEST(BasedGradients, AreThoseOfThePaper) {
  const Golden golden;
  for (const char* name : {"cpu", "emu:32"}) {
    const auto config = config_of(settings());
    Parameters parameters(config->tensors(golden_files()),
                          {.device = Device::parse(name), .trainable = true});
    const auto model = model_of(*config, parameters);
    const std::vector<int64_t> ids = golden.ids(1);
    const int64_t t = int64_t(ids.size()) - 1;
    backward(cross_entropy(
        logits_of(*model, {ids.begin(), ids.end() - 1}),
        Tensor::from(std::vector<int64_t>(ids.begin() + 1, ids.end()), {t}, Device::parse(name))));
    const auto grad = [&](const std::string& parameter) {
      return parameters.vars().at(parameter).grad().to(Device::cpu());
    };
    int compared = 0;
    for (const auto& [key, expected] : golden.expected) {
      if (!key.starts_with("gradient.")) continue;
      const std::string parameter = key.substr(9);
      const std::string part = parameter.substr(0, parameter.find_last_of('.'));
      const std::string layer = part.substr(0, part.find_last_of('.') + 1);
      Tensor own;
      if (part.ends_with("Wqkv"))
        own = cat({grad(layer + "q_proj.weight"), grad(layer + "k_proj.weight"),
                   grad(layer + "v_proj.weight")});
      else if (part.ends_with("fc1"))
        own = cat({grad(layer + "up_proj.weight"), grad(layer + "gate_proj.weight")});
      else if (part.ends_with("fc2"))
        own = grad(layer + "down_proj.weight");
      else if (part == "transformer.layers.2.mixer.out_proj")
        own = grad(layer + "o_proj.weight");
      else
        own = grad(parameter);
      // The rows that pad the embedding have a gradient of 0.
      const Tensor same = narrow(expected, 0, 0, own.size(0));
      EXPECT_LT(largest_difference(own, same), 1e-5) << parameter;
      compared++;
    }
    EXPECT_EQ(compared, 42);
  }
}

TEST(BasedFiles, MayHaveTheTrainersPrefixAndNoEmbeddingBesideTheHead) {
  const Golden golden;
  NamedTensors tensors;
  for (const auto& [name, tensor] : load_safetensors(kFolder + "/model.safetensors"))
    if (name != "transformer.embeddings.word_embeddings.weight") tensors["model." + name] = tensor;
  tensors["train_metrics.num-tokens.count"] = Tensor::from(std::vector<float>{5}, {1});
  const auto model = model_of(source_of(tensors, "m"), Device::cpu());
  EXPECT_LT(largest_difference(logits_of(*model, golden.ids(1)), golden.logits(1)), kNear);
}

TEST(BasedFiles, InBf16GiveLogitsAsNearAsTheProgramDoes) {
  const Golden golden;
  const auto model = model_of(golden_files(), Device::cpu(), DType::kBf16);
  const double difference = golden.expected.at("bf16_difference").item<float>();
  const Tensor own = cast(logits_of(*model, golden.ids(2)), DType::kF32) - golden.logits(2);
  EXPECT_LT(std::sqrt(mean(own * own).item<float>()), 1.5 * difference);
}

TEST(BasedFiles, OfFusedWeightsThatDoNotDivideLackTheirParts) {
  NamedTensors tensors = load_safetensors(kFolder + "/model.safetensors");
  Tensor& fused = tensors.at("transformer.layers.2.mixer.Wqkv.weight");
  fused = narrow(fused, 0, 0, 47);
  EXPECT_ERROR(model_of(source_of(tensors, "m"), Device::cpu()), kFormat,
               "no tensor is named \"transformer.layers.2.mixer.q_proj.weight\"");
}

TEST(BasedSession, GoesBackToTheLastAppendAndReadsOnFromThere) {
  const auto model = model_of(golden_files(), Device::cpu());
  std::vector<float> seen;
  const auto keep = [&](const Tensor& logits) {
    seen = logits.to_vector<float>();
    return logits;
  };
  Session session(*model, {.sequences = 1,
                           .capacity = 128,
                           .chunk = 16,
                           .sampling = {.temperature = 0},
                           .on_logits = keep});
  const Golden golden;
  const std::vector<int64_t> text = golden.ids(2);
  session.append({text.begin(), text.begin() + 40});
  for (int i = 0; i < 20; i++) session.step();
  session.rewind(40);
  session.append({text.begin() + 40, text.end()});  // from the mark: new tokens only
  EXPECT_EQ(session.tokens_read(), 59 + 30);
  session.step();
  const std::vector<float> last = narrow(golden.logits(2), 0, 69, 1).to_vector<float>();
  for (size_t i = 0; i < last.size(); i++) EXPECT_NEAR(seen[i], last[i], kNear);
  session.rewind(30);  // before the mark there is only the beginning
  session.step();
  const std::vector<float> earlier = narrow(golden.logits(2), 0, 29, 1).to_vector<float>();
  for (size_t i = 0; i < earlier.size(); i++) EXPECT_NEAR(seen[i], earlier[i], kNear);
}

TEST(BasedSession, AStoppedSequenceKeepsItsState) {
  const auto model = model_of(golden_files(), Device::cpu());
  const std::vector<int64_t> text = Golden().ids(1);
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

TEST(BasedConfig, IsFoundByItsListsOfLayers) {
  for (const Setting& type : {Setting(), Setting("gpt2"), Setting("based")})
    EXPECT_EQ(architecture_of_folder(settings().set("model_type", type)).name,
              std::string("based"));
  EXPECT_EQ(architecture_of_folder(settings().set("model_type", "llama")).name,
            std::string("decoder"));
  EXPECT_EQ(architecture_of_folder(settings().set("alt_mixer_layers", nullptr)).name,
            std::string("decoder"));
}

TEST(BasedConfig, BadKeysAreErrorsThatNameThem) {
  const auto refused = [](const char* key, const Setting& value, const std::string& text) {
    EXPECT_ERROR(config_of(settings().set(key, value)), kFormat, text);
  };
  const Setting::List twice = {1, 1};
  refused("n_layer", int64_t{1} << 31, "\"n_layer\": expected at most 65536");
  refused("n_layer", 0, "\"n_layer\": expected");
  refused("n_embd", nullptr, "\"n_embd\": expected");
  refused("n_inner", "all", "\"n_inner\": expected");
  refused("n_head", 3, "\"n_head\": expected a divisor of n_embd 16");
  refused("alt_mixer_layers", Setting::List{5},
          "\"alt_mixer_layers\": expected layers from 0 to 4");
  refused("alt_mixer_layers", twice, "\"alt_mixer_layers\": expected each layer once");
  refused("alt_mixer_2_layers", 1, "\"alt_mixer_2_layers\": expected each layer once");
  refused("alt_mixer_2_layers", "all", "\"alt_mixer_2_layers\": expected");
  refused("mixer", 3, "\"mixer\": expected");
  refused("rotary_emb_fraction", 1.5, "\"rotary_emb_fraction\": expected from 0 to 1");
  refused("rotary_emb_fraction", 0.125, "\"rotary_emb_fraction\": expected an even number");
  refused("rotary_emb_base", 0, "\"rotary_emb_base\": expected");
  refused("rms_norm", false, "\"rms_norm\": expected true, got false");
  refused("activation_function", "gelu", "\"activation_function\": expected the string \"swiglu\"");
  refused("max_position_embeddings", 64, "\"max_position_embeddings\": expected 0, got 64");
}

TEST(BasedConfig, BadKeysOfTheKindsOfLayersAreErrorsThatNameThem) {
  const auto refused = [](const char* group, const char* key, const Setting& value,
                          const std::string& text) {
    Settings all = settings();
    Settings own = *all.group(group);
    all.set(group, own.set(key, value));
    EXPECT_ERROR(config_of(all), kFormat, text);
  };
  refused("mixer", "expand_proj", int64_t{1} << 31, "\"expand_proj\": expected at most ");
  refused("mixer", "kernel_size", 1, "\"kernel_size\": expected at least 2");
  refused("mixer", "kernel_sizes", Setting::List{3, 5}, "\"kernel_sizes\": expected one size");
  refused("mixer", "_target_", "based.Hyena", "expected a class named \"BaseConv\"");
  refused("alt_mixer", "num_heads", 5, "\"num_heads\": expected a divisor of n_embd 16");
  refused("alt_mixer", "feature_dim", int64_t{1} << 20, "\"feature_dim\": expected at most 1024");
  refused("alt_mixer", "feature_dim", 4, "\"input_dim\": expected the feature_dim 4");
  refused("alt_mixer", "head_dim", 5, "\"head_dim\": expected 4");
  refused("alt_mixer", "eps", 0, "\"eps\": expected");
  refused("alt_mixer_2", "num_heads", 4, "\"num_heads\": expected the n_head 2");
  refused("alt_mixer_2", "window_size", 0, "\"window_size\": expected");
  refused("alt_mixer_2", "_target_", "flash_attn.modules.mha.MHA",
          "expected a class named \"SlidingAttention\" or \"SlidingsMHA\"");
}

}  // namespace
}  // namespace wick
