#include "wick/core/tensor.h"

#include <numeric>

#include "../expect.h"
#include "wick/abi/backend.h"
#include "wick/ops/binary.h"
#include "wick/ops/create.h"
#include "wick/ops/shape.h"
#include "wick/ops/unary.h"

namespace wick {
namespace {

std::vector<float> counting(int64_t n) {
  std::vector<float> values(static_cast<size_t>(n));
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

TEST(Tensor, NoneIsFalse) {
  EXPECT_FALSE(Tensor());
  EXPECT_TRUE(Tensor::from(counting(1)));
}

TEST(Tensor, NoneHasNothingToAskFor) {
  const Tensor none;
  const auto refused = [](const char* asked, const auto& ask) {
    EXPECT_ERROR(ask(), kInvalidArgument, std::string(asked) + ": the tensor is an empty Tensor()");
  };
  refused("shape", [&] { none.shape(); });
  refused("strides", [&] { none.strides(); });
  refused("layout", [&] { none.layout(); });
  refused("rank", [&] { none.rank(); });
  refused("numel", [&] { none.numel(); });
  refused("dtype", [&] { none.dtype(); });
  refused("device", [&] { none.device(); });
  refused("is_contiguous", [&] { none.is_contiguous(); });
  refused("storage", [&] { none.data(); });
  refused("requires_grad", [&] { none.requires_grad(); });
  refused("as_rocm", [&] { none.as_rocm(); });
  refused("as_cuda", [&] { none.as_cuda(); });
  refused("detach", [&] { none.detach(); });
  refused("item", [&] { none.item<float>(); });
  refused("to_vector", [&] { none.to_vector<float>(); });
  EXPECT_ANY_THROW(none.to(Device::cpu()));
  EXPECT_ANY_THROW(none.to(DType::kF32));
  EXPECT_ANY_THROW(none.contiguous());
  EXPECT_EQ(describe(none), "an empty Tensor()");
}

TEST(Tensor, HasTheValuesItIsMadeFrom) {
  const Tensor x = Tensor::from(counting(6), {2, 3});
  EXPECT_EQ(x.shape(), (Shape{2, 3}));
  EXPECT_EQ(x.strides(), (Dims{3, 1}));
  EXPECT_EQ(x.dtype(), DType::kF32);
  EXPECT_EQ(x.numel(), 6);
  EXPECT_EQ(x.size(-1), 3);
  EXPECT_TRUE(x.is_contiguous());
  EXPECT_EQ(x.to_vector<float>(), counting(6));
}

template <class T>
void expect_round_trip(const std::vector<T>& values, DType dtype) {
  const Tensor x = Tensor::from(values);
  EXPECT_EQ(x.dtype(), dtype);
  EXPECT_EQ(x.to_vector<T>(), values);
}
TEST(Tensor, TakesEveryHostType) {
  expect_round_trip<uint8>({0, 255}, DType::kU8);
  expect_round_trip<uint32>({0, 4294967295u}, DType::kU32);
  expect_round_trip<int32>({-2147483647 - 1, 5}, DType::kI32);
  expect_round_trip<int64>({INT64_MIN, INT64_MAX}, DType::kI64);
  expect_round_trip<float>({-0.5f, 3e38f}, DType::kF32);
  expect_round_trip<double>({1e300, -1e-300}, DType::kF64);
  const Tensor halves = Tensor::from(std::vector<f16>{{0x3c00}, {0x8000}});
  EXPECT_EQ(halves.dtype(), DType::kF16);
  EXPECT_EQ(halves.to_vector<f16>()[1].bits, 0x8000);
}

TEST(Tensor, BoolsReadBackAsAVectorOfBool) {
  const bool values[] = {true, false, true};
  const Tensor x = Tensor::from(std::span<const bool>(values), {3});
  EXPECT_EQ(x.dtype(), DType::kBool);
  EXPECT_EQ(x.to_vector<bool>(), (std::vector<bool>{true, false, true}));
}

TEST(Tensor, IsMadeOfValuesAsTheyAreWritten) {
  const Tensor x = Tensor::from({1.f, 2.f});
  EXPECT_EQ(x.shape(), (Shape{2}));
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1, 2}));
  EXPECT_EQ(Tensor::from({1, 2}).dtype(), DType::kI32);
  EXPECT_EQ(Tensor::from({1.0, 2.0}).dtype(), DType::kF64);
  EXPECT_EQ(Tensor::from({int64(1)}).dtype(), DType::kI64);
  EXPECT_EQ(Tensor::from({true, false}).to_vector<bool>(), (std::vector<bool>{true, false}));
  EXPECT_EQ(Tensor::from({1.f, 2.f, 3.f, 4.f}, {2, 2}).shape(), (Shape{2, 2}));
  EXPECT_EQ(Tensor::from({3.f}, Shape{}).item<float>(), 3);
  EXPECT_ERROR(Tensor::from({1.f, 2.f}, {3}), kShapeMismatch,
               "from: shape [3] needs 3 values, got 2");
}

