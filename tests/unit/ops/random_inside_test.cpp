// What random numbers are made of.
#include <cmath>
#include <numbers>

#include "../expect.h"
#include "../threads_scope.h"
#include "ops/random/normal.h"
#include "ops/random/philox.h"
#include "wick/wick.h"

namespace wick {
namespace {

TEST(Random, GivesTheSameBitsWithAnyNumberOfThreads) {
  std::vector<std::vector<double>> found;
  for (const int n : {1, 2, 5}) {
    const test::ThreadsScope scope(n);
    Device::cpu().set_seed(4);
    std::vector<double> all;
    for (const Tensor& x :
         {rand({100'001}), randn({100'001}), randn({50'001}, {.dtype = DType::kF64}),
          randint(-5, 99, {100'001}), bernoulli(0.3, {100'001})})
      for (const double v : x.to(DType::kF64).to_vector<double>()) all.push_back(v);
    found.push_back(std::move(all));
  }
  EXPECT_EQ(found[0], found[1]);
  EXPECT_EQ(found[0], found[2]);
}

TEST(Rand, IsTheStreamOfPhilox) {
  Device::cpu().set_seed(9);
  const std::vector<float> x = rand({6}).to_vector<float>();
  for (int i = 0; i < 6; i++)
    EXPECT_EQ(x[size_t(i)], float(philox4x32(uint64_t(i) / 4, 0, 9)[i % 4] >> 8) * 0x1p-24f);
  EXPECT_EQ(rand({1}).item<float>(), float(philox4x32(2, 0, 9)[0] >> 8) * 0x1p-24f);
}

TEST(Randn, ItsPartsAreAsExactAsTheySay) {
  for (uint64_t i = 0; i < uint64_t{1} << 32; i += 1'000'003) {
    const auto word = uint32_t(i);
    const float u = (float(word) + 0.5f) * 0x1p-32f;
    const double log = std::log(double(u));
    EXPECT_LE(std::abs(detail::log_of(u) - log), 2 * std::ldexp(std::abs(log), -23)) << u;
    float cosine, sine;
    detail::cos_sin_of_turn(word, &cosine, &sine);
    const double angle = 2 * std::numbers::pi * (double(word) * 0x1p-32);
    EXPECT_NEAR(cosine, std::cos(angle), 0x1p-22) << word;
    EXPECT_NEAR(sine, std::sin(angle), 0x1p-22) << word;
  }
  EXPECT_EQ(detail::log_of(1), 0);
}

}  // namespace
}  // namespace wick
