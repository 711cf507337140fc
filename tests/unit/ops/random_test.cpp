// Behaviour, errors, and that the numbers are as likely as they should be; bounds are at five
// standard errors and the seeds fixed. That they are the same on every device:
// conformance/create.cpp.
#include "wick/ops/random.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "../expect.h"
#include "wick/wick.h"

namespace wick {
namespace {

struct Moments {
  double mean, variance;
};
Moments moments(const Tensor& x) {
  double sum = 0, squares = 0;
  const std::vector<double> values = x.to(DType::kF64).to_vector<double>();
  for (const double v : values) sum += v;
  const double mean = sum / double(values.size());
  for (const double v : values) squares += (v - mean) * (v - mean);
  return {mean, squares / double(values.size())};
}

/// Chi squared of counts that should be equal; of k counts its mean is k - 1, its variance twice
/// that.
double chi_squared(const std::vector<int64>& values, int64_t kinds) {
  std::vector<double> counts(static_cast<size_t>(kinds));
  for (const int64 v : values) counts.at(size_t(v)) += 1;
  const double expected = double(values.size()) / double(kinds);
  double sum = 0;
  for (const double c : counts) sum += (c - expected) * (c - expected) / expected;
  return sum;
}

TEST(Random, GoesOnWithOtherNumbersAndStartsAgainWithTheSeed) {
  const Device cpu;
  cpu.set_seed(6);
  const std::vector<float> first = rand({100}).to_vector<float>(),
                           second = rand({100}).to_vector<float>();
  for (const float x : first) EXPECT_EQ(std::count(second.begin(), second.end(), x), 0);
  cpu.set_seed(6);
  EXPECT_EQ(rand({100}).to_vector<float>(), first);
  EXPECT_EQ(rand({100}).to_vector<float>(), second);
}

TEST(Rand, IsUniformInEveryDType) {
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBf16, DType::kF8E4M3}) {
    Device::cpu().set_seed(11);
    constexpr int n = 40'000;
    const Tensor x = rand({n}, {.dtype = dtype});
    const auto [mean, variance] = moments(x);
    // A format of few bits cuts: its numbers are lower by half a step.
    const double step = dtype == DType::kF8E4M3 ? 1.0 / 16 : dtype == DType::kBf16 ? 1.0 / 256 : 0;
    EXPECT_NEAR(mean, 0.5 - step / 2, 5 * std::sqrt(1.0 / 12 / n)) << dtype_name(dtype);
    EXPECT_NEAR(variance, 1.0 / 12, 0.002) << dtype_name(dtype);
    for (const double v : x.to(DType::kF64).to_vector<double>()) ASSERT_TRUE(0 <= v && v < 1);
  }
}

TEST(Rand, StaysInIntervalsThatAreHardToRound) {
  for (const DType dtype : {DType::kF32, DType::kBf16})
    for (const auto& [low, high] :
         {std::pair{1.0, 1.5}, {-1e-3, 1e-30}, {-3e38, 3e37}, {2.0, 2.0}}) {
      const std::vector<double> values =
          rand({3000}, {.dtype = dtype}, low, high).to(DType::kF64).to_vector<double>();
      const double lowest = full({}, low, {.dtype = dtype}).to(DType::kF64).item<double>();
      for (const double v : values)
        ASSERT_TRUE(lowest <= v && (v < high || v == lowest)) << v << " " << dtype_name(dtype);
    }
  EXPECT_EQ(rand({0, 3}).numel(), 0);
  EXPECT_EQ(rand({}).rank(), 0);
}

TEST(Rand, RejectsWhatIsNoInterval) {
  EXPECT_ERROR(rand({2}, {}, 1, 0), kInvalidArgument, "rand: expected a finite interval");
  EXPECT_ERROR(rand({2}, {}, 0, INFINITY), kInvalidArgument, "rand");
  EXPECT_ERROR(rand({2}, {}, NAN, 1), kInvalidArgument, "rand");
  EXPECT_ERROR(rand({2}, {.dtype = DType::kI64}), kDTypeMismatch,
               "expected a floating dtype, got i64; randint makes integers");
  EXPECT_ERROR(rand({2}, {.dtype = DType::kF4}), kDTypeMismatch, "f4");
  EXPECT_ERROR(rand({-1}), kInvalidArgument, "sizes of at least 0");
}

