#include "wick/models/model_cache.h"

#include "../expect.h"
#include "models/caches/layer_cache.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/create.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

constexpr KeysValuesSizes kSizes = {.sequences = 2, .heads = 1, .capacity = 300, .head_dim = 2};
using Values = std::vector<float>;

Values row(const Tensor& x, int64_t b, int64_t position) {
  return narrow(narrow(x, 0, b, 1), 2, position, 1).to_vector<float>();
}
/// [B, G, T, D] of two rows with two tokens each: 0 to 7.
Tensor some_keys() { return reshape(cast(arange(8), DType::kF32), {2, 1, 2, 2}); }
Tensor at(const std::vector<int64_t>& positions) { return Tensor::from(positions, {2, 2}); }

TEST(RowsCache, ItsBucketIsThePowerOfTwoThatCovers) {
  RowsCache cache(kSizes, {});
  EXPECT_EQ(cache.bucket(), 128);
  cache.prepare({0, 0}, {128, 5});
  EXPECT_EQ(cache.bucket(), 128);
  cache.prepare({0, 0}, {5, 129});
  EXPECT_EQ(cache.bucket(), 256);
  cache.prepare({0, 0}, {257, 2});
  EXPECT_EQ(cache.bucket(), 300);
  EXPECT_EQ(RowsCache({.sequences = 1, .heads = 1, .capacity = 5, .head_dim = 2}, {}).bucket(), 5);
}

TEST(RowsCache, WritesEachRowAtItsOwnPositions) {
  RowsCache cache(kSizes, {});
  const Tensor keys = some_keys(), first = at({0, 1, 4, 5});
  const AttentionCache::KeysValues all = cache.write(keys, keys * 10, first, first);
  EXPECT_EQ(all.keys.shape(), Shape({2, 1, 128, 2}));
  EXPECT_EQ(row(all.keys, 0, 1), (Values{2, 3}));
  EXPECT_EQ(row(all.keys, 0, 4), (Values{0, 0}));
  EXPECT_EQ(row(all.keys, 1, 4), (Values{4, 5}));
  EXPECT_EQ(row(all.values, 1, 5), (Values{60, 70}));
  const Tensor later = at({2, 3, 6, 7});
  EXPECT_EQ(row(cache.write(keys * 0, keys * 0, later, later).keys, 0, 1), (Values{2, 3}));
  EXPECT_EQ(cache.bytes(), 2 * 2 * 300 * 2 * 4);
}

TEST(RowsCache, SharedValuesAreTheBeginningOfTheKeysAndTakeNoMemory) {
  KeysValuesSizes sizes = kSizes;
  sizes.shared_values = 1;
  RowsCache cache(sizes, {});
  EXPECT_EQ(cache.bytes(), 2 * 300 * 2 * 4);
  const AttentionCache::KeysValues all =
      cache.write(some_keys(), {}, at({0, 1, 4, 5}), at({0, 1, 4, 5}));
  EXPECT_EQ(all.values.shape(), Shape({2, 1, 128, 1}));
  EXPECT_EQ(row(all.keys, 1, 5), (Values{6, 7}));
  EXPECT_EQ(row(all.values, 1, 5), (Values{6}));
  cache.fork(1, 0);
  const Tensor later = at({8, 9, 8, 9});
  EXPECT_EQ(row(cache.write(some_keys(), {}, later, later).values, 0, 5), (Values{6}));
}

TEST(RowsCache, KnowsWhetherASequenceHasEarlierTokens) {
  RowsCache cache(kSizes, {});
  EXPECT_FALSE(cache.has_earlier());
  cache.prepare({0, 3}, {2, 4});
  EXPECT_TRUE(cache.has_earlier());
  cache.prepare({0, 0}, {2, 4});
  EXPECT_FALSE(cache.has_earlier());
}

TEST(RowsCache, APositionBeyondTheCapacityIsAnError) {
  RowsCache cache(kSizes, {});
  const Tensor keys = zeros({2, 1, 1, 2});
  const Tensor beyond = Tensor::from(std::vector<int64_t>{0, 300}, {2, 1});
  EXPECT_ERROR(cache.write(keys, keys, beyond, beyond), kOutOfRange, "scatter");
}