TEST(Tensor, IsMadeOfValuesOfEveryElementType) {
  for (int d = 0; d < StoredTypes::kSize; d++)
    dispatch(DType(d), StoredTypes{}, [&]<class T>() {
      const Tensor x = Tensor::from({T{}, T{}});
      EXPECT_EQ(describe(x), std::string(dtype_name(DType(d))) + "[2]");
    });
}

TEST(Tensor, IsMadeOfNestedValues) {
  const Tensor x = Tensor::from({{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}});
  EXPECT_EQ(x.shape(), (Shape{2, 3}));
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(Tensor::from({{7}}).shape(), (Shape{1, 1}));
  const Tensor y = Tensor::from({{{1, 2}}, {{3, 4}}, {{5, 6}}});
  EXPECT_EQ(y.shape(), (Shape{3, 1, 2}));
  EXPECT_EQ(y.to_vector<int32>(), (std::vector<int32>{1, 2, 3, 4, 5, 6}));
  EXPECT_ERROR(Tensor::from({{1, 2}, {3}}), kShapeMismatch,
               "from: expected lists of one length, got 2 and 1");
  EXPECT_ERROR(Tensor::from({{{1}, {2}}, {{3}}}), kShapeMismatch, "got 2 and 1");
  EXPECT_ERROR(Tensor::from({{{1}}, {{2, 3}}}), kShapeMismatch, "got 1 and 2");
}

TEST(Tensor, AVectorOfBoolIsDataToo) {
  const std::vector<bool> values{true, false, true, true};
  EXPECT_EQ(Tensor::from(values).to_vector<bool>(), values);
  EXPECT_EQ(Tensor::from(values, {2, 2}).to_vec2<bool>()[1], (std::vector<bool>{true, true}));
  EXPECT_ERROR(Tensor::from(values, {3}), kShapeMismatch, "from: shape [3] needs 3 values, got 4");
}

TEST(Tensor, DTypesHaveNames) {
  for (int d = 0; d < kNumDTypes; d++)
    EXPECT_EQ(dtype_of_name(dtype_name(DType(d))), DType(d)) << dtype_name(DType(d));
  for (const char* name : {"float", "F32", "", "?"})
    EXPECT_ERROR(dtype_of_name(name), kInvalidArgument,
                 "dtype_of_name: unknown dtype \"" + std::string(name) +
                     "\", expected one of bool, u8, i8, u16, i16, u32, i32, u64, i64, f4,");
}

TEST(Tensor, TheNumberOfValuesMustFitTheShape) {
  EXPECT_ERROR(Tensor::from(counting(5), {2, 3}), kShapeMismatch,
               "from: shape [2, 3] needs 6 values, got 5");
  EXPECT_ERROR(Tensor::from(counting(1), Shape{0}), kShapeMismatch,
               "from: shape [0] needs 0 values, got 1");
}

TEST(Tensor, SizesThatMakeNoSenseAreRefused) {
  EXPECT_ERROR(Tensor::empty({2, -1}), kInvalidArgument,
               "expected sizes of at least 0, got [2, -1]");
  EXPECT_ERROR(Tensor::empty({int64_t{1} << 40, int64_t{1} << 40}), kInvalidArgument,
               "more than 2^63 bytes");
  EXPECT_EQ(Tensor::empty({int64_t{1} << 62, 0, int64_t{1} << 62}).numel(), 0);
}

TEST(Tensor, AValueThatIsNoDTypeIsRefused) {
  EXPECT_ERROR(Tensor::empty({2}, {.dtype = DType(200)}), kInvalidArgument,
               "tensor: unknown dtype 200");
}

TEST(Tensor, MoreThanTheMachineHasIsOutOfMemory) {
  EXPECT_ERROR(Tensor::empty({int64_t{1} << 58}), kOutOfMemory,
               "tensor: no room on cpu for 1152921504606846976 bytes");
}

TEST(Tensor, AScalarHasNoDimAndOneElement) {
  const Tensor x = Tensor::from(counting(1), Shape{});
  EXPECT_EQ(x.rank(), 0);
  EXPECT_EQ(x.numel(), 1);
  EXPECT_EQ(x.item<float>(), 0.0f);
}

TEST(Tensor, NothingHasNoElements) {
  const Tensor x = Tensor::from(std::vector<float>{}, {3, 0});
  EXPECT_EQ(x.numel(), 0);
  EXPECT_TRUE(x.to_vector<float>().empty());
}

TEST(Tensor, ReadingAsAnotherTypeIsAnError) {
  const Tensor x = Tensor::from(counting(1));
  EXPECT_ERROR(x.item<double>(), kDTypeMismatch, "item: expected the tensor's dtype f32, got f64");
  EXPECT_ERROR(x.to_vector<int64>(), kDTypeMismatch,
               "to_vector: expected the tensor's dtype f32, got i64");
}

