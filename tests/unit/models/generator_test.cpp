#include "wick/models/generator.h"

#include <algorithm>
#include <set>

#include "../expect.h"
#include "../recorder.h"
#include "wick/abi/ops/sample.h"
#include "wick/core/backend.h"
#include "wick/ops/autograd.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

Decoder small_decoder(const Device& device) {
  device.set_seed(11);
  DecoderConfig config;
  config.vocab_size = 32, config.hidden_size = 16, config.intermediate_size = 24;
  config.num_hidden_layers = 2, config.num_key_value_heads = 2, config.head_dim = 8;
  config.max_position_embeddings = 300, config.initializer_range = 0.5;
  Parameters parameters({.device = device});
  return Decoder(config, parameters);
}

std::vector<int64_t> write(Generator& generator, const std::vector<int64_t>& prompt, int tokens) {
  generator.prefill({prompt});
  std::vector<int64_t> ids = generator.tokens();
  while (int(ids.size()) < tokens) {
    generator.step();
    ids.push_back(generator.tokens()[0]);
  }
  return ids;
}

TEST(Generator, GreedyTokensAreThoseOfTheWholeTextReadAnew) {
  const Decoder decoder = small_decoder(Device::cpu());
  Generator generator(decoder, {.sample = {.temperature = 0}});
  std::vector<int64_t> text = {3, 1, 4};
  const NoGrad off;
  for (const int64_t id : write(generator, text, 8)) {
    const int64_t t = int64_t(text.size());
    const Tensor logits =
        decoder.forward(Tensor::from(text, {1, t}), positions_from_0(1, t, Device::cpu()));
    const auto last = narrow(squeeze(logits, 0), 0, t - 1, 1).to_vector<float>();
    EXPECT_EQ(id, std::max_element(last.begin(), last.end()) - last.begin());
    text.push_back(id);
  }
}

TEST(Generator, TheSameSeedWritesTheSameText) {
  const Decoder decoder = small_decoder(Device::cpu());
  const auto text = [&](uint64_t seed) {
    Device::cpu().set_seed(seed);
    Generator generator(decoder, {.sample = {.temperature = 1}});
    return write(generator, {1}, 40);
  };
  EXPECT_EQ(text(5), text(5));
  EXPECT_NE(text(5), text(6));
}

TEST(Generator, RowsOfABatchAreThoseWrittenAlone) {
  const Decoder decoder = small_decoder(Device::cpu());
  Generator together(decoder, {.batch = 2, .sample = {.temperature = 0}});
  Generator alone(decoder, {.sample = {.temperature = 0}});
  const std::vector<std::vector<int64_t>> prompts = {{7, 7, 2, 9, 30}, {4}};
  together.prefill(prompts);
  std::vector<std::vector<int64_t>> rows(2);
  for (int i = 0; i < 6; i++) {
    if (i > 0) together.step();
    const auto tokens = together.tokens();
    for (size_t row = 0; row < 2; row++) rows[row].push_back(tokens[row]);
  }
  for (size_t row = 0; row < 2; row++) EXPECT_EQ(rows[row], write(alone, prompts[row], 6));
}

TEST(Generator, StopsAtItsCapacityWithAnError) {
  Generator generator(small_decoder(Device::cpu()), {.capacity = 5});
  write(generator, {1, 2, 3}, 3);
  EXPECT_EQ(generator.length(), 5);
  EXPECT_ERROR(generator.step(), kOutOfRange, "length 6 exceeds the capacity 5");
  EXPECT_ERROR(generator.prefill({{1, 2, 3, 4, 5, 6}}), kOutOfRange, "a prompt of 6 tokens");
  EXPECT_ERROR(generator.prefill({{}}), kInvalidArgument,
               "expected at least one token in each prompt");
  EXPECT_ERROR(generator.prefill({{1}, {2}}), kShapeMismatch, "expected 1 prompts, got 2");
  write(generator, {1}, 2);  // it is good for another text
}

// ---- what a graph of a step relies on

class Launches : public ::testing::TestWithParam<const char*> {};

TEST_P(Launches, OfTwoStepsWithinABucketAreTheSameToTheByte) {
  const Device under = Device::parse(GetParam());
  if (kernels_of(under, kSample, DType::kF32).empty())
    GTEST_SKIP() << GetParam() << " has no kernel of sample";
  const Device device = test::recorder_of(under);
  const Decoder decoder = small_decoder(device);
  Generator generator(decoder, {.capacity = 300, .sample = {.temperature = 1, .top_k = 5}});
  generator.prefill({std::vector<int64_t>(120, 3)});
  const auto launches_of_a_step = [&] {
    test::clear_records();
    generator.step();
    return test::records();
  };
  launches_of_a_step();  // the allocator's blocks settle
  launches_of_a_step();
  std::set<int64_t> tokens;
  const auto expected = launches_of_a_step();
  ASSERT_GT(expected.size(), 20u);
  for (const std::string& line : expected) EXPECT_NE(line.rfind("copy", 0), 0u) << line;
  while (generator.length() < 128) {
    EXPECT_EQ(launches_of_a_step(), expected) << "at position " << generator.length() - 1;
    tokens.insert(generator.tokens()[0]);
  }
  EXPECT_GT(tokens.size(), 1u);  // yet the steps did not do the same
  // The next bucket is another shape: so the record can tell steps apart.
  EXPECT_NE(launches_of_a_step(), expected);
}

INSTANTIATE_TEST_SUITE_P(Devices, Launches, ::testing::Values("cpu", "emu:32"));

}  // namespace
}  // namespace wick
