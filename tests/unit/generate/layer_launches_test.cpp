// How many launches a layer of a step of one token takes on a card.
#include <algorithm>

#include "../expect.h"
#include "../recorder.h"
#include "wick/generate/session.h"
#include "wick/models/decoder.h"
#include "wick/ops/autograd.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/create.h"
#include "wick/ops/random.h"

namespace wick {
namespace {

/// The dtypes of a model's matrices: of values' projections, which many files have in another one,
/// and of all others.
struct WeightDTypes {
  const char* name;
  DType values, others;
};

DecoderConfig llama() {
  return {.model_type = "llama",
          .vocab_size = 64,
          .hidden_size = 256,
          .intermediate_size = 512,
          .num_attention_heads = 4,
          .num_key_value_heads = 2,
          .head_dim = 64,
          .max_position_embeddings = 256};
}
DecoderConfig qwen3() {
  DecoderConfig config = llama();
  config.model_type = "qwen3", config.qk_norm = QkNorm::kHead;
  return config;
}
DecoderConfig gemma3() {
  DecoderConfig config = qwen3();
  config.model_type = "gemma3_text", config.hidden_act = HiddenAct::kGeluTanh;
  config.norm_places = NormPlaces::kBoth, config.norm_adds_one = true;
  config.sliding_window = 64, config.rope_local_base_freq = 1e4, config.embedding_scale = 16;
  return config;
}
DecoderConfig qwen3_moe() {
  DecoderConfig config = qwen3();
  config.model_type = "qwen3_moe", config.num_experts = 8, config.num_experts_per_tok = 2;
  config.moe_intermediate_size = 256, config.norm_topk_prob = true;
  return config;
}

struct Model {
  const char* name;
  DecoderConfig config;
  size_t launches;   // of a layer
  size_t of_blocks;  // with weights of blocks, whose products do the norm before them
};

Decoder decoder_of(DecoderConfig config, int64_t layers, const WeightDTypes& dtypes,
                   const Device& device) {
  config.num_hidden_layers = layers;
  if (config.sliding_window > 0) {
    config.layer_types.assign(size_t(layers), LayerType::kSliding);
    config.layer_types[0] = LayerType::kFull;
  }
  Parameters shapes = Parameters::of_shapes();
  const Decoder empty(config, shapes);
  NamedTensors weights;
  for (const auto& [name, info] : shapes.taken()) {
    const bool is_values = name.find("v_proj") != name.npos;
    const DType dtype = info.shape.size() < 2 ? DType::kBf16
                        : is_values           ? dtypes.values
                                              : dtypes.others;
    weights.emplace(name, cast(randn(info.shape) * 0.1, dtype));
  }
  Parameters parameters(source_of(weights, "random"), {.dtype = DType::kBf16, .device = device});
  return Decoder(config, parameters);
}

/// The launches of a step of one token.
std::vector<std::string> launches_of_step(const DecoderConfig& config, int64_t layers,
                                          const WeightDTypes& dtypes, const Device& device) {
  const Decoder decoder = decoder_of(config, layers, dtypes, device);
  Session session(decoder, {.capacity = 100, .sampling = {.temperature = 0}, .graphs = false});
  session.append(std::vector<int64_t>{3, 1, 4});
  session.advance();  // the kernels that prepare what stays are queued
  test::clear_records();
  session.advance();
  return test::records();
}

void PrintTo(const Model& model, std::ostream* os) { *os << model.name; }
void PrintTo(const WeightDTypes& dtypes, std::ostream* os) { *os << dtypes.name; }

constexpr WeightDTypes kWeights[] = {{"bf16", DType::kBf16, DType::kBf16},
                                     {"q4_0", DType::kQ4_0, DType::kQ4_0},
                                     {"q8_0", DType::kQ8_0, DType::kQ8_0},
                                     {"q4_0_and_q5_1", DType::kQ5_1, DType::kQ4_0}};
const Model kModels[] = {{"llama", llama(), 8, 6},
                         {"qwen3", qwen3(), 8, 6},
                         {"gemma3", gemma3(), 8, 8},
                         {"qwen3_moe", qwen3_moe(), 10, 9}};

class LayerLaunches : public ::testing::TestWithParam<std::tuple<Model, WeightDTypes>> {};

TEST_P(LayerLaunches, AreFew) {
  const auto& [model, dtypes] = GetParam();
  const Device under = Device::parse("emu:32");
  const Device device = test::recorder_of(under);
  const NoGrad off;
  const auto two = launches_of_step(model.config, 2, dtypes, device);
  const auto three = launches_of_step(model.config, 3, dtypes, device);
  ASSERT_GT(three.size(), two.size());
  const auto all = [&] {
    std::string lines;
    for (const std::string& line : three) lines += line.substr(0, line.find(' ')) + " ";
    return lines;
  };
  EXPECT_EQ(three.size() - two.size(), is_block(dtypes.others) ? model.of_blocks : model.launches)
      << all();
}

/// The launches of a step of two sequences; block: of the cache's pool, 0: it has rows.
size_t launches_beside(int64_t block, const DecoderConfig& config, int64_t layers,
                       const WeightDTypes& dtypes, const Device& device) {
  const Decoder decoder = decoder_of(config, layers, dtypes, device);
  const auto cache = decoder.make_cache({.sequences = 2, .capacity = 100, .block = block});
  EXPECT_EQ(cache->has_blocks_alone(), block > 0);
  const Tensor ids = Tensor::from(std::vector<int64_t>{3, 1}, {2, 1}, device);
  for (int64_t at = 0; at < 2; at++) {
    cache->prepare({at, at}, {at + 1, at + 1});
    const Tensor positions = full({2, 1}, double(at), {.dtype = DType::kI64, .device = device});
    test::clear_records();
    decoder.hidden(ids, positions, cache.get());
  }
  return test::records().size();
}

TEST_P(LayerLaunches, AreAsManyWithAPoolAsWithRows) {
  const auto& [model, dtypes] = GetParam();
  if (model.config.sliding_window > 0) return;  // windows lie in no blocks
  const Device device = test::recorder_of(Device::parse("emu:32"));
  const NoGrad off;
  const auto of_layer = [&](int64_t block) {
    return launches_beside(block, model.config, 3, dtypes, device) -
           launches_beside(block, model.config, 2, dtypes, device);
  };
  EXPECT_EQ(of_layer(64), of_layer(0));
}

INSTANTIATE_TEST_SUITE_P(Models, LayerLaunches,
                         ::testing::Combine(::testing::ValuesIn(kModels),
                                            ::testing::ValuesIn(kWeights)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) + "_" +
                                  std::get<1>(info.param).name;
                         });

}  // namespace
}  // namespace wick
