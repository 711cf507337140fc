#include "core/peer_copies.h"

#include "../expect.h"
#include "core/transfer.h"
#include "scripted_backend.h"
#include "wick/core/backend.h"
#include "wick/core/tensor.h"

namespace wick {
namespace {

int direct_copies = 0;

/// From device 0 to 1 large copies lose their last byte, and copies to device 2 fail.
Status copy_peer(int32 to_device, void* to, int32 from_device, const void* from, int64 bytes,
                 void*) {
  direct_copies++;
  if (to_device == 2) return {StatusCode::kDeviceError, "the script says so"};
  const bool is_cut = from_device == 0 && to_device == 1 && bytes > 1 << 20;
  std::memcpy(to, from, size_t(bytes - is_cut));
  return {};
}

const Device& linked(int ordinal) {
  static const std::vector<Device> devices = [] {
    static Backend backend = test::scripted::table("linked");
    backend.copy_peer = copy_peer;
    test::script = {};
    test::script.devices = 3;
    const DeviceKind kind = register_backend(&backend);
    return std::vector{Device::at({kind, 0}), Device::at({kind, 1}), Device::at({kind, 2})};
  }();
  return devices[size_t(ordinal)];
}

TEST(PeerCopies, AreTestedOnceAndNotUsedIfTheyFail) {
  const Tensor x = Tensor::from({1.f, 2.f, 3.f}).to(linked(0));
  struct Case {
    int from, to;
    std::string failure;
  };
  for (const Case& c : {Case{1, 0, ""}, Case{0, 1, "a test copy of 4194308 bytes arrived wrong"},
                        Case{0, 2, "the script says so"}, Case{2, 1, ""}}) {
    EXPECT_EQ(copy_failure(linked(c.from), linked(c.to)), c.failure);
    const int before = direct_copies;
    const Tensor y = x.to(Device::cpu()).to(linked(c.from)).to(linked(c.to));
    EXPECT_EQ(y.device(), linked(c.to));
    EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{1, 2, 3}));
    EXPECT_EQ(transferred(y, linked(c.to)).to_vector<float>(), y.to_vector<float>());
    EXPECT_EQ(direct_copies - before, c.failure.empty() ? 1 : 0);
  }
  // The memory of the copies that were tests is free again.
  for (const int ordinal : {0, 1, 2}) linked(ordinal).empty_cache();
  EXPECT_EQ(test::script.allocated.size(), 1u) << "x alone";
}

TEST(PeerCopies, AreThoseOfOneBackend) {
  EXPECT_EQ(copy_failure(Device::cpu(), linked(0)), std::nullopt);
  EXPECT_EQ(copy_failure(linked(0), Device::emulated(32)), std::nullopt);
  EXPECT_EQ(copy_failure(linked(0), linked(0)), std::nullopt);
  EXPECT_EQ(copy_failure(Device::emulated(32), Device::emulated(64)), "");
}

}  // namespace
}  // namespace wick
