// Caches of keys and values in fewer bits.
#include <algorithm>
#include <cmath>

#include "../expect.h"
#include "../small_config.h"
#include "wick/abi/backend.h"
#include "wick/core/backend.h"
#include "wick/generate/session.h"
#include "wick/ops/autograd.h"
#include "wick/ops/create.h"

namespace wick {
namespace {

/// Layers of all positions and of a window, with heads of two groups of 32.
Decoder decoder_on(const Device& device, int64_t head_dim = 64) {
  device.set_seed(3);
  DecoderConfig config = test::small_config();
  config.vocab_size = 32, config.hidden_size = 32, config.intermediate_size = 48;
  config.num_hidden_layers = 2, config.num_attention_heads = 4, config.num_key_value_heads = 2;
  config.head_dim = head_dim, config.max_position_embeddings = 2000;
  config.initializer_range = 0.4;
  config.layer_types = {LayerType::kSliding, LayerType::kFull}, config.sliding_window = 20;
  Parameters parameters({.device = device});
  return Decoder(config, parameters);
}

TokenBatch batch_of(const Device& device, const std::vector<int64_t>& ids,
                    const std::vector<int64_t>& starts, const std::vector<int64_t>& offsets) {
  std::vector<int64_t> positions;
  for (size_t b = 0; b < starts.size(); b++)
    for (int64_t i = 0; i < offsets[b + 1] - offsets[b]; i++) positions.push_back(starts[b] + i);
  TokenBatch batch;
  batch.ids = Tensor::from(ids, device), batch.positions = Tensor::from(positions, device);
  batch.offsets = offsets, batch.starts = starts;
  return batch;
}

std::vector<int64_t> text_of(int64_t count, int64_t seed) {
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < count; i++) ids.push_back((i * i * 7 + i / 3 + seed) % 32);
  return ids;
}

/// The logits of all tokens, which are read in parts; the cache forgets a few in between.
std::vector<float> logits_of(const Decoder& decoder, const CacheOptions& options) {
  const NoGrad off;
  const auto cache = decoder.make_cache(options);
  const std::vector<int64_t> text = text_of(700, 1);
  std::vector<float> all;
  int64_t at = 0;
  const auto read = [&](int64_t count) {
    const std::vector<int64_t> ids(text.begin() + at, text.begin() + at + count);
    const Tensor hidden =
        decoder.hidden(batch_of(decoder.options().device, ids, {at}, {0, count}), cache.get());
    at += count;
    const std::vector<float> logits = decoder.logits(hidden).to_vector<float>();
    all.insert(all.end(), logits.begin(), logits.end());
  };
  read(40);
  for (int i = 0; i < 3; i++) read(1);
  at = cache->truncate(0, 41);
  for (const int64_t count : {2, 30, 1}) read(count);
  return all;
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = a.size() == b.size() ? 0 : 1e9;
  for (size_t i = 0; i < std::min(a.size(), b.size()); i++)
    largest = std::max(largest, std::fabs(double(a[i]) - double(b[i])));
  return largest;
}

class CacheTypes : public ::testing::TestWithParam<const char*> {};

TEST_P(CacheTypes, GiveTheLogitsOfTheModelsOwnNearly) {
  const Decoder decoder = decoder_on(Device::parse(GetParam()));
  const CacheOptions options{.capacity = 100, .chunk = 64};
  const std::vector<float> own = logits_of(decoder, options);
  double before = 0;
  // Each holds fewer bits than the one before.
  for (const auto& [type, most] :
       {std::pair{CacheType::kF16, 0.03}, {CacheType::kQ8, 0.4}, {CacheType::kF8, 3.0}}) {
    CacheOptions of_type = options;
    of_type.type = type;
    const double difference = largest_difference(logits_of(decoder, of_type), own);
    EXPECT_GT(difference, before) << int(type);
    EXPECT_LT(difference, most) << int(type);
    before = difference;
  }
}

TEST_P(CacheTypes, BlocksHoldTheNumbersThatRowsDo) {
  const Decoder decoder = decoder_on(Device::parse(GetParam()));
  for (const CacheType type : {CacheType::kF16, CacheType::kF8, CacheType::kQ8}) {
    const CacheOptions rows{.capacity = 100, .chunk = 64, .type = type};
    CacheOptions blocks = rows;
    blocks.block = 64;  // sums are of the same keys then
    EXPECT_LT(largest_difference(logits_of(decoder, rows), logits_of(decoder, blocks)), 1e-4)
        << int(type);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, CacheTypes, ::testing::Values("cpu", "emu:32", "emu:64"));

TEST(CacheType, AWindowThatMovesAndGoesBackKeepsItsNumbers) {
  const Decoder decoder = decoder_on(Device::cpu());
  const std::vector<int64_t> text = text_of(700, 2);
  for (const CacheType type : {CacheType::kF8, CacheType::kQ8}) {
    // The window of the first holds 20 + 64 + 512 positions and moves; the second holds all.
    Session moves(decoder, {.capacity = 1200, .chunk = 64, .kv = type, .seed = 1}),
        stays(decoder, {.capacity = 1200, .chunk = 1200, .kv = type, .seed = 1});
    for (Session* session : {&moves, &stays}) {
      session->append(text);
      for (int i = 0; i < 4; i++) session->step();
      session->rewind(698);
      session->append({5, 6});
      for (int i = 0; i < 8; i++) session->step();
    }
    EXPECT_EQ(moves.history(), stays.history());
  }
}

TEST(CacheType, TakesTheBytesOfItsBits) {
  const Decoder decoder = decoder_on(Device::cpu());
  const auto bytes = [&](CacheType type) {
    return decoder.make_cache({.capacity = 100, .type = type})->bytes();
  };
  const int64_t own = bytes(CacheType::kModel);
  EXPECT_EQ(bytes(CacheType::kF16), own / 2);
  EXPECT_EQ(bytes(CacheType::kF8), own / 4);
  EXPECT_EQ(bytes(CacheType::kQ8), own / 4 * 34 / 32);
}

TEST(CacheType, ForksCopyScalesToo) {
  const Decoder decoder = decoder_on(Device::cpu());
  const NoGrad off;
  const auto cache = decoder.make_cache({.sequences = 2, .capacity = 60, .type = CacheType::kQ8});
  const auto read = [&](const std::vector<int64_t>& ids, const std::vector<int64_t>& starts,
                        const std::vector<int64_t>& offsets) {
    return decoder.hidden(batch_of(Device::cpu(), ids, starts, offsets), cache.get())
        .to_vector<float>();
  };
  read({1, 2, 3, 4, 5, 6, 7, 8, 9}, {0, 0}, {0, 8, 9});
  cache->fork(0, 1);
  const std::vector<float> next = read({3, 3}, {8, 8}, {0, 1, 2});
  const std::vector<float> first(next.begin(), next.begin() + 32),
      second(next.begin() + 32, next.end());
  EXPECT_EQ(first, second);
}

TEST(CacheTypeGraphSteps, WriteTheTokensOfStepsWithoutGraphs) {
  const Device device = Device::emulated(32);
  if (device.info().plain_allocation) GTEST_SKIP() << "check mode captures no graph";
  const Decoder decoder = decoder_on(device);
  Session with(decoder, {.capacity = 200, .kv = CacheType::kQ8, .seed = 3}),
      without(decoder, {.capacity = 200, .kv = CacheType::kQ8, .seed = 3, .graphs = false});
  for (Session* session : {&with, &without}) {
    session->append(text_of(30, 3));
    for (int i = 0; i < 12; i++) session->step();
  }
  EXPECT_EQ(with.history(), without.history());
  EXPECT_GT(with.graph_steps(), 5);
}

TEST(CacheType, HasNamesAndErrors) {
  EXPECT_EQ(cache_type(""), CacheType::kModel);
  EXPECT_EQ(cache_type("q8_0"), CacheType::kQ8);
  EXPECT_ERROR(cache_type("q4_0"), kInvalidArgument, "expected f16, f8 or q8_0, got \"q4_0\"");
  const Decoder decoder = decoder_on(Device::cpu(), 24);
  EXPECT_ERROR(decoder.make_cache({.capacity = 100, .type = CacheType::kQ8}), kUnsupported,
               "whole groups of 32 elements, which those of 24 are not");
  EXPECT_NO_THROW(decoder.make_cache({.capacity = 100, .type = CacheType::kF8}));
}

}  // namespace
}  // namespace wick