TEST(Randn, HasTheMomentsAndTheTailsOfANormal) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16}) {
    Device::cpu().set_seed(12);
    constexpr int n = 200'001;
    const Tensor x = randn({n}, {.dtype = dtype});
    const auto [mean, variance] = moments(x);
    EXPECT_NEAR(mean, 0, 5 / std::sqrt(double(n)));
    EXPECT_NEAR(variance, 1, 5 * std::sqrt(2.0 / n));
    double third = 0, fourth = 0, beyond = 0;
    std::vector<double> values = x.to(DType::kF64).to_vector<double>();
    for (const double v : values) {
      third += v * v * v / n;
      fourth += v * v * v * v / n;
      beyond += std::abs(v) > 3;
    }
    EXPECT_NEAR(third, 0, 5 * std::sqrt(15.0 / n));
    EXPECT_NEAR(fourth, 3, 5 * std::sqrt(96.0 / n));
    EXPECT_NEAR(beyond / n, 0.0026998, 5 * std::sqrt(0.0027 / n));
    // Kolmogorov and Smirnov's distance to the normal distribution; 2.2 has probability 1e-4.
    std::sort(values.begin(), values.end());
    double distance = 0;
    for (int i = 0; i < n; i++) {
      const double share = 0.5 * std::erfc(-values[size_t(i)] / std::sqrt(2.0));
      distance = std::max(distance, std::abs(share - (i + 0.5) / n));
    }
    if (dtype != DType::kF16) {
      EXPECT_LT(distance * std::sqrt(double(n)), 2.2) << dtype_name(dtype);
    }
    // Neighbours come of one pair: they must not depend on each other.
    const std::vector<double> order = x.to(DType::kF64).to_vector<double>();
    double product = 0;
    for (int i = 0; i + 1 < n; i += 2) product += order[size_t(i)] * order[size_t(i) + 1] / (n / 2);
    EXPECT_NEAR(product, 0, 5 / std::sqrt(n / 2.0));
  }
}