TEST(WindowCache, MovesWhatItsWindowHoldsToTheFront) {
  constexpr int64_t kWindow = 3, kChunk = 2;
  const int64_t room = WindowCache::room(kWindow, kChunk);
  WindowCache cache({.sequences = 2, .heads = 1, .capacity = room, .head_dim = 2}, kWindow, {});
  const Tensor keys = some_keys();
  cache.prepare({room - 2, 0}, {room, 2});
  cache.write(keys, keys * 10, at({room - 2, room - 1, 0, 1}), at({room - 2, room - 1, 0, 1}));
  cache.prepare({room, 2}, {room + 2, 4});
  const Tensor next = at({room, room + 1, 2, 3});
  const AttentionCache::KeysValues all = cache.write(keys + 20, keys, next, next);
  const std::vector<int64_t> places = all.positions.to_vector<int64_t>();
  EXPECT_LT(places[0], room - 2);
  EXPECT_EQ(places[1], places[0] + 1);
  EXPECT_EQ(places[2], 2);
  EXPECT_EQ(row(all.keys, 0, places[0] - 2), (Values{0, 1}));
  EXPECT_EQ(row(all.keys, 0, places[0] - 1), (Values{2, 3}));
  EXPECT_EQ(row(all.keys, 0, places[0]), (Values{20, 21}));
  EXPECT_EQ(row(all.keys, 1, 1), (Values{6, 7}));
  EXPECT_FALSE(cache.can_truncate(0, 10, room + 2));
  EXPECT_TRUE(cache.can_truncate(0, room, room + 2));
  EXPECT_TRUE(cache.can_truncate(1, 0, 4));
}

std::unique_ptr<ModelCache> mixed_cache() {
  std::vector<std::unique_ptr<LayerCache>> layers;
  layers.push_back(std::make_unique<RowsCache>(kSizes, TensorOptions()));
  layers.push_back(std::make_unique<StateCache>(
      2, std::vector<StateCache::Kind>{{{3}, DType::kF32}}, Device::cpu()));
  return std::make_unique<ModelCache>(CacheOptions{.sequences = 2, .capacity = 300},
                                      std::move(layers));
}
StateCache& state_of(ModelCache& cache) { return static_cast<StateCache&>(cache.layer(1)); }

TEST(ModelCache, AStateGoesBackToTheMarkOrToNothing) {
  const auto cache = mixed_cache();
  cache->prepare({0, 0}, {10, 10});
  state_of(*cache).set_state(0, full({2, 3}, 1.5));
  cache->mark(0);
  cache->prepare({10, 10}, {20, 20});
  state_of(*cache).set_state(0, full({2, 3}, 2.5));
  EXPECT_EQ(cache->truncate(0, 20), 20);
  EXPECT_EQ(cache->truncate(0, 15), 10);
  EXPECT_EQ(cache->truncate(1, 15), 0);
  EXPECT_EQ(state_of(*cache).state(0).to_vector<float>(), (Values{1.5, 1.5, 1.5, 0, 0, 0}));
  EXPECT_EQ(cache->lengths(), (std::vector<int64_t>{10, 0}));
  EXPECT_EQ(cache->truncate(0, 5), 0);
  EXPECT_ERROR(cache->truncate(0, 5), kOutOfRange, "length 5 of a sequence of 0 tokens");
  cache->prepare({0, 0}, {3, 3});
  cache->prepare({2, 3}, {3, 5});  // sequence 0 repeats its last token
  EXPECT_EQ(cache->new_tokens(), (std::vector<int64_t>{0, 2}));
  cache->drop(1);
  EXPECT_EQ(cache->lengths(), (std::vector<int64_t>{3, 0}));
}

TEST(ModelCache, AForkIsACopy) {
  const auto cache = mixed_cache();
  cache->prepare({0, 0}, {4, 2});
  state_of(*cache).set_state(0, reshape(cast(arange(6), DType::kF32), {2, 3}));
  cache->fork(0, 1);
  EXPECT_EQ(cache->lengths(), (std::vector<int64_t>{4, 4}));
  EXPECT_EQ(state_of(*cache).state(0).to_vector<float>(), (Values{0, 1, 2, 0, 1, 2}));
  EXPECT_ERROR(cache->fork(0, 2), kOutOfRange, "sequence 2 of 2");
}

TEST(BlockTable, SequencesTakeBlocksAndGiveThemBack) {
  BlockTable table(2, 10, 4, 4, {Device::cpu()});
  table.prepare(0, {0, 0}, {5, 4});
  EXPECT_EQ(table.free_blocks(), 1);
  EXPECT_EQ(table.tensor(Device::cpu()).to_vector<int64_t>(),
            (std::vector<int64_t>{1, 2, 0, 3, 0, 0}));
  EXPECT_ERROR(table.prepare(0, {5, 4}, {9, 5}), kOutOfMemory,
               "the texts need 2 more blocks of 4 positions, and 1 of 4 are free");
  EXPECT_EQ(table.free_blocks(), 1);
  table.truncate(0, 4);
  EXPECT_EQ(table.free_blocks(), 2);
  table.fork(0, 1);  // whose own block is free again
  EXPECT_EQ(table.free_blocks(), 3);
  table.prepare(0, {3, 4}, {4, 5});  // sequence 0 writes to a block of both
  EXPECT_EQ(table.copies(), (std::vector<std::pair<int64_t, int64_t>>{{1, 3}}));
  EXPECT_EQ(table.free_blocks(), 1);
}

TEST(ModelCache, LengthsBeyondTheCapacityAreAnError) {
  const auto cache = mixed_cache();
  EXPECT_ERROR(cache->prepare({0, 0}, {301, 1}), kOutOfRange,
               "length 301 exceeds the capacity 300");
}

}  // namespace
}  // namespace wick
