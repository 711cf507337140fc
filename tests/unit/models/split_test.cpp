// Models whose layers are on several devices.
#include "../exact_activations.h"
#include "../expect.h"
#include "../generate/letters_model.h"
#include "logits.h"
#include "wick/generate/chat.h"
#include "wick/generate/engine.h"
#include "wick/generate/session.h"
#include "wick/io/safetensors.h"
#include "wick/load/load_model.h"
#include "wick/ops/autograd.h"

namespace wick {
namespace {

using test::largest_difference;
using test::next_tokens;

std::string golden(const std::string& name) { return std::string(WICK_GOLDEN) + "/" + name; }

/// The golden's decoder with as many layers on each device as fit in turn.
LoadOptions over(const std::vector<const char*>& names, int64_t layers) {
  LoadOptions options{.device = Device::cpu(), .dtype = DType::kF32};
  int64_t left = layers;
  for (size_t i = 0; i < names.size(); i++) {
    options.split.devices.push_back(Device::parse(names[i]));
    const int64_t rest = int64_t(names.size() - i), count = (left + rest - 1) / rest;
    options.split.layers.push_back(count);
    left -= count;
  }
  return options;
}

int64_t layers_of(const std::string& name) { return load_config(golden(name)).num_hidden_layers; }

constexpr double kNear = 1e-4;  // of logits of size 10 to 50, beside transformers' own

struct Case {
  const char* model;
  std::vector<const char*> devices;
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.model;
  for (const char* device : c.devices) *out << " " << device;
}

class Split : public ::testing::TestWithParam<Case> {
 protected:
  const std::string name = GetParam().model;
  const ExactActivations exact = {};
  const NamedTensors expected = load_safetensors(golden(name) + "/expected.safetensors");
  const LanguageModel model = load_model(golden(name), over(GetParam().devices, layers_of(name)));
  LanguageModel whole() const {
    return load_model(golden(name), {.device = Device::cpu(), .dtype = DType::kF32});
  }
  std::vector<std::vector<int64_t>> texts() const {
    std::vector<std::vector<int64_t>> all;
    for (int row = 0; row < 3; row++)
      all.push_back(expected.at("ids." + std::to_string(row)).to_vector<int64_t>());
    return all;
  }
  std::vector<Tensor> logits() const {
    std::vector<Tensor> all;
    for (int row = 0; row < 3; row++) all.push_back(expected.at("logits." + std::to_string(row)));
    return all;
  }
};

TEST_P(Split, GivesTransformersLogits) {
  EXPECT_EQ(model.model->options().device, Device::parse(GetParam().devices.back()));
  EXPECT_EQ(model.model->devices().size(), GetParam().devices.size());
  test::expect_logits(*model.model, texts(), logits(), kNear);
}

TEST_P(Split, ReadsTextsInPartsAndInBlocks) {
  test::expect_logits_by_halves_and_steps(*model.model, texts(), logits(), kNear);
}

TEST_P(Split, GivesTheHiddenStatesOfEachLayer) {
  const Device device = model.model->options().device;
  const std::vector<int64_t> ids = texts()[0];
  std::vector<Tensor> states;
  const TokenBatch batch = next_tokens({ids}, {0}, {int64_t(ids.size())}, device);
  const Tensor hidden = model.model->hidden(batch, nullptr, &states);
  ASSERT_EQ(int64_t(states.size()), layers_of(name) + 1);
  for (const Tensor& x : states) EXPECT_EQ(x.device(), device);
  EXPECT_EQ(largest_difference(states.back(), hidden), 0);
}

TEST_P(Split, TakesTheCacheThatItSays) {
  for (const CacheOptions& options :
       {CacheOptions{.sequences = 3, .capacity = 700, .chunk = 16},
        CacheOptions{.sequences = 2, .capacity = 64, .block = 8, .blocks = 5}}) {
    int64_t sum = 0;
    for (const int64_t bytes : model.model->cache_bytes(options)) sum += bytes;
    EXPECT_EQ(model.model->make_cache(options)->bytes(), sum);
  }
}

TEST_P(Split, GeneratesInTheSlotsOfAnEngine) {
  const LanguageModel letters = test::letters_model();
  const auto ids_of = [&](LanguageModel loaded) {
    loaded.tokenizer = letters.tokenizer;
    Engine engine(loaded, {.sequences = 2, .capacity = 64, .chunk = 4});
    std::vector<EngineStream> streams;
    for (const std::vector<int64_t>& prompt : texts())
      streams.push_back(engine.submit({.prompt = prompt,
                                       .sampling = {.temperature = 0},
                                       .max_tokens = 5,
                                       .stop_ids = std::vector<int64_t>()}));
    std::vector<std::vector<int64_t>> all;
    for (EngineStream& stream : streams) all.push_back(stream.finish().ids);
    return all;
  };
  EXPECT_EQ(ids_of(model), ids_of(whole()));
}

TEST_P(Split, AnswersInAChat) {
  const LanguageModel letters = test::letters_model();
  const auto answers_of = [&](LanguageModel loaded) {
    loaded.tokenizer = letters.tokenizer;
    loaded.chat_template = letters.chat_template;
    const SessionOptions session{.capacity = 64,
                                 .chunk = 5,
                                 .sampling = {.temperature = 0},
                                 .stop_ids = std::vector<int64_t>()};
    Chat chat(loaded, {.max_tokens = 4, .session = session});
    const std::string first = chat.ask("abcdefg").text;
    return first + chat.ask("hijkl").text;
  };
  EXPECT_EQ(answers_of(model), answers_of(whole()));
}

TEST_P(Split, ContinuesTextsAsOneDeviceDoes) {
  const std::vector<int64_t> prompt = texts()[0];
  const auto ids_of = [&](const LanguageModel& loaded) {
    Session session(*loaded.model, {.capacity = 64, .chunk = 3, .sampling = {.temperature = 0}});
    session.append(prompt);
    std::vector<int64_t> ids;
    for (int i = 0; i < 6; i++) ids.push_back(session.step()[0]);
    session.rewind(int64_t(prompt.size()) + 2);
    for (int i = 0; i < 6; i++) ids.push_back(session.step()[0]);
    return ids;
  };
  const std::vector<int64_t> expected_ids = ids_of(whole());
  EXPECT_EQ(ids_of(model), expected_ids);
  Session session(*model.model);
  EXPECT_EQ(session.why_no_graph(), "the model's layers are on several devices");
}

INSTANTIATE_TEST_SUITE_P(Devices, Split,
                         ::testing::Values(Case{"llama/grouped", {"cpu", "emu:32"}},
                                           Case{"llama/grouped", {"emu:64", "cpu"}},
                                           Case{"llama/grouped", {"emu:32", "emu:64"}},
                                           Case{"decoders/gemma3", {"emu:32", "cpu", "emu:64"}},
                                           Case{"decoders/gpt2", {"emu:32", "cpu"}},
                                           Case{"decoders/falcon_alibi", {"cpu", "emu:32"}},
                                           Case{"decoders/mistral_window", {"emu:32", "cpu"}},
                                           Case{"decoders/olmo2", {"cpu", "emu:64"}},
                                           Case{"decoders/mixtral", {"emu:32", "cpu"}},
                                           Case{"decoders/qwen2_moe", {"cpu", "emu:32"}},
                                           Case{"decoders/gemma4", {"cpu", "emu:32", "emu:64"}},
                                           Case{"decoders/gemma4_moe", {"emu:32", "cpu"}},
                                           Case{"decoders/deepseek_v3", {"cpu", "emu:32"}},
                                           Case{"decoders/recurrent_gemma", {"emu:32", "cpu"}},
                                           Case{"decoders/granitemoehybrid", {"cpu", "emu:32"}},
                                           Case{"decoders/qwen3_next", {"emu:32", "cpu"}},
                                           Case{"decoders/phi3_longrope_long", {"cpu", "emu:32"}},
                                           Case{"decoders/lfm2", {"cpu", "emu:32"}}));

/// Model and device of its layers.
class CpuExperts : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(CpuExperts, GiveTransformersLogits) {
  const ExactActivations exact;
  const auto [name, device_name] = GetParam();
  const Device device = Device::parse(device_name);
  const NamedTensors expected = load_safetensors(golden(name) + "/expected.safetensors");
  for (const int64_t count : {int64_t{1}, DecoderConfig::kMaxLayers}) {
    const LanguageModel model = load_model(
        golden(name), {.device = device, .dtype = DType::kF32, .split = {.cpu_experts = count}});
    EXPECT_EQ(model.model->devices(), (std::vector<Device>{device, Device::cpu()}));
    EXPECT_NE(model.split.find("experts of layers 0"), model.split.npos) << model.split;
    const std::vector<int64_t> ids = expected.at("ids.0").to_vector<int64_t>();
    const int64_t t = int64_t(ids.size());
    const Tensor logits =
        model.model->forward(Tensor::from(ids, {1, t}, device), positions_from_0(1, t, device));
    EXPECT_LT(largest_difference(squeeze(logits, 0), expected.at("logits.0")), kNear);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Devices, CpuExperts,
    ::testing::Combine(::testing::Values("decoders/mixtral", "decoders/qwen2_moe",
                                         "decoders/gpt_oss", "decoders/gemma4_moe",
                                         "decoders/llama4", "decoders/deepseek_v3"),
                       ::testing::Values("emu:32", "emu:64")));

TEST(SplitOptions, AreCheckedBeforeWeightsAreRead) {
  const Device cpu = Device::cpu();
  const auto loaded = [&](const SplitOptions& split) {
    return load_model(golden("llama/grouped"), {.device = cpu, .split = split});
  };
  const int64_t layers = layers_of("llama/grouped");
  EXPECT_ERROR(loaded({.devices = {cpu}, .layers = {1, 2, 3}}), kInvalidArgument,
               "split: expected a number of layers for each of 1 devices, got 3");
  EXPECT_ERROR(loaded({.devices = {cpu}, .layers = {layers + 1}}), kInvalidArgument,
               "layers on a device, got ");
  EXPECT_ERROR(loaded({.devices = {cpu}, .layers = {layers - 1}}), kInvalidArgument,
               " layers in all, got ");
  EXPECT_ERROR(loaded({.devices = {cpu}, .layers = {-1, layers}}), kInvalidArgument,
               "layers on a device, got -1");
  EXPECT_ERROR(load_model(golden("mamba"), {.device = cpu, .split = {.devices = {cpu, cpu}}}),
               kUnsupported, "cannot be split over devices");
}

}  // namespace
}  // namespace wick
