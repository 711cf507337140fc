#include "wick/ops/composite.h"

#include <gtest/gtest.h>

#include <cmath>

#include "wick/ops/unary.h"

namespace wick {
namespace {

/// The kernel writes over an operand that is handed over; the composite makes several tensors, and
/// another is the last.
bool by_composite() {
  Tensor x = Tensor::from(std::vector<float>{1, 2, 3});
  const void* memory = x.data();
  return silu(std::move(x)).data() != memory;
}

TEST(Composite, TheKernelIsTakenWhereThereIsOne) {
  EXPECT_EQ(composite_mode(), CompositeMode::kAuto);
  EXPECT_FALSE(by_composite());
}

TEST(Composite, AScopeForcesEitherWay) {
  {
    const CompositeScope always(CompositeMode::kAlways);
    EXPECT_EQ(composite_mode(), CompositeMode::kAlways);
    EXPECT_TRUE(by_composite());
    {
      const CompositeScope never(CompositeMode::kNever);
      EXPECT_FALSE(by_composite());
    }
    EXPECT_TRUE(by_composite());  // the outer scope holds again
  }
  EXPECT_EQ(composite_mode(), CompositeMode::kAuto);
}

TEST(Composite, BothGiveTheSameWhereNothingOverflows) {
  const Tensor x = Tensor::from(std::vector<float>{-20, -1, -0.0f, 0.5f, 3, 80});
  const std::vector<float> kernel = silu(x).to_vector<float>();
  const CompositeScope always(CompositeMode::kAlways);
  const std::vector<float> composite = silu(x).to_vector<float>();
  for (size_t i = 0; i < kernel.size(); i++)
    EXPECT_NEAR(kernel[i], composite[i], 1e-6f * std::abs(kernel[i])) << i;
}

}  // namespace
}  // namespace wick
