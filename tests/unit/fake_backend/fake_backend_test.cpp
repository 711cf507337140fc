#include "fake_backend.h"

#include <cmath>

#include "../expect.h"
#include "wick/wick.h"

namespace wick {
namespace {

Device fake_device() {
  static const DeviceKind kind = register_backend(fake::backend());
  return Device::at({kind, 0});
}

/// Values without a pattern, and targets for them.
Tensor logits(int64_t rows, int64_t columns) {
  std::vector<float> values;
  for (int64_t i = 0; i < rows * columns; i++) values.push_back(float(i * 37 % 101) / 7 - 5);
  return Tensor::from(values, {rows, columns});
}
Tensor targets(int64_t rows, int64_t columns) {
  std::vector<int64> values;
  for (int64_t i = 0; i < rows; i++) values.push_back(i * 5 % columns);
  return Tensor::from(values);
}

TEST(FakeBackend, IsADeviceLikeTheOthers) {
  const Device device = fake_device();
  EXPECT_EQ(to_string(device), "fake:0");
  EXPECT_TRUE(Device::parse("fake:0") == device);
  EXPECT_TRUE(Device::parse("fake") == device);
  EXPECT_STREQ(device.info().name, "Fake");
  const BackendStatus status = backend_status().back();
  EXPECT_EQ(status.name, "fake");
  EXPECT_EQ(status.devices.size(), 1u);
}

TEST(FakeBackend, RunsCrossEntropyWithTheCpusResult) {
  const Device device = fake_device();
  for (const int64_t rows : {1, 7}) {
    const Tensor x = logits(rows, 33), y = targets(rows, 33);
    const int before = fake::launches();
    const Tensor loss = cross_entropy(x.to(device), y.to(device));
    EXPECT_GE(fake::launches() - before, 8);  // its own kernels have done it
    EXPECT_TRUE(loss.device() == device);
    const float expected = cross_entropy(x, y).item<float>();
    EXPECT_GT(expected, 1.0f);
    EXPECT_NEAR(loss.item<float>(), expected, 4e-6f * expected);
  }
}

TEST(FakeBackend, RunsItOnStridedViews) {
  const Device device = fake_device();
  const Tensor x = logits(33, 9), y = targets(7, 33);
  const Tensor view = narrow(transpose(x.to(device)), 0, 1, 7);  // [7, 33]
  const Tensor expected = cross_entropy(narrow(transpose(x), 0, 1, 7), y);
  EXPECT_NEAR(cross_entropy(view, y.to(device)).item<float>(), expected.item<float>(), 2e-5f);
}

TEST(FakeBackend, ItsOwnErrorsComeThrough) {
  const Device device = fake_device();
  const Tensor x = logits(2, 5).to(device),
               wrong = Tensor::from(std::vector<int64>{0, 5}).to(device);
  EXPECT_ERROR(cross_entropy(x, wrong), kOutOfRange,
               "cross_entropy: id 5 is outside [0, 5) on fake:0");
}

TEST(FakeBackend, KernelsThatDoNotSaySoNeverWriteOverWhatTheyRead) {
  const Device device = fake_device();
  Var x(logits(2, 5).to(device), false);
  const Tensor one = ones({2, 5}).to(device);
  sub_(x, one);
  neg_(x);
  EXPECT_EQ(x.tensor().to_vector<float>(), neg(logits(2, 5) - 1).to_vector<float>());
  Tensor y = x.tensor().to(Device::cpu()).to(device);
  y = neg(std::move(y));
  y = std::move(y) / one;
  EXPECT_EQ(y.to_vector<float>(), (logits(2, 5) - 1).to_vector<float>());
}

TEST(FakeBackend, AnOpWithoutARowIsUnsupported) {
  const Tensor x = logits(4, 4).to(fake_device());
  EXPECT_ERROR(cumsum(x, 0), kUnsupported, "cumsum: no f32 kernel on fake:0, no composite");
  EXPECT_ERROR(x + x, kUnsupported, "add: no f32 kernel on fake:0, no composite");
}

TEST(FakeBackend, AnotherDTypeIsUnsupported) {
  const Tensor x = Tensor::from(std::vector<double>{1, 2}).to(fake_device());
  EXPECT_ERROR(neg(x), kUnsupported, "neg: no f64 kernel on fake:0, no composite");
  EXPECT_ERROR(cast(x, DType::kF32), kUnsupported, "cast: no f64 kernel on fake:0, no composite");
}

TEST(FakeBackend, ARowThatDeclinesSaysWhy) {
  const Tensor x = logits(4, 4).to(fake_device());
  EXPECT_EQ(maximum(x, x).to_vector<float>(), logits(4, 4).to_vector<float>());
  EXPECT_ERROR(
      maximum(x, transpose(x)), kUnsupported,
      "maximum: no f32 kernel on fake:0 accepts the call: the fake backend's maximum wants "
      "contiguous operands; no composite");
}

TEST(FakeBackend, AKernelThatAddsInAnyOrderIsRefusedInDeterministicMode) {
  const Device device = fake_device();
  const Tensor x = logits(3, 2).to(device), ids = targets(3, 2).to(device);
  const std::vector<float> sums = index_add(x, 0, ids, x).to_vector<float>();
  EXPECT_EQ(sums, index_add(logits(3, 2), 0, targets(3, 2), logits(3, 2)).to_vector<float>());
  set_deterministic(true);
  EXPECT_ERROR(index_add(x, 0, ids, x), kUnsupported,
               "index_add: no f32 kernel of scatter_add on fake:0 accepts the call: its order of "
               "summation varies, which set_deterministic(true) forbids; no composite");
  set_deterministic(false);
  EXPECT_EQ(index_add(x, 0, ids, x).to_vector<float>(), sums);
}

TEST(FakeBackend, AKernelThatRoundsToTf32RunsOnlyIfThatIsPermitted) {
  const Device device = fake_device();
  const Tensor a = Tensor::from(std::vector<float>{1 + 0x1p-12f, 2, 3, 4}, {2, 2}).to(device);
  const Tensor b = Tensor::from(std::vector<float>{1, 0, 0, 1}, {2, 2}).to(device);
  EXPECT_ERROR(matmul(a, b), kUnsupported,
               "matmul: no f32 kernel on fake:0 accepts the call: it rounds f32 operands, which "
               "set_matmul_precision does not permit; no composite");
  set_matmul_precision(MatmulPrecision::kTf32);
  EXPECT_EQ(matmul(a, b).to_vector<float>(), (std::vector<float>{1, 2, 3, 4}));
  set_matmul_precision(MatmulPrecision::kF32);
}

TEST(FakeBackend, AFusedOpFallsBackOnItsCompositeWhichMayLackAPartItself) {
  const Tensor x = logits(2, 3).to(fake_device());
  // Its first part is maximum(-x, 0), a broadcast.
  EXPECT_ERROR(
      silu(x), kUnsupported,
      "silu: no f32 kernel of maximum on fake:0 accepts the call: the fake backend's maximum "
      "wants contiguous operands");
  const CompositeScope never(CompositeMode::kNever);
  EXPECT_ERROR(silu(x), kUnsupported,
               "silu: no f32 kernel on fake:0, its composite is switched off");
}

TEST(FakeBackend, NothingIsMovedToTheCpuSilently) {
  const Tensor x = logits(2, 3).to(fake_device());
  EXPECT_ERROR(sqrt(x), kUnsupported, "sqrt: no f32 kernel on fake:0");
  EXPECT_TRUE(exp(x).device() == fake_device());
}

}  // namespace
}  // namespace wick
