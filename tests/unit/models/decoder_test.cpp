#include "wick/models/decoder.h"

#include <cmath>

#include "../expect.h"
#include "wick/io/json.h"
#include "wick/io/safetensors.h"
#include "wick/nn/optimizer.h"
#include "wick/ops/autograd.h"
#include "wick/ops/cast.h"
#include "wick/ops/create.h"
#include "wick/ops/loss.h"
#include "wick/ops/shape.h"
#include "wick/ops/softmax.h"

namespace wick {
namespace {

// ---- config.json

/// A good config.json, with one key's value replaced; "" takes the key away.
std::string config_text(const std::string& key = "", const std::string& value = "") {
  std::vector<std::pair<std::string, std::string>> entries = {
      {"model_type", "\"llama\""}, {"vocab_size", "48"},       {"hidden_size", "16"},
      {"intermediate_size", "24"}, {"num_hidden_layers", "2"}, {"num_attention_heads", "4"}};
  bool replaced = false;
  std::string text;
  for (auto& [k, v] : entries) {
    if (k == key) v = value, replaced = true;
    if (!v.empty()) text += (text.empty() ? "\"" : ",\"") + k + "\":" + v;
  }
  if (!key.empty() && !replaced) text += ",\"" + key + "\":" + value;
  return "{" + text + "}";
}
DecoderConfig config_with(const std::string& key, const std::string& value) {
  return decoder_config(parse_json(config_text(key, value), "config.json"));
}

TEST(DecoderConfig, OfMoreWeightsThanADeviceHoldsIsAnError) {
  EXPECT_ERROR(config_with("num_hidden_layers", "2147483648"), kFormat, "expected at most 65536");
  DecoderConfig c;
  c.vocab_size = int64_t{1} << 40;
  Parameters parameters(ParameterOptions{});
  EXPECT_ERROR(Decoder(c, parameters), kOutOfMemory, " weights of f32 exceed the ");
  c.vocab_size = int64_t{1} << 55;
  EXPECT_ERROR(num_parameters(c), kInvalidArgument, "more than 2^60 weights");
  c.num_hidden_layers = int64_t{1} << 40;
  EXPECT_ERROR(num_parameters(c), kInvalidArgument, "expected at most 65536, got 1099511627776");
}

TEST(DecoderConfig, TakesTransformersDefaultsWhereTheFileIsSilent) {
  const DecoderConfig c = config_with("", "");
  EXPECT_EQ(c.num_key_value_heads, 4);
  EXPECT_EQ(c.head_dim, 4);
  EXPECT_EQ(c.max_position_embeddings, 2048);
  EXPECT_EQ(c.rms_norm_eps, 1e-6);
  EXPECT_EQ(c.rope_theta, 10000);
  EXPECT_FALSE(c.tie_word_embeddings);
  EXPECT_EQ(c.dtype, DType::kF32);
  EXPECT_TRUE(c.eos_token_ids.empty());
}

TEST(DecoderConfig, ReadsWhatTransformers4And5Write) {
  EXPECT_EQ(config_with("rope_theta", "500000").rope_theta, 500000);
  EXPECT_EQ(
      config_with("rope_parameters", R"({"rope_theta": 500.0, "rope_type": "default"})").rope_theta,
      500);
  EXPECT_EQ(config_with("torch_dtype", "\"bfloat16\"").dtype, DType::kBf16);
  EXPECT_EQ(config_with("dtype", "\"float16\"").dtype, DType::kF16);
  EXPECT_EQ(config_with("eos_token_id", "[1, 2]").eos_token_ids, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(config_with("eos_token_id", "2").eos_token_ids, (std::vector<int64_t>{2}));
  EXPECT_EQ(config_with("rope_scaling", "null").rope_theta, 10000);
}

TEST(DecoderConfig, AWrongValueIsAnErrorThatNamesFileKeyExpectedAndGot) {
  struct Case {
    const char *key, *value, *part;
  };
  const Case cases[] = {
      {"model_type", "\"mamba\"",
       "config.json: \"model_type\": expected \"llama\", got the string \"mamba\""},
      {"model_type", "", "\"model_type\": expected a string, got nothing"},
      {"vocab_size", "\"48\"",
       "\"vocab_size\": expected an integer of at least 1, got the string \"48\""},
      {"hidden_size", "16.5",
       "\"hidden_size\": expected an integer of at least 1, got the number 16.5"},
      {"hidden_size", "", "\"hidden_size\": expected an integer of at least 1, got nothing"},
      {"num_hidden_layers", "0", "got 0"},
      {"intermediate_size", "99999999999", "expected at most 2147483647, got 99999999999"},
      {"num_attention_heads", "3",
       "\"num_attention_heads\": expected a divisor of hidden_size 16, got 3"},
      {"num_attention_heads", "16", "\"head_dim\": expected an even number, got 1"},
      {"num_key_value_heads", "3", "expected a divisor of num_attention_heads 4, got 3"},
      {"rms_norm_eps", "0", "\"rms_norm_eps\": expected a number above 0, got 0"},
      {"rms_norm_eps", "\"small\"",
       "\"rms_norm_eps\": expected a number, got the string \"small\""},
      {"hidden_act", "\"gelu\"", "\"hidden_act\": expected \"silu\", got the string \"gelu\""},
      {"tie_word_embeddings", "1", "\"tie_word_embeddings\": expected true or false, got 1"},
      {"torch_dtype", "\"int8\"", "\"torch_dtype\": expected \"float32\""},
      {"rope_scaling", R"({"rope_type": "yarn"})",
       "config.json: \"rope_scaling\": \"rope_type\": expected \"default\", got the string "
       "\"yarn\""},
      {"rope_parameters", "5", "\"rope_parameters\": expected an object, got 5"},
      {"eos_token_id", "\"</s>\"", "\"eos_token_id\": expected an integer or a list of integers"},
  };
  for (const Case& c : cases) EXPECT_ERROR(config_with(c.key, c.value), kFormat, c.part);
}

TEST(DecoderConfig, IsTheSameAfterItWasWritten) {
  DecoderConfig c;
  c.num_key_value_heads = 2, c.head_dim = 48, c.rope_theta = 5e5, c.attention_bias = true;
  c.tie_word_embeddings = true, c.dtype = DType::kBf16, c.eos_token_ids = {1, 2},
  c.bos_token_ids = {0};
  const std::string text = to_json(to_settings(c));
  EXPECT_EQ(to_json(to_settings(decoder_config(parse_json(text, "x")))), text);
}

// ---- against transformers

struct Golden {
  DecoderConfig config;
  NamedTensors tensors, expected;
  explicit Golden(const std::string& name) {
    const std::string folder = std::string(WICK_GOLDEN) + "/llama/" + name;
    config = decoder_config(read_json(folder + "/config.json"));
    tensors = load_safetensors(folder);
    expected = load_safetensors(folder + "/expected.safetensors");
  }
  Decoder decoder(const Device& device = Device::cpu(), DType dtype = DType::kF32) const {
    Parameters parameters(source_of(tensors, "golden"), {.dtype = dtype, .device = device});
    const Decoder result(config, parameters);
    EXPECT_TRUE(parameters.left().empty());
    return result;
  }
  std::vector<int64_t> ids(int row) const {
    return expected.at("ids." + std::to_string(row)).to_vector<int64_t>();
  }
  Tensor logits(int row) const { return expected.at("logits." + std::to_string(row)); }
};

double largest_difference(const Tensor& a, const Tensor& b) {
  const auto x = cast(a, DType::kF64).to_vector<double>(),
             y = cast(b, DType::kF64).to_vector<double>();
  double largest = x.size() == y.size() ? 0 : INFINITY;
  for (size_t i = 0; i < x.size(); i++) {
    const double difference = std::fabs(x[i] - y[i]);
    largest = difference > largest || std::isnan(difference) ? difference : largest;
  }
  return largest;
}

// Logits are of size 10: f32's rounding over a few hundred terms.
constexpr double kNear = 5e-5;

/// Model and device.
class AgainstTransformers : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  const Golden golden{std::get<0>(GetParam())};
  const Device device = Device::parse(std::get<1>(GetParam()));
  Tensor ids_of(const std::vector<int64_t>& values, const Shape& shape) const {
    return Tensor::from(values, shape, device);
  }
};

TEST_P(AgainstTransformers, ForwardGivesItsLogits) {
  const Decoder decoder = golden.decoder(device);
  for (int row = 0; row < 3; row++) {
    const auto ids = golden.ids(row);
    const int64_t t = int64_t(ids.size());
    const Tensor logits = decoder.forward(ids_of(ids, {1, t}), positions_from_0(1, t, device));
    EXPECT_LT(largest_difference(squeeze(logits, 0), golden.logits(row)), kNear);
  }
}

TEST_P(AgainstTransformers, PrefillThenTokenByTokenOfUnevenRowsGivesItsLogits) {
  const Decoder decoder = golden.decoder(device);
  const NoGrad off;
  // Each row is read up to its half at once, filled up behind to the longest; then a token a step.
  std::vector<std::vector<int64_t>> rows;
  std::vector<int64_t> first, at;
  int64_t longest = 0;
  for (int row = 0; row < 3; row++) {
    rows.push_back(golden.ids(row));
    at.push_back(int64_t(rows.back().size()) / 2);
    longest = std::max(longest, at.back());
  }
  for (int row = 0; row < 3; row++)
    for (int64_t t = 0; t < longest; t++)
      first.push_back(t < at[size_t(row)] ? rows[size_t(row)][size_t(t)] : 47);
  const std::unique_ptr<KvCache> cache = decoder.make_cache(3, 64);
  const Tensor prefill = decoder.forward(ids_of(first, {3, longest}),
                                         positions_from_0(3, longest, device), cache.get());
  for (int row = 0; row < 3; row++)
    EXPECT_LT(
        largest_difference(narrow(squeeze(narrow(prefill, 0, row, 1), 0), 0, 0, at[size_t(row)]),
                           narrow(golden.logits(row), 0, 0, at[size_t(row)])),
        kNear);
  for (int step = 0; step < 8; step++) {
    std::vector<int64_t> ids;
    for (int row = 0; row < 3; row++) ids.push_back(rows[size_t(row)][size_t(at[size_t(row)])]);
    const Tensor logits = decoder.forward(ids_of(ids, {3, 1}), ids_of(at, {3, 1}), cache.get());
    for (int row = 0; row < 3; row++) {
      int64_t& place = at[size_t(row)];
      EXPECT_LT(largest_difference(narrow(logits, 0, row, 1),
                                   reshape(narrow(golden.logits(row), 0, place, 1), {1, 1, 48})),
                kNear)
          << "row " << row << ", position " << place;
      if (place + 1 < int64_t(rows[size_t(row)].size())) place++;  // a row that has ended stays
    }
  }
}

TEST_P(AgainstTransformers, OfF64GivesThemToo) {
  const auto ids = golden.ids(1);
  const int64_t t = int64_t(ids.size());
  const Tensor logits = golden.decoder(device, DType::kF64)
                            .forward(ids_of(ids, {1, t}), positions_from_0(1, t, device));
  EXPECT_EQ(logits.dtype(), DType::kF64);
  EXPECT_LT(largest_difference(squeeze(logits, 0), golden.logits(1)), kNear);
}

INSTANTIATE_TEST_SUITE_P(Models, AgainstTransformers,
                         ::testing::Combine(::testing::Values("grouped", "biased"),
                                            ::testing::Values("cpu", "emu:32", "emu:64")));

TEST(Decoder, TakesWhatItsConfigSaysAndNothingElse) {
  Golden golden("grouped");
  golden.tensors.erase("model.layers.1.mlp.up_proj.weight");
  Parameters parameters(source_of(golden.tensors, "m"), {});
  EXPECT_ERROR(Decoder(golden.config, parameters), kFormat,
               "m: no tensor is named \"model.layers.1.mlp.up_proj.weight\"");
}

TEST(Decoder, IdsAndPositionsAreOfOneShape) {
  const Decoder decoder = Golden("grouped").decoder();
  const auto ids = [](const Shape& shape) { return zeros(shape, {.dtype = DType::kI64}); };
  const auto refused = [&](const Tensor& of, const Tensor& at, const std::string& got) {
    EXPECT_ERROR(decoder.hidden(of, at, nullptr), kShapeMismatch,
                 "decoder: expected ids and positions [B, T], got " + got);
  };
  refused(ids({1, 3}), ids({1, 2}), "[1, 3] and [1, 2]");
  refused(ids({3}), ids({3}), "[3] and [3]");
  refused(Tensor(), ids({1, 3}), "nothing and [1, 3]");
  refused(ids({1, 3}), Tensor(), "[1, 3] and nothing");
}

TEST(Decoder, IdsOutsideOfTheVocabularyAreAnError) {
  const Golden golden("grouped");
  EXPECT_ERROR(golden.decoder().forward(Tensor::from(std::vector<int64_t>{48}, {1, 1}),
                                        positions_from_0(1, 1, Device::cpu())),
               kOutOfRange, "48");
}

// ---- training

Decoder fresh(Parameters& parameters) {
  Device::cpu().set_seed(5);
  DecoderConfig config;
  config.vocab_size = 16, config.hidden_size = 16, config.intermediate_size = 24;
  config.num_hidden_layers = 2, config.num_key_value_heads = 2, config.head_dim = 8;
  return Decoder(config, parameters);
}

TEST(Decoder, LearnsASequence) {
  Parameters parameters({.trainable = true});
  const Decoder decoder = fresh(parameters);
  AdamW optimizer(parameters.vars(), {});
  std::vector<int64_t> ids, targets;
  for (int64_t i = 0; i < 24; i++)
    ids.push_back(i * i % 16), targets.push_back((i + 1) * (i + 1) % 16);
  const Tensor x = Tensor::from(ids, {2, 12}), y = Tensor::from(targets),
               at = positions_from_0(2, 12, Device::cpu());
  const auto loss = [&] { return cross_entropy(reshape(decoder.forward(x, at), {24, 16}), y); };
  EXPECT_NEAR(loss().item<float>(), std::log(16.0), 0.1);  // it begins by knowing nothing
  for (int i = 0; i < 60; i++) {
    backward(loss());
    optimizer.step(1e-2);
  }
  EXPECT_LT(loss().item<float>(), 0.5);
}

TEST(Decoder, GradientsReachEveryParameter) {
  Parameters parameters({.trainable = true});
  const Decoder decoder = fresh(parameters);
  const Tensor x = Tensor::from(std::vector<int64_t>{1, 2, 3, 4}, {1, 4});
  backward(cross_entropy(squeeze(decoder.forward(x, positions_from_0(1, 4, Device::cpu())), 0),
                         Tensor::from(std::vector<int64_t>{2, 3, 4, 5})));
  for (const auto& [name, parameter] : parameters.vars()) {
    ASSERT_TRUE(parameter.grad()) << name;
    EXPECT_GT(global_norm({parameter.grad()}).item<float>(), 0) << name;
  }
}

}  // namespace
}  // namespace wick
