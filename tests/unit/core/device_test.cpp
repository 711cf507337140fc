#include "wick/core/device.h"

#include <filesystem>

#include "../expect.h"
#include "core/lost_results.h"
#include "wick/abi/backend.h"
#include "wick/core/tensor.h"

namespace wick {
namespace {

TEST(DeviceLocation, DisplaysAsItIsParsed) {
  EXPECT_EQ(to_string(DeviceLocation{}), "cpu");
  EXPECT_EQ(to_string(DeviceLocation{DeviceKind::kRocm, 0}), "rocm:0");
  EXPECT_EQ(to_string(DeviceLocation{DeviceKind::kCuda, 1}), "cuda:1");
  EXPECT_EQ(to_string(DeviceLocation{DeviceKind::kMetal, 0}), "metal");
  EXPECT_EQ(to_string(DeviceLocation{DeviceKind::kEmulated, 32}), "emu:32");
}

TEST(Device, TheCpuIsOneDevice) {
  EXPECT_EQ(to_string(Device::parse("cpu")), "cpu");
  EXPECT_TRUE(Device() == Device::cpu());
  EXPECT_TRUE(Device::cpu().same_device(Device::parse("cpu")));
  EXPECT_EQ(Device::cpu().location(), DeviceLocation{});
  EXPECT_TRUE(Device::cpu().is_cpu());
  EXPECT_FALSE(Device::cpu().is_rocm() || Device::cpu().is_cuda() || Device::cpu().is_metal() ||
               Device::cpu().is_emulated());
}

TEST(Device, TheEmulatorIsNamedByItsWave) {
  for (const int wave : {32, 64}) {
    const std::string name = "emu:" + std::to_string(wave);
    const Device device = Device::parse(name);
    EXPECT_EQ(to_string(device), name);
    EXPECT_TRUE(device.is_emulated());
    EXPECT_EQ(device.ordinal(), wave);
    EXPECT_EQ(device.info().wave, wave);
    EXPECT_TRUE(device == Device::emulated(wave));
    EXPECT_FALSE(device == Device::cpu());
  }
  EXPECT_FALSE(Device::emulated(32) == Device::emulated(64));
  EXPECT_ERROR(Device::emulated(16), kDeviceMissing,
               "emu:16: no such device; there are emu:32, emu:64");
}

TEST(Device, TextsThatNameNoneAreRefused) {
  for (const char* text :
       {"", "gpu", "CPU", "cpu:0", "emu", "rocm:", "rocm:x", "rocm:-1", "rocm:0x", "rocm: 0", ":0",
        "rocm:0:1", " cpu", "cuda:99999999999", "emu:32 "}) {
    EXPECT_ERROR(Device::parse(text), kInvalidArgument,
                 "device: expected cpu, rocm[:N], cuda[:N], metal, emu:32, emu:64 or auto, got \"" +
                     std::string(text) + "\"");
  }
}

TEST(Device, MetalIsAClearError) {
  EXPECT_ERROR(Device::metal(), kUnsupported, "metal: there is no Metal backend");
  EXPECT_ERROR(Device::parse("metal"), kUnsupported, "metal: there is no Metal backend");
  EXPECT_ERROR(Device::parse("metal:1"), kUnsupported, "there is no Metal backend");
}

/// rocm and cuda: on a machine with a card the device, else an error that says which of module,
/// runtime and card is missing.
void expect_card_or_reason(const char* text, DeviceKind kind) {
  try {
    const Device device = Device::parse(text);
    EXPECT_EQ(device.kind(), kind);
  } catch (const Error& e) {
    EXPECT_TRUE(e.code() == ErrorCode::kModuleMissing || e.code() == ErrorCode::kRuntimeMissing ||
                e.code() == ErrorCode::kDeviceMissing)
        << e.what();
    EXPECT_EQ(std::string(e.what()).find(to_string(DeviceLocation{kind, 0}) + ": "), 0u)
        << e.what();
  }
}
TEST(Device, ACardIsThereOrTheReasonIs) {
  expect_card_or_reason("rocm", DeviceKind::kRocm);
  expect_card_or_reason("rocm:0", DeviceKind::kRocm);
  expect_card_or_reason("cuda", DeviceKind::kCuda);
  expect_card_or_reason("cuda:0", DeviceKind::kCuda);
  EXPECT_EQ(rocm_is_available(), rocm_device_count() > 0);
  EXPECT_EQ(cuda_is_available(), cuda_device_count() > 0);
}

TEST(Device, IfAvailableNeverFails) {
  EXPECT_TRUE(Device::rocm_if_available(12345).is_cpu());
  EXPECT_TRUE(Device::cuda_if_available(12345).is_cpu());
}

TEST(Device, BestIsNeverAnEmulator) {
  EXPECT_FALSE(Device::best().is_emulated());
  EXPECT_TRUE(Device::parse("auto") == Device::best());
}

TEST(Device, PreferredDTypeIsF32WhereThereIsNoCard) {
  EXPECT_EQ(Device::cpu().preferred_dtype(), DType::kF32);
  EXPECT_EQ(Device::emulated(32).preferred_dtype(), DType::kF32);
}

TEST(Device, KeepsItsSeed) {
  const Device device = Device::emulated(64);
  device.set_seed(42);
  EXPECT_EQ(device.current_seed(), 42u);
  Device::cpu().set_seed(7);
  EXPECT_EQ(device.current_seed(), 42u);
}

TEST(Device, HandlesOfAnotherKindNameBothDevices) {
  EXPECT_ERROR(as_rocm(Device::cpu()), kDeviceMismatch, "as_rocm: expected a rocm device, got cpu");
  EXPECT_ERROR(as_cuda(Device::emulated(32)), kDeviceMismatch,
               "as_cuda: expected a cuda device, got emu:32");
}

TEST(Device, MemoryOfAnotherKindNamesBothDevices) {
  const Tensor x = Tensor::from({1.f, 2.f});
  EXPECT_ERROR(x.as_rocm(), kDeviceMismatch,
               "as_rocm: expected a tensor on a rocm device, got one on cpu");
  EXPECT_ERROR(x.to(Device::emulated(64)).as_cuda(), kDeviceMismatch,
               "as_cuda: expected a tensor on a cuda device, got one on emu:64");
}

TEST(Device, LostResultsAreReportedOnceAtItsNextSynchronization) {
  const Device device = Device::emulated(32);
  const Tensor x = Tensor::from({1.f, 2.f}).to(device);
  report_lost_results(device.state(), ErrorCode::kIo, "rank 1 has died");
  Device::cpu().synchronize();
  EXPECT_ERROR(x.to_vector<float>(), kIo, "synchronize: rank 1 has died");
  EXPECT_EQ(x.to_vector<float>()[1], 2);
  report_lost_results(device.state(), ErrorCode::kIo, "rank 1 has died");
  forget_lost_results(device.state());
  device.synchronize();
}

}  // namespace
}  // namespace wick