TEST(Randn, TakesMeanAndDeviation) {
  Device::cpu().set_seed(13);
  const auto [mean, variance] = moments(randn({40'000}, {}, 5, 0.5));
  EXPECT_NEAR(mean, 5, 5 * 0.5 / 200);
  EXPECT_NEAR(variance, 0.25, 0.01);
  EXPECT_EQ(randn({3}, {}, 2, 0).to_vector<float>(), (std::vector<float>{2, 2, 2}));
  EXPECT_ERROR(randn({2}, {}, 0, -1), kInvalidArgument, "randn");
  EXPECT_ERROR(randn({2}, {}, NAN), kInvalidArgument, "randn");
  EXPECT_ERROR(randn({2}, {.dtype = DType::kI32}), kDTypeMismatch, "randn: expected a floating");
}

TEST(RandLike, TakesShapeAndDType) {
  const Tensor x = zeros({3, 2}, {.dtype = DType::kF16});
  EXPECT_EQ(rand_like(x).shape(), x.shape());
  EXPECT_EQ(rand_like(x).dtype(), DType::kF16);
  EXPECT_EQ(randn_like(x, 1, 2).dtype(), DType::kF16);
  EXPECT_ERROR(rand_like(Tensor()), kInvalidArgument, "rand_like");
  EXPECT_ERROR(randn_like(arange(3)), kDTypeMismatch, "randn");
}

TEST(Randint, DrawsEveryNumberAsOften) {
  Device::cpu().set_seed(14);
  std::vector<int64> x = randint(-7, 13, {20'000}).to_vector<int64>();
  for (int64& v : x) v += 7;
  EXPECT_NEAR(chi_squared(x, 20), 19, 5 * std::sqrt(2 * 19.0));
}

TEST(Randint, AndRandpermKeepTheirDTypeWhenADeviceIsGiven) {
  for (const Device& device : {Device::cpu(), Device::emulated(32)}) {
    const Tensor ids = randint(0, 10, {32}, {.device = device}),
                 order = randperm(5, {.device = device});
    EXPECT_EQ(ids.dtype(), DType::kI64);
    EXPECT_EQ(order.dtype(), DType::kI64);
    EXPECT_TRUE(ids.device() == device && order.device() == device);
  }
}

TEST(Randint, ReachesTheWholeOfADType) {
  for (const auto& [dtype, low, high] : {std::tuple{DType::kBool, 0, 2},
                                         {DType::kU8, 0, 256},
                                         {DType::kI8, -128, 128},
                                         {DType::kU16, 0, 65536},
                                         {DType::kI16, -32768, 32768},
                                         {DType::kF32, -3, 4}}) {
    Device::cpu().set_seed(15);
    const std::vector<int64> x =
        randint(low, high, {9000}, {.dtype = dtype}).to(DType::kI64).to_vector<int64>();
    EXPECT_GE(*std::min_element(x.begin(), x.end()), low);
    EXPECT_LT(*std::max_element(x.begin(), x.end()), high);
    if (high - low <= 256) {
      EXPECT_EQ(std::set<int64>(x.begin(), x.end()).size(), size_t(high - low))
          << dtype_name(dtype);
    }
  }
  const std::vector<int64> wide = randint(INT64_MIN, INT64_MAX, {100}).to_vector<int64>();
  EXPECT_GT(std::count_if(wide.begin(), wide.end(), [](int64 v) { return v < 0; }), 20);
  EXPECT_GT(std::count_if(wide.begin(), wide.end(), [](int64 v) { return v > 0; }), 20);
}

TEST(Randint, RejectsWhatTheDTypeDoesNotHold) {
  EXPECT_ERROR(randint(3, 3, {2}), kInvalidArgument, "randint: expected low < high, got 3 and 3");
  EXPECT_ERROR(randint(0, 257, {2}, {.dtype = DType::kU8}), kInvalidArgument,
               "u8 cannot represent all of 0 to 256");
  EXPECT_ERROR(randint(-1, 5, {2}, {.dtype = DType::kU64}), kInvalidArgument,
               "u64 cannot represent");
  EXPECT_ERROR(randint(0, 5, {2}, {.dtype = DType::kF4}), kDTypeMismatch, "f4");
}

TEST(Randperm, IsAPermutation) {
  for (const int64_t n : {0, 1, 2, 511, 512, 513, 5000}) {
    std::vector<int64> x = randperm(n).to_vector<int64>();
    std::sort(x.begin(), x.end());
    for (int64_t i = 0; i < n; i++) ASSERT_EQ(x[size_t(i)], i) << n;
  }
  EXPECT_EQ(randperm(200, {.dtype = DType::kU8}).dtype(), DType::kU8);
  EXPECT_ERROR(randperm(-1), kInvalidArgument, "randperm");
  EXPECT_ERROR(randperm(257, {.dtype = DType::kU8}), kInvalidArgument, "cannot represent");
}

TEST(Randperm, GivesEveryOrderAsOften) {
  Device::cpu().set_seed(16);
  std::vector<int64> orders;
  for (int i = 0; i < 4800; i++) {
    const std::vector<int64> x = randperm(4).to_vector<int64>();
    int64 order = 0;  // of 24, by how many later ones are smaller
    for (size_t a = 0, base = 24; a < 4; a++) {
      base /= 4 - a;
      order += int64(base) *
               std::count_if(x.begin() + long(a), x.end(), [&](int64 v) { return v < x[a]; });
    }
    orders.push_back(order);
  }
  EXPECT_NEAR(chi_squared(orders, 24), 23, 5 * std::sqrt(2 * 23.0));
}

TEST(Bernoulli, HasTheProbabilityThatIsAskedFor) {
  Device::cpu().set_seed(17);
  constexpr int n = 40'000;
  EXPECT_NEAR(moments(bernoulli(0.3, {n})).mean, 0.3, 5 * std::sqrt(0.21 / n));
  EXPECT_EQ(moments(bernoulli(0, {n})).mean, 0);
  EXPECT_EQ(moments(bernoulli(1, {n}, {.dtype = DType::kBool})).mean, 1);
  EXPECT_EQ(bernoulli(0.5, {2}, {.dtype = DType::kI8}).dtype(), DType::kI8);
  EXPECT_ERROR(bernoulli(1.5, {2}), kInvalidArgument, "bernoulli: expected p in [0, 1], got 1.5");
  EXPECT_ERROR(bernoulli(NAN, {2}), kInvalidArgument, "bernoulli");
}

TEST(Bernoulli, TakesAProbabilityPerElement) {
  Device::cpu().set_seed(18);
  constexpr int n = 20'000;
  const Tensor p = broadcast_to(Tensor::from<float>(std::vector<float>{0, 0.25f, 1}), {n, 3});
  const Tensor x = bernoulli(p);
  EXPECT_EQ(x.dtype(), DType::kF32);
  const std::vector<float> share = mean(x, {.dims = {0}}).to_vector<float>();
  EXPECT_EQ(share[0], 0);
  EXPECT_NEAR(share[1], 0.25, 5 * std::sqrt(0.1875 / n));
  EXPECT_EQ(share[2], 1);
  EXPECT_ERROR(bernoulli(full({2}, 1.01)), kInvalidArgument, "bernoulli");
  EXPECT_ERROR(bernoulli(full({2}, NAN)), kInvalidArgument, "bernoulli");
  EXPECT_ERROR(bernoulli(arange(2)), kDTypeMismatch, "bernoulli");
}

TEST(DropoutMask, KeepsTheMean) {
  Device::cpu().set_seed(19);
  constexpr int n = 40'000;
  const Tensor mask = dropout_mask({n}, 0.25);
  const std::vector<float> values = mask.to_vector<float>();
  EXPECT_EQ(std::set<float>(values.begin(), values.end()), (std::set<float>{0, float(1 / 0.75)}));
  EXPECT_NEAR(moments(mask).mean, 1, 5 * std::sqrt(0.25 * 0.75 / n) / 0.75);
  EXPECT_EQ(moments(dropout_mask({n}, 0)).mean, 1);
  EXPECT_EQ(moments(dropout_mask({n}, 1)).mean, 0);
  EXPECT_ERROR(dropout_mask({2}, -0.1), kInvalidArgument, "dropout_mask");
  EXPECT_ERROR(dropout_mask({2}, 0.1, {.dtype = DType::kI64}), kDTypeMismatch, "dropout_mask");
}

TEST(Multinomial, DrawsByWeight) {
  Device::cpu().set_seed(20);
  const Tensor weights = Tensor::from<float>(std::vector<float>{0, 1, 3, 0, 4, 0}, {2, 3});
  constexpr int n = 20'000;
  const Tensor x = multinomial(weights, n, {.replacement = true});
  EXPECT_EQ(x.shape(), (Shape{2, n}));
  const std::vector<int64> ids = x.to_vector<int64>();
  EXPECT_EQ(std::count(ids.begin(), ids.begin() + n, 0), 0);
  EXPECT_NEAR(double(std::count(ids.begin(), ids.begin() + n, 2)) / n, 0.75,
              5 * std::sqrt(0.1875 / n));
  EXPECT_EQ(std::count(ids.begin() + n, ids.end(), 1), n);
}

TEST(Multinomial, WithoutReplacementDrawsEachOnce) {
  Device::cpu().set_seed(21);
  const Tensor weights =
      broadcast_to(Tensor::from<double>(std::vector<double>{1, 0, 2, 3}), {9000, 4});
  const std::vector<int64> ids = multinomial(weights, 2).to_vector<int64>();
  int64 first_is_3 = 0, then_2 = 0;
  for (size_t row = 0; row < 9000; row++) {
    const int64 a = ids[2 * row], b = ids[2 * row + 1];
    ASSERT_TRUE(a != b && a != 1 && b != 1);
    first_is_3 += a == 3;
    then_2 += a == 3 && b == 2;
  }
  EXPECT_NEAR(double(first_is_3) / 9000, 0.5, 5 * std::sqrt(0.25 / 9000));
  EXPECT_NEAR(double(then_2) / double(first_is_3), 2.0 / 3, 5 * std::sqrt(0.2222 / 4500));
}

TEST(Multinomial, RejectsWeightsThatAreNone) {
  const auto of = [](std::vector<float> w) { return Tensor::from<float>(w); };
  EXPECT_ERROR(multinomial(of({1, 0, 0}), 2), kInvalidArgument, "row 0 has 1 weights above 0");
  EXPECT_ERROR(multinomial(of({0, 0}), 1, {.replacement = true}), kInvalidArgument, "row 0 has 0");
  EXPECT_ERROR(multinomial(of({1, -1}), 1), kInvalidArgument, "got -1 in row 0");
  EXPECT_ERROR(multinomial(of({1, INFINITY}), 1), kInvalidArgument, "finite");
  EXPECT_ERROR(multinomial(of({1, NAN}), 1), kInvalidArgument, "finite");
  EXPECT_ERROR(multinomial(ones({2}), -1), kInvalidArgument, "count");
  EXPECT_ERROR(multinomial(ones({}), 1), kShapeMismatch, "multinomial");
  EXPECT_ERROR(multinomial(arange(3), 1), kDTypeMismatch, "multinomial");
  EXPECT_ERROR(multinomial(ones({2, 0}), 1), kInvalidArgument, "row 0 has 0");
  EXPECT_EQ(multinomial(ones({3, 4}), 0).shape(), (Shape{3, 0}));
  EXPECT_EQ(multinomial(ones({0, 4}), 2).shape(), (Shape{0, 2}));
}

}  // namespace
}  // namespace wick
