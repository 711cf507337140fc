// Products with quantized weights, by the kernels that round x to 16 bits.
#include <limits>

#include "rig.h"
#include "wick/abi/ops/matmul.h"

namespace wick::cpu {
namespace {

using test::Array;
using test::find;
using test::Launch;

/// Bytes of y that a kernel has not written.
bool untouched(const Array& y) {
  for (const char byte : y.bytes())
    if (byte != 77) return false;
  return true;
}

TEST(RoundedLinear, DeclinesAnXThatSixteenBitsDoNotRepresent) {
  constexpr int64 k = 64;
  const Array weight(DType::kQ8_0, {3, k}), ids = Array(DType::kI64, {2, 1});
  for (const Isa isa : test::isas()) {
    const auto linear = find(isa, kLinear, {DType::kF32, DType::kQ8_0, DType::kF32}, 2);
    const auto of_experts =
        find(isa, kExpertLinear, {DType::kF32, DType::kQ8_0, DType::kI64, DType::kF32}, 3);
    const Kernel *const rounds = linear.named("linear_int16"), *const rounds_experts =
                                                                   of_experts.named(
                                                                       "expert_linear_int16");
    if (isa == Isa::kBaseline) {
      EXPECT_EQ(rounds, nullptr);
      continue;
    }
    ASSERT_TRUE(rounds && rounds_experts);
    const float inf = std::numeric_limits<float>::infinity();
    for (const float value : {1.0f, inf, std::numeric_limits<float>::quiet_NaN(), 0x1p61f}) {
      const auto x_of = [&](std::vector<int64> shape) {
        return Array(DType::kF32, shape).fill<float>([&](size_t i) { return i == 70 ? value : 1; });
      };
      const auto y_of = [](std::vector<int64> shape) {
        return Array(DType::kF32, shape).fill<char>([](size_t) { return 77; });
      };
      const StatusCode expected = value == 1 ? StatusCode::kOk : StatusCode::kDeclined;
      const Array x = x_of({2, k}), y = y_of({2, 3});
      EXPECT_EQ(Launch({&x, &weight}, y).run(*rounds).code, expected) << value;
      EXPECT_EQ(untouched(y), value != 1) << value;

      const Array rows = x_of({2, 1, k}), experts(DType::kQ8_0, {1, 3, k}), out = y_of({2, 1, 3});
      EXPECT_EQ(Launch({&rows, &experts, &ids}, out).run(*rounds_experts).code, expected) << value;
      EXPECT_EQ(untouched(out), value != 1) << value;
    }
  }
}

}  // namespace
}  // namespace wick::cpu
