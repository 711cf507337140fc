#include "wick/ops/quantize.h"

#include <cmath>
#include <limits>

#include "../expect.h"
#include "wick/ops/binary.h"
#include "wick/ops/cast.h"
#include "wick/ops/create.h"
#include "wick/ops/random.h"
#include "wick/ops/shape.h"

namespace wick {
namespace {

TEST(QuantizeI8, GivesTheNumbersOfQ8) {
  for (const char* name : {"cpu", "emu:32", "emu:64"}) {
    const Device device = Device::parse(name);
    const Tensor x = randn({7, 3, 96}, {.device = device}) * 5;
    const RowsInI8 y = quantize_i8(x);
    EXPECT_EQ(y.codes.dtype(), DType::kI8);
    EXPECT_EQ(y.scales.dtype(), DType::kF16);
    EXPECT_EQ(y.scales.shape(), Shape({7, 3, 3}));
    EXPECT_EQ(dequantize_i8(y.codes, y.scales, DType::kF32).to_vector<float>(),
              cast(cast(x, DType::kQ8_0), DType::kF32).to_vector<float>())
        << name;
  }
}

TEST(QuantizeI8, AGroupWithANaNOrAnInfinityGivesNaNAndTheOthersStay) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    for (const char* name : {"cpu", "emu:32"}) {
      std::vector<float> values(96, 1);
      values[40] = bad;
      const RowsInI8 y = quantize_i8(Tensor::from(values, {96}, Device::parse(name)));
      const std::vector<float> back =
          dequantize_i8(y.codes, y.scales, DType::kF32).to_vector<float>();
      EXPECT_NEAR(back[31], 1, 1e-3) << name;
      EXPECT_TRUE(std::isnan(back[32])) << name;
      EXPECT_TRUE(std::isnan(back[40])) << name;
      EXPECT_NEAR(back[64], 1, 1e-3) << name;
    }
  }
}

TEST(QuantizeI8, GroupsThatF16CannotHoldAreZeros) {
  const RowsInI8 y = quantize_i8(full({64}, 1e-38));
  for (const float value : dequantize_i8(y.codes, y.scales, DType::kF32).to_vector<float>())
    EXPECT_EQ(value, 0);
}

TEST(QuantizeI8, NamesWhatItExpected) {
  EXPECT_ERROR(quantize_i8(zeros({2, 40})), kShapeMismatch, "a multiple of 32, got [2, 40]");
  EXPECT_ERROR(quantize_i8(zeros({32}, {.dtype = DType::kI32})), kDTypeMismatch, "i32");
  const RowsInI8 y = quantize_i8(zeros({2, 64}));
  EXPECT_ERROR(dequantize_i8(y.codes, narrow(y.scales, 1, 0, 1), DType::kF32), kShapeMismatch,
               "expected scales [2, 2], got [2, 1]");
  EXPECT_ERROR(dequantize_i8(y.codes, cast(y.scales, DType::kF32), DType::kF32), kDTypeMismatch,
               "scales of f16");
}

}  // namespace
}  // namespace wick
