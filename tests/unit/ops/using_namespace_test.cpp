// What programs write that begin as README's example does.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "wick/wick.h"

using namespace wick;

namespace {

TEST(UsingNamespaceWick, LeavesTheStandardLibraryItsNames) {
  std::vector<float> values{1, 2, 3, 4};
  std::reverse(values.begin(), values.end());
  const std::string text = std::to_string(values.size());
  const Tensor x = Tensor::from(values);
  EXPECT_FLOAT_EQ(stddev(x).item<float>(), std::sqrt(var(x).item<float>()));
  EXPECT_EQ(max(x).item<float>(), std::max(values[0], values[1]));
  EXPECT_EQ(text, "4");
}

TEST(UsingNamespaceWick, TakesTheExampleOfTheReadme) {
  const Device device = Device::best();
  const Tensor images = randn({6, 784}, {.device = device});
  const Tensor labels = Tensor::from({3, 1, 4, 1, 5, 9}, device);
  const Var w(randn({10, 784}, {.device = device}));
  const Tensor loss = cross_entropy(linear(images, w), labels);
  backward(loss);
  EXPECT_EQ(w.grad().shape(), (Shape{10, 784}));
  w.zero_grad();
  EXPECT_FALSE(w.grad());
}

}  // namespace
