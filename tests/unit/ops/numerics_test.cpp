#include "wick/core/numerics.h"

#include <cmath>
#include <limits>
#include <thread>

#include "../expect.h"
#include "wick/wick.h"

namespace wick {
namespace {

/// Sets what is set for the process while it lives.
struct Deterministic {
  Deterministic() { set_deterministic(true); }
  ~Deterministic() { set_deterministic(false); }
};

/// Sums at the places that ids name: what each op gives, or its error.
struct Sums {
  Tensor x, ids, rows;
  explicit Sums(const Device& device)
      : x(ones({3, 2}, {.device = device})),
        ids(Tensor::from<int64_t>({1, 1}, device)),
        rows(ones({2, 2}, {.device = device})) {}

  Tensor scatter_added() const {
    return scatter_add(x, 0, broadcast_to(reshape(ids, {2, 1}), {2, 2}), rows);
  }
  Tensor index_added() const { return index_add(x, 0, ids, rows); }
  Tensor embedding_gradient() const {
    const Var weight(x);
    backward(sum(embedding(weight, ids)));
    return weight.grad();
  }
};

/// Ids below `limit` with no pattern, the same ones on every device.
Tensor some_ids(const Shape& shape, int64_t limit, const Device& device) {
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < numel(shape); i++) ids.push_back(i * i % 1009 % limit);
  return Tensor::from(ids, shape, device);
}
/// Numbers whose sums round, and so tell in which order they were added.
Tensor some_values(const Shape& shape, DType dtype, const Device& device) {
  std::vector<double> values;
  for (int64_t i = 0; i < numel(shape); i++)
    values.push_back(double(i * 7919 % 10007 - 5000) / 3 * std::exp2(double(i * i % 13 - 14)));
  return cast(Tensor::from(values, shape, Device::cpu()), dtype).to(device);
}
std::vector<Device> cards() { return {Device::emulated(32), Device::emulated(64)}; }

template <class T>
void expect_the_order_of_ids(const Device& card) {
  const Deterministic on;
  const int64_t n = 100;  // of a column: added one by one
  const Tensor x = some_values({5, 3}, kDTypeOf<T>, card),
               src = some_values({n, 3}, kDTypeOf<T>, card);
  const auto expect = [&](const Tensor& ids, const Tensor& y) {
    std::vector<T> expected = x.to_vector<T>(), added = src.to_vector<T>();
    const std::vector<int64_t> at = broadcast_to(ids, {n, 3}).to_vector<int64_t>();
    for (size_t i = 0; i < added.size(); i++) expected[size_t(at[i]) * 3 + i % 3] += added[i];
    EXPECT_EQ(y.to_vector<T>(), expected) << to_string(card);
  };
  const Tensor ids = some_ids({n, 1}, 4, card);  // nothing is added to the last row
  expect(ids, index_add(x, 0, reshape(ids, {n}), src));
  expect(ids, scatter_add(x, 0, broadcast_to(ids, {n, 3}), src));
  const Tensor of_columns = some_ids({n, 3}, 4, card);
  expect(of_columns, scatter_add(x, 0, of_columns, src));
  const auto restrided = [](const Tensor& t) { return transpose(transpose(t).contiguous()); };
  expect(of_columns, scatter_add(restrided(x), 0, restrided(of_columns), restrided(src)));
  expect(of_columns,
         transpose(scatter_add(transpose(x), 1, transpose(of_columns), transpose(src))));
}

TEST(Deterministic, OfACardAddsInTheOrderOfIds) {
  for (const Device& card : cards()) {
    expect_the_order_of_ids<float>(card);
    expect_the_order_of_ids<double>(card);
  }
}

TEST(Deterministic, OfACardRoundsNarrowFloatsOnce) {
  const Deterministic on;
  for (const Device& card : cards())
    for (const DType dtype : {DType::kF16, DType::kBf16, DType::kF8E4M3}) {
      const Tensor x = cast(some_values({5, 3}, DType::kF32, card) * 0x1p-6, dtype),
                   src = cast(some_values({1000, 3}, DType::kF32, card) * 0x1p-6, dtype),
                   ids = some_ids({1000}, 5, card);
      const Tensor sums = index_add(cast(x, DType::kF32), 0, ids, cast(src, DType::kF32));
      const auto values = [](const Tensor& t) { return cast(t, DType::kF32).to_vector<float>(); };
      EXPECT_EQ(values(index_add(x, 0, ids, src)), values(cast(sums, dtype)))
          << to_string(card) << " " << dtype_name(dtype);
    }
}

/// f's bits on each card, again and again.
template <class F>
void expect_the_same_bits(const F& f) {
  std::vector<double> first;
  for (const Device& card : cards())
    for (int again = 0; again < 2; again++) {
      const std::vector<double> y = cast(f(card), DType::kF64).template to_vector<double>();
      if (first.empty()) first = y;
      EXPECT_EQ(y, first) << to_string(card);
    }
}

TEST(Deterministic, OfCardsGivesTheSameBitsOnEachForLongColumns) {
  const Deterministic on;
  for (const DType dtype : {DType::kF16, DType::kF32, DType::kF64}) {
    for (const int64_t targets : {1, 300, 70000}) {
      if (targets != 300 && dtype != DType::kF32) continue;
      expect_the_same_bits([&](const Device& card) {
        return index_add(zeros({targets}, {.dtype = dtype, .device = card}), 0,
                         some_ids({4500}, targets, card), some_values({4500}, dtype, card));
      });
    }
    expect_the_same_bits([&](const Device& card) {
      return scatter_add(zeros({2, 3, 3}, {.dtype = dtype, .device = card}), 1,
                         some_ids({2, 700, 3}, 3, card), some_values({2, 700, 3}, dtype, card));
    });
  }
}

TEST(Deterministic, OfACardHoldsForWhatIsMadeOfSumsAtIds) {
  const Deterministic on;
  EXPECT_TRUE(deterministic());
  const std::vector<float> added{1, 1, 3, 3, 1, 1};
  for (const Device& card : cards()) {
    const Sums sums(card);
    EXPECT_EQ(sums.scatter_added().to_vector<float>(), added);
    EXPECT_EQ(sums.index_added().to_vector<float>(), added);
    EXPECT_EQ(sums.embedding_gradient().to_vector<float>(), (std::vector<float>{0, 0, 2, 2, 0, 0}));
    // Sums of integers are the same in any order.
    const Tensor ids = broadcast_to(reshape(sums.ids, {2, 1}), {2, 2});
    EXPECT_EQ(scatter_add(cast(sums.x, DType::kI32), 0, ids, cast(sums.rows, DType::kI32))
                  .to_vector<int32>(),
              (std::vector<int32>{1, 1, 3, 3, 1, 1}));
    EXPECT_EQ(sum(matmul(sums.x, sums.rows)).item<float>(), 12.0f);
  }
}

TEST(Deterministic, OfACardTakesNothingAndRefusesIdsOutOfRange) {
  const Deterministic on;
  for (const Device& card : cards()) {
    const Tensor none = zeros({0}, {.dtype = DType::kI64, .device = card});
    const Tensor x = ones({3, 2}, {.device = card});
    EXPECT_EQ(index_add(x, 0, none, zeros({0, 2}, {.device = card})).to_vector<float>(),
              std::vector<float>(6, 1));
    EXPECT_EQ(index_add(zeros({3, 0}, {.device = card}), 0, some_ids({4}, 3, card),
                        zeros({4, 0}, {.device = card}))
                  .numel(),
              0);
    for (const int64_t wrong : {int64_t(3), int64_t(-1), std::numeric_limits<int64_t>::min()}) {
      const Tensor ids = Tensor::from<int64_t>({1, wrong}, card);
      const std::string text = "id " + std::to_string(wrong) + " at position 1 is outside [0, 3)";
      EXPECT_ERROR(index_add(x, 0, ids, ones({2, 2}, {.device = card})).to_vector<float>(),
                   kOutOfRange, text);
    }
    EXPECT_ERROR(index_add(zeros({0, 2}, {.device = card}), 0, Tensor::from<int64_t>({0}, card),
                           ones({1, 2}, {.device = card}))
                     .to_vector<float>(),
                 kOutOfRange, "id 0 at position 0 is outside [0, 0)");
  }
}

TEST(Deterministic, HoldsOnTheCpu) {
  const Sums sums(Device::cpu());
  EXPECT_FALSE(deterministic());
  const Deterministic on;
  const std::vector<float> added{1, 1, 3, 3, 1, 1};
  EXPECT_EQ(sums.scatter_added().to_vector<float>(), added);
  EXPECT_EQ(sums.index_added().to_vector<float>(), added);
  EXPECT_EQ(sums.embedding_gradient().to_vector<float>(), (std::vector<float>{0, 0, 2, 2, 0, 0}));
}

TEST(MatmulPrecision, IsF32UntilLessIsPermitted) {
  EXPECT_EQ(matmul_precision(), MatmulPrecision::kF32);
  const Tensor a = randn({40, 30}), b = randn({30, 20});
  const std::vector<float> product = matmul(a, b).to_vector<float>();
  std::thread([] { set_matmul_precision(MatmulPrecision::kBf16); }).join();
  EXPECT_EQ(matmul_precision(), MatmulPrecision::kBf16);  // of the process, not of a thread
  EXPECT_EQ(matmul(a, b).to_vector<float>(), product);
  set_matmul_precision(MatmulPrecision::kF32);
}

/// Where rounding an activation shows: 1 beside a larger neighbour.
TEST(RoundActivations, TillForbidden) {
  std::vector<float> values(32, 0.0f);
  values[0] = 1e6f, values[1] = 1.0f;
  const Tensor x = Tensor::from(values, {1, 32}, Device::cpu());
  std::vector<float> ones(32, 0.0f);
  ones[1] = 1.0f;
  const Tensor w = cast(Tensor::from(ones, {1, 32}, Device::cpu()), DType::kQ8_0);
  EXPECT_TRUE(round_activations());
  EXPECT_EQ(linear(x, w).to_vector<float>(), std::vector<float>{0.0f});
  set_round_activations(false);
  EXPECT_FALSE(round_activations());
  EXPECT_NEAR(linear(x, w).item<float>(), 1.0f, 1e-3f);  // q8_0 of 1 has a scale in f16
  set_round_activations(true);
}

/// Integers cannot hold these.
TEST(RoundActivations, LeavesWhatIsNotFinite) {
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> values(64, 1.0f);
  values[40] = infinity;
  const Tensor w = cast(ones({2, 64}), DType::kQ8_0);
  for (const float y : linear(Tensor::from(values, {1, 64}, Device::cpu()), w).to_vector<float>())
    EXPECT_EQ(y, infinity);
}

}  // namespace
}  // namespace wick
