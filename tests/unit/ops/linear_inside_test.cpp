#include "../expect.h"
#include "../recorder.h"
#include "wick/wick.h"

namespace wick {
namespace {

/// Of a row, a few rows, small tiles with packs and without, and k that is split.
struct Sizes {
  int64_t m, n, k;
};
constexpr Sizes kSizes[] = {{1, 24, 40}, {7, 24, 40}, {18, 24, 40}, {18, 21, 33}, {20, 32, 520}};

TEST(Linear, WithAnEpilogueIsOneLaunchOnACardAndRoundsOnce) {
#ifndef WICK_HAS_EMU
  GTEST_SKIP() << "built without the emulator";
#endif
  const Device card = test::recorder_of(Device::parse("emu:32"));
  for (const DType dtype : {DType::kF16, DType::kBf16})
    for (const auto& [m, n, k] : kSizes) {
      const auto make = [&](const Shape& shape) { return cast(randn(shape), dtype).to(card); };
      const Tensor x = make({m, k}), weight = make({n, k}), bias = make({n});
      const Tensor residual = make({m, n}), wide = cast(residual, DType::kF32);
      const auto by = [&](const EpilogueOptions& o) {
        test::clear_records();
        const Tensor y = linear(x, weight, bias, o);
        EXPECT_EQ(test::records().size(), 1u) << m << " " << n << " " << k;
        return y.to(Device::cpu());
      };
      for (const Activation f : {Activation::kNone, Activation::kSilu, Activation::kGelu}) {
        const Tensor y = by({.activation = f, .residual = residual});
        const Tensor sums = by({.activation = f, .residual = wide, .dtype = DType::kF32});
        EXPECT_EQ(cast(y, DType::kF32).to_vector<float>(),
                  cast(cast(sums, dtype), DType::kF32).to_vector<float>());
      }
    }
}

TEST(Linear, WithAnActivationThatIsDifferentiatedTakesTheBiasInTheProduct) {
#ifndef WICK_HAS_EMU
  GTEST_SKIP() << "built without the emulator";
#endif
  const Device card = test::recorder_of(Device::parse("emu:32"));
  const Tensor x = randn({18, 40}, {.device = card}), bias = randn({24}, {.device = card});
  const Var weight(randn({24, 40}, {.device = card}));
  test::clear_records();
  linear(x, weight, bias, {.activation = Activation::kGelu});
  EXPECT_EQ(test::records().size(), 2u);
}

}  // namespace
}  // namespace wick