TEST(Tensor, ItemWantsOneElement) {
  EXPECT_EQ(Tensor::from(counting(1), {1, 1}).item<float>(), 0.0f);
  EXPECT_ERROR(Tensor::from(counting(2)).item<float>(), kShapeMismatch,
               "item: expected one element, got shape [2]");
  EXPECT_ERROR(Tensor::empty({0}).item<float>(), kShapeMismatch,
               "item: expected one element, got shape [0]");
}

TEST(Tensor, AdoptedMemoryIsUsedAsItLiesAndReleasedOnce) {
  std::vector<float> values = counting(6);
  int released = 0;
  {
    Tensor view;
    {
      const Tensor x = Tensor::adopt(values.data(), DType::kF32, {2, 3}, [&] { released++; });
      EXPECT_EQ(x.data(), values.data());
      values[0] = 100;
      EXPECT_EQ(x.to_vector<float>()[0], 100.0f);
      view = narrow(x, 0, 1, 1);
    }
    EXPECT_EQ(released, 0);  // the view still looks into it
    EXPECT_EQ(view.to_vector<float>(), (std::vector<float>{3, 4, 5}));
  }
  EXPECT_EQ(released, 1);
}

TEST(Tensor, AdoptedMemoryIsNeverWrittenOver) {
  std::vector<float> values = {1, 2};
  Tensor x = Tensor::adopt(values.data(), DType::kF32, {2}, nullptr);
  const Tensor y = neg(std::move(x));
  EXPECT_EQ(values, (std::vector<float>{1, 2}));
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{-1, -2}));
}

TEST(Tensor, ACopyIsTheSameTensor) {
  const Tensor x = Tensor::from(counting(3));
  const Tensor y = x;
  EXPECT_TRUE(x.same(y));
  EXPECT_EQ(x.data(), y.data());
  EXPECT_FALSE(x.uniquely_owned());
}

TEST(Tensor, AViewShowsItsOwnElementsInItsOwnOrder) {
  const Tensor x = Tensor::from(counting(12), {3, 4});
  const Tensor view = transpose(narrow(x, 1, 1, 2));  // [2, 3]
  EXPECT_FALSE(view.is_contiguous());
  EXPECT_EQ(view.storage(), x.storage());
  EXPECT_EQ(view.to_vector<float>(), (std::vector<float>{1, 5, 9, 2, 6, 10}));
  EXPECT_EQ(view.contiguous().strides(), (Dims{3, 1}));
  EXPECT_EQ(view.contiguous().to_vector<float>(), view.to_vector<float>());
  EXPECT_TRUE(x.contiguous().same(x));
}

TEST(Tensor, GoesToAnotherDeviceAndBack) {
  const Tensor x = Tensor::from(counting(12), {3, 4});
  for (const int wave : {32, 64}) {
    const Device emulated = Device::emulated(wave);
    const Tensor there = x.to(emulated);
    EXPECT_TRUE(there.device() == emulated);
    EXPECT_NE(there.storage(), x.storage());
    EXPECT_EQ(there.to_vector<float>(), counting(12));
    EXPECT_EQ(there.to(Device::cpu()).to_vector<float>(), counting(12));
    EXPECT_TRUE(there.to(emulated).same(there));
  }
  EXPECT_TRUE(x.to(Device::cpu()).same(x));
}

TEST(Tensor, GoesFromOneEmulatorToTheOther) {
  const Tensor x = Tensor::from(counting(5), Device::emulated(32));
  EXPECT_EQ(x.to(Device::emulated(64)).to_vector<float>(), counting(5));
}

TEST(Tensor, AViewMovesItsOwnElementsAlone) {
  const Tensor x = Tensor::from(counting(1000), {10, 100});
  const Tensor there = narrow(x, 1, 7, 2).to(Device::emulated(32));
  EXPECT_EQ(there.storage()->bytes(), 20 * 4);
  EXPECT_TRUE(there.is_contiguous());
  EXPECT_EQ(there.to_vector<float>(), narrow(x, 1, 7, 2).to_vector<float>());
  EXPECT_EQ(Tensor::empty({0, 3}).to(Device::emulated(32)).shape(), (Shape{0, 3}));
}

TEST(Tensor, DescribesItself) {
  EXPECT_EQ(describe(Tensor::from(counting(6), {2, 3})), "f32[2, 3]");
  EXPECT_EQ(describe(Tensor::empty({}, {.dtype = DType::kI64, .device = Device::emulated(64)})),
            "i64[] emu:64");
}

TEST(Tensor, OperandsOnTwoDevicesAreAnError) {
  const Tensor x = Tensor::from(counting(2));
  EXPECT_ERROR(x + x.to(Device::emulated(32)), kDeviceMismatch,
               "add: operands are on cpu and emu:32");
}

}  // namespace
}  // namespace wick
