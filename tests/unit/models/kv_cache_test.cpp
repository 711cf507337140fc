#include "wick/models/kv_cache.h"

#include "../expect.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/create.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

constexpr KvCacheSizes kSizes = {
    .layers = 2, .batch = 2, .heads = 1, .capacity = 300, .head_dim = 2};

TEST(KvCache, ItsBucketIsThePowerOfTwoThatCovers) {
  FixedKvCache cache(kSizes);
  EXPECT_EQ(cache.bucket(), 128);
  cache.cover(128);
  EXPECT_EQ(cache.bucket(), 128);
  cache.cover(129);
  EXPECT_EQ(cache.bucket(), 256);
  cache.cover(257);
  EXPECT_EQ(cache.bucket(), 300);
  EXPECT_ERROR(cache.cover(301), kOutOfRange, "length 301 exceeds the capacity 300");
  EXPECT_EQ(
      FixedKvCache({.layers = 1, .batch = 1, .heads = 1, .capacity = 5, .head_dim = 2}).bucket(),
      5);
}

TEST(KvCache, WritesEachRowAtItsOwnPositions) {
  FixedKvCache cache(kSizes);
  // [B, G, T, D]: rows 0 and 1 write two tokens each, at 0, 1 and at 4, 5.
  const Tensor keys = reshape(cast(arange(8), DType::kF32), {2, 1, 2, 2});
  const Tensor at = Tensor::from(std::vector<int64_t>{0, 1, 4, 5}, {2, 2});
  const KvCache::KeysValues all = cache.write(1, keys, keys * 10, at);
  EXPECT_EQ(all.keys.shape(), Shape({2, 1, 128, 2}));
  const auto row = [](const Tensor& x, int64_t b, int64_t position) {
    return narrow(narrow(x, 0, b, 1), 2, position, 1).to_vector<float>();
  };
  using Values = std::vector<float>;
  EXPECT_EQ(row(all.keys, 0, 1), (Values{2, 3}));
  EXPECT_EQ(row(all.keys, 0, 4), (Values{0, 0}));
  EXPECT_EQ(row(all.keys, 1, 4), (Values{4, 5}));
  EXPECT_EQ(row(all.values, 1, 5), (Values{60, 70}));
  // The other layer is another memory; what is written stays.
  EXPECT_EQ(row(cache.write(0, keys * 0, keys * 0, at).keys, 0, 1), (Values{0, 0}));
  const Tensor later = Tensor::from(std::vector<int64_t>{2, 3, 6, 7}, {2, 2});
  EXPECT_EQ(row(cache.write(1, keys * 0, keys * 0, later).keys, 0, 1), (Values{2, 3}));
}

TEST(KvCache, APositionBeyondTheCapacityIsAnError) {
  FixedKvCache cache(kSizes);
  const Tensor keys = zeros({2, 1, 1, 2});
  const Tensor at = Tensor::from(std::vector<int64_t>{0, 300}, {2, 1});
  EXPECT_ERROR(cache.write(0, keys, keys, at), kOutOfRange, "scatter");
}

}  // namespace
}  // namespace wick
