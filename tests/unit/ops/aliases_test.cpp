// Other names of ops.
#include "wick/ops/aliases.h"

#include <gtest/gtest.h>

namespace wick {
namespace {

TEST(Aliases, GiveWhatTheOpGives) {
  const Tensor x = Tensor::from(std::vector<float>{0.26f, -1.5f, 3, 2}, {2, 2});
  const auto same = [](const Tensor& a, const Tensor& b) {
    return a.shape() == b.shape() && a.to_vector<float>() == b.to_vector<float>();
  };
  EXPECT_TRUE(same(sqr(x), square(x)));
  EXPECT_TRUE(same(recip(x), reciprocal(x)));
  EXPECT_TRUE(same(round_to(x, 1), round(x, 1)));
  EXPECT_TRUE(same(log_sum_exp(x, {.dims = {1}, .keepdim = true}),
                   logsumexp(x, {.dims = {1}, .keepdim = true})));
  EXPECT_TRUE(same(swapaxes(x, 0, 1), transpose(x)));
  EXPECT_TRUE(same(swapdims(x, 1, 0), transpose(x)));
}

}  // namespace
}  // namespace wick
