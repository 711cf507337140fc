// Numbers that a tensor's dtype cannot hold.
#include <cmath>
#include <limits>

#include "../expect.h"
#include "wick/wick.h"

namespace wick {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr int64_t kFar = int64_t(1) << 40;

template <class T>
Tensor of(std::initializer_list<T> x) {
  return Tensor::from(std::vector<T>(x));
}
using Bytes = std::vector<uint8>;
using Signed = std::vector<int8>;
using Words = std::vector<int32>;
using Values = std::vector<float>;

std::vector<int> bools(const Tensor& x) {
  EXPECT_EQ(x.dtype(), DType::kBool);
  const Words values = cast(x, DType::kI32).to_vector<int32>();
  return {values.begin(), values.end()};
}

TEST(Clamp, ComparesBeforeABoundWraps) {
  const Tensor small = of<int8>({-128, -3, 0, 5, 127});
  EXPECT_EQ(clamp(small, {.min = -1000, .max = 1000}).to_vector<int8>(),
            (Signed{-128, -3, 0, 5, 127}));
  EXPECT_EQ(clamp(small, {.min = 1000}).to_vector<int8>(), Signed(5, 127));
  EXPECT_EQ(clamp(small, {.max = -1000}).to_vector<int8>(), Signed(5, -128));
  const Tensor bytes = of<uint8>({1, 255});
  EXPECT_EQ(clamp(bytes, {.max = 300}).to_vector<uint8>(), (Bytes{1, 255}));
  EXPECT_EQ(clamp(bytes, {.min = -1}).to_vector<uint8>(), (Bytes{1, 255}));
  EXPECT_EQ(clamp(of<int32>({1, -5}), {.max = kFar}).to_vector<int32>(), (Words{1, -5}));
  EXPECT_EQ(clamp(of<uint64>({~uint64(0)}), {.min = -1}).to_vector<uint64>(),
            std::vector<uint64>{~uint64(0)});
  EXPECT_EQ(clamp(of<int64>({-7}), {.max = ~uint64(0)}).to_vector<int64>(), std::vector<int64>{-7});
  Var target(of<uint8>({1, 255}), false);
  clamp_(target, {.min = -1, .max = 300});
  EXPECT_EQ(target.tensor().to_vector<uint8>(), (Bytes{1, 255}));
}

TEST(Clamp, LeavesNumbersOfEveryFloatAsTheyAre) {
  for (const DType dtype :
       {DType::kF8E4M3, DType::kF8E5M2, DType::kBf16, DType::kF16, DType::kF32, DType::kF64}) {
    const Tensor x = cast(of<float>({-3, 0, 2, kNan}), dtype);
    for (const double bound : {1e39, 1e300, kInf}) {
      const Values y =
          cast(clamp(x, {.min = -bound, .max = bound}), DType::kF32).to_vector<float>();
      EXPECT_EQ(Values(y.begin(), y.begin() + 3), (Values{-3, 0, 2})) << dtype_name(dtype);
      EXPECT_TRUE(std::isnan(y[3]));
    }
  }
}

TEST(MaximumAndMinimum, TakeTheNumberAsItIs) {
  EXPECT_EQ(minimum(of<uint8>({7}), 256).to_vector<uint8>(), Bytes{7});
  EXPECT_EQ(minimum(of<uint8>({7}), -1).to_vector<uint8>(), Bytes{0});
  EXPECT_EQ(maximum(of<uint8>({7}), -1).to_vector<uint8>(), Bytes{7});
  EXPECT_EQ(maximum(of<uint8>({7}), 256).to_vector<uint8>(), Bytes{255});
  EXPECT_EQ(maximum(of<int32>({1, -5}), -kFar).to_vector<int32>(), (Words{1, -5}));
  const Tensor narrow = cast(of<float>({3, -3}), DType::kF8E4M3);
  EXPECT_EQ(cast(minimum(narrow, 1000), DType::kF32).to_vector<float>(), (Values{3, -3}));
  EXPECT_EQ(cast(maximum(narrow, -kInf), DType::kF32).to_vector<float>(), (Values{3, -3}));
}

TEST(Comparisons, WithNumbersAboveAndBelowAllOfAFloatDtype) {
  const Tensor x = cast(of<float>({-kInfinity, 1, kInfinity, kNan}), DType::kF16);
  EXPECT_EQ(bools(lt(x, 70000)), (std::vector{1, 1, 0, 0}));
  EXPECT_EQ(bools(le(x, 70000)), (std::vector{1, 1, 0, 0}));
  EXPECT_EQ(bools(gt(x, 70000)), (std::vector{0, 0, 1, 0}));
  EXPECT_EQ(bools(ge(x, 70000)), (std::vector{0, 0, 1, 0}));
  EXPECT_EQ(bools(eq(x, 70000)), (std::vector{0, 0, 0, 0}));
  EXPECT_EQ(bools(ne(x, 70000)), (std::vector{1, 1, 1, 1}));
  EXPECT_EQ(bools(lt(x, -70000)), (std::vector{1, 0, 0, 0}));
  EXPECT_EQ(bools(ge(x, -70000)), (std::vector{0, 1, 1, 0}));
  EXPECT_EQ(bools(eq(x, kInf)), (std::vector{0, 0, 1, 0}));
  EXPECT_EQ(bools(lt(x, kInf)), (std::vector{1, 1, 0, 0}));
  const Tensor narrow = cast(of<float>({-448, 448, kNan}), DType::kF8E4M3);
  for (const double far : {1000.0, kInf}) {
    EXPECT_EQ(bools(lt(narrow, far)), (std::vector{1, 1, 0}));
    EXPECT_EQ(bools(gt(narrow, far)), (std::vector{0, 0, 0}));
    EXPECT_EQ(bools(ge(narrow, -far)), (std::vector{1, 1, 0}));
  }
  EXPECT_EQ(bools(lt(of<int32>({5}), 1e300)), std::vector{1});
}

TEST(Shifts, ByANumberBeyondTheDtypeShiftOutAllBits) {
  EXPECT_EQ(bitwise_left_shift(of<uint8>({200}), 256).to_vector<uint8>(), Bytes{0});
  EXPECT_EQ(bitwise_right_shift(of<uint8>({200}), 256).to_vector<uint8>(), Bytes{0});
  EXPECT_EQ(bitwise_right_shift(of<uint8>({200}), -256).to_vector<uint8>(), Bytes{0});
  EXPECT_EQ(bitwise_right_shift(of<int8>({-5}), 256).to_vector<int8>(), Signed{-1});
  EXPECT_EQ(bitwise_left_shift(of<int8>({-5}), -257).to_vector<int8>(), Signed{0});
}

TEST(Arithmetic, WithANumberBeyondTheDtypeWrapsOrIsAnError) {
  const Tensor x = of<uint8>({200});
  EXPECT_EQ(add(x, 300).to_vector<uint8>(), Bytes{244});
  EXPECT_EQ(bitwise_and(x, -1).to_vector<uint8>(), Bytes{200});
  EXPECT_ERROR(remainder(x, 300), kInvalidArgument, "remainder: u8 cannot hold the number 300");
  EXPECT_ERROR(fmod(x, -3), kInvalidArgument, "fmod: u8 cannot hold the number -3");
  EXPECT_ERROR(floor_divide(x, 300), kInvalidArgument, "floor_divide: u8 cannot hold");
  EXPECT_ERROR(pow(x, 256), kInvalidArgument, "pow: u8 cannot hold the number 256");
  EXPECT_EQ(remainder(x, 30.5).dtype(), DType::kF32);
}

TEST(Filling, WithANumberThatTheDtypeDoesNotHoldIsAnError) {
  const auto of_dtype = [](DType dtype) { return TensorOptions{.dtype = dtype}; };
  EXPECT_ERROR(full({2}, 1000, of_dtype(DType::kI8)), kInvalidArgument,
               "full: i8 cannot hold the number 1000");
  EXPECT_ERROR(full({2}, -1, of_dtype(DType::kU8)), kInvalidArgument, "u8 cannot hold");
  EXPECT_ERROR(full({2}, -1.0, of_dtype(DType::kU64)), kInvalidArgument, "u64 cannot hold");
  EXPECT_ERROR(full({2}, 0x1p63, of_dtype(DType::kI64)), kInvalidArgument, "i64 cannot hold");
  EXPECT_ERROR(full({2}, ~uint64(0), of_dtype(DType::kI64)), kInvalidArgument,
               "full: i64 cannot hold the number 18446744073709551615");
  EXPECT_ERROR(full({2}, kNan, of_dtype(DType::kI32)), kInvalidArgument, "i32 cannot hold");
  EXPECT_ERROR(full({2}, kInf, of_dtype(DType::kI32)), kInvalidArgument, "i32 cannot hold");
  EXPECT_ERROR(full({2}, 70000, of_dtype(DType::kF16)), kInvalidArgument,
               "full: f16 cannot hold the number 70000");
  EXPECT_ERROR(full({2}, 1e39, of_dtype(DType::kF32)), kInvalidArgument,
               "full: f32 cannot hold the number 1e+39");
  EXPECT_ERROR(full({2}, kInf, of_dtype(DType::kF8E4M3)), kInvalidArgument, "f8e4m3 cannot hold");
  EXPECT_ERROR(full({2}, 7, of_dtype(DType::kF4)), kInvalidArgument, "f4 cannot hold");

  const Tensor x = of<uint8>({1, 2});
  const Tensor mask = Tensor::from({true, false});
  EXPECT_ERROR(full_like(x, 256), kInvalidArgument, "full_like: u8 cannot hold the number 256");
  EXPECT_ERROR(masked_fill(x, mask, -1), kInvalidArgument,
               "masked_fill: u8 cannot hold the number -1");
  EXPECT_ERROR(masked_fill(cast(x, DType::kF16), mask, -1e9), kInvalidArgument,
               "masked_fill: f16 cannot hold the number -1e+09");
  EXPECT_ERROR(where(mask, x, 256), kInvalidArgument, "where: u8 cannot hold the number 256");
  EXPECT_ERROR(where(mask, 256, x), kInvalidArgument, "where: u8 cannot hold the number 256");
  EXPECT_ERROR(where(mask, 1e300, 0.5), kInvalidArgument, "where: f32 cannot hold");
  EXPECT_ERROR(index_fill(x, 0, of<int64>({0}), 256), kInvalidArgument,
               "index_fill: u8 cannot hold the number 256");
  EXPECT_ERROR(pad(x, {{1, 1}}, {.value = 256}), kInvalidArgument,
               "pad: u8 cannot hold the number 256");
  Var target(of<uint8>({1, 2}), false);
  EXPECT_ERROR(fill_(target, 256), kInvalidArgument, "fill_: u8 cannot hold the number 256");
  EXPECT_ERROR(masked_fill_(target, mask, 256), kInvalidArgument, "masked_fill_: u8 cannot hold");
  EXPECT_ERROR(index_put_(target, {0}, 256), kInvalidArgument, "index_put_: u8 cannot hold");
  EXPECT_EQ(target.tensor().to_vector<uint8>(), (Bytes{1, 2}));
}

TEST(Filling, RoundsAndTruncatesWithinTheDtype) {
  const auto filled = [](Number value, DType dtype) {
    return cast(full({}, value, {.dtype = dtype}), DType::kF64).item<double>();
  };
  EXPECT_EQ(filled(3.7, DType::kI64), 3);
  EXPECT_EQ(filled(255.9, DType::kU8), 255);
  EXPECT_EQ(filled(-0.9, DType::kU8), 0);
  EXPECT_EQ(filled(-128.9, DType::kI8), -128);
  EXPECT_EQ(filled(5, DType::kBool), 1);
  EXPECT_EQ(filled(kNan, DType::kBool), 1);
  EXPECT_EQ(filled(65519, DType::kF16), 65504);
  EXPECT_EQ(filled(460, DType::kF8E4M3), 448);
  EXPECT_EQ(filled(-kInf, DType::kF16), -kInf);
  EXPECT_TRUE(std::isnan(filled(kNan, DType::kF8E4M3)));
  EXPECT_EQ(filled(~uint64(0), DType::kU64), 0x1p64);
}

}  // namespace
}  // namespace wick
