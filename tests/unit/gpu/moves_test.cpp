// Tensors go between any two of the devices that are here: the CPU, both emulators, and cards, several of
// one vendor or of two.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "../expect.h"
#include "devices/absent.h"
#include "wick/wick.h"

namespace wick {
namespace {

struct Pair {
  const char *from, *to;
};
std::string name_of(const testing::TestParamInfo<Pair>& info) {
  std::string name = std::string(info.param.from) + "_to_" + info.param.to;
  for (char& c : name)
    if (c == ':') c = '_';
  return name;
}

class Moves : public testing::TestWithParam<Pair> {
 protected:
  void SetUp() override {
    std::string why;
    const auto from = test::find_device(GetParam().from, &why);
    const auto to = from ? test::find_device(GetParam().to, &why) : from;
    if (!to) GTEST_SKIP() << why;
    from_ = *from, to_ = *to;
  }
  /// x's values after a way over both devices and back.
  static std::vector<float> floats(const Tensor& x) {
    return x.to(Device::cpu()).to(DType::kF32).to_vector<float>();
  }
  Tensor counting(const Shape& shape, DType dtype = DType::kF32) const {
    return reshape(arange(0, numel(shape), 1, {.dtype = DType::kF32}), shape).to(dtype).to(from_);
  }
  Device from_, to_;
};

TEST_P(Moves, EveryDTypeKeepsItsBits) {
  for (int d = 0; d < kNumDTypes; d++) {
    const DType dtype = DType(d);
    if (is_block(dtype)) continue;
    std::vector<uint8_t> bytes(size_t(37 * dtype_size(dtype)));
    for (size_t i = 0; i < bytes.size(); i++) bytes[i] = uint8_t(i * 89 + 7);
    const auto release = [] {};
    const Tensor x = Tensor::adopt(bytes.data(), dtype, {37}, release);
    const Tensor moved = x.to(from_).to(to_);
    EXPECT_TRUE(moved.device() == to_) << dtype_name(dtype);
    EXPECT_EQ(moved.dtype(), dtype);
    std::vector<uint8_t> got(bytes.size());
    moved.read(got.data());
    EXPECT_EQ(got, bytes) << dtype_name(dtype);
  }
}

TEST_P(Moves, BlocksKeepTheirBits) {
  const Tensor x = reshape(arange(0, 512, 1, {.dtype = DType::kF32}), {2, 256}).to(DType::kQ4_0);
  const Tensor moved = x.to(from_).to(to_);
  std::vector<uint8_t> got(size_t(bytes_of(x.dtype(), x.numel()))), expected(got.size());
  moved.read(got.data());
  x.read(expected.data());
  EXPECT_EQ(got, expected);
}

TEST_P(Moves, AViewMovesItsOwnElements) {
  const Tensor x = counting({40, 50});
  const Tensor views[] = {transpose(x), narrow(x, 1, 7, 2), narrow(transpose(x), 0, 3, 5),
                          broadcast_to(narrow(x, 0, 2, 1), {6, 50}),
                          index(x, {Slice{}, Slice{1, 50, 7}})};
  for (const Tensor& view : views) {
    const Tensor moved = view.to(to_);
    EXPECT_EQ(moved.shape(), view.shape());
    EXPECT_EQ(floats(moved), floats(view.contiguous()));
    if (from_ == to_) continue;  // then it is the view itself
    EXPECT_TRUE(moved.is_contiguous());
    EXPECT_EQ(moved.storage()->bytes(), moved.numel() * 4);
  }
}

TEST_P(Moves, ScalarsAndEmptyTensors) {
  EXPECT_EQ(floats(counting({}).to(to_)), std::vector<float>{0});
  const Tensor nothing = counting({3, 0, 2}).to(to_);
  EXPECT_EQ(nothing.shape(), (Shape{3, 0, 2}));
  EXPECT_TRUE(nothing.device() == to_);
}

TEST_P(Moves, WaitsForTheWorkThatMakesTheTensor) {
  for (int i = 0; i < 20; i++) {
    Tensor x = counting({1000, 30});
    for (int k = 0; k < 4; k++) x = x + x;
    const Tensor moved = x.to(to_);
    x = Tensor();  // its memory may be taken by the next tensor at once
    const Tensor other = zeros({1000, 30}, {.device = from_}) - 1;
    const std::vector<float> got = floats(moved + 1);
    for (size_t e = 0; e < got.size(); e += 997) ASSERT_EQ(got[e], 16 * float(e) + 1) << i;
  }
}

TEST_P(Moves, SeveralThreadsMoveAtOnce) {
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (int t = 0; t < 4; t++)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5; i++) {
        const float scale = float(t + 1);
        const std::vector<float> got = floats((counting({50, 20}) * scale).to(to_) * 2);
        for (size_t e = 0; e < got.size(); e++) wrong[size_t(t)] += got[e] != 2 * scale * float(e);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4));
}

TEST_P(Moves, AGradientComesBack) {
  const Var x(counting({5, 4}));
  const Tensor y = sum(square(x.tensor().to(to_) * 3));
  backward(y);
  EXPECT_TRUE(x.grad().device() == from_);
  const std::vector<float> got = floats(x.grad());
  for (size_t e = 0; e < got.size(); e++) EXPECT_EQ(got[e], 18 * float(e));
}

TEST_P(Moves, ThereIsNoMetal) {
  EXPECT_ERROR(counting({2}).to(Device::metal()), kUnsupported, "there is no Metal backend");
  EXPECT_ERROR(Device::parse("metal:0"), kUnsupported, "there is no Metal backend");
}

std::vector<Pair> all_pairs() {
  static const char* const names[] = {"cpu",    "emu:32", "emu:64", "rocm:0",
                                      "rocm:1", "cuda:0", "cuda:1"};
  std::vector<Pair> pairs;
  for (const char* from : names)
    for (const char* to : names) pairs.push_back({from, to});
  return pairs;
}
INSTANTIATE_TEST_SUITE_P(Devices, Moves, testing::ValuesIn(all_pairs()), name_of);

}  // namespace
}  // namespace wick
