// What reading a tensor copies, counted by a device that hands all work on to the CPU.
#include "../expect.h"
#include "core/device_state.h"
#include "wick/wick.h"

namespace wick {
namespace {

int64 copied_to_host = 0;

Status counted_copy(int32 device, void* to, const void* from, int64 bytes, CopyKind kind,
                    void* stream) {
  if (kind == CopyKind::kDeviceToHost) copied_to_host += bytes;
  return Device::cpu().state().backend.copy(device, to, from, bytes, kind, stream);
}

Device counted() {
  static const DeviceKind kind = [] {
    static Backend table = Device::cpu().state().backend;
    table.name = "counted";
    table.copy = counted_copy;
    return register_backend(&table);
  }();
  return Device::at({kind, 0});
}

TEST(Display, AScalarReadCopiesOneElement) {
  const Tensor x = randint(0, 1000, {512, 512}).to(counted());
  copied_to_host = 0;
  for (const Tensor& one : {narrow(narrow(x, 0, 100, 1), 1, 7, 1),
                            narrow(narrow(transpose(x), 0, 100, 1), 1, 511, 1)}) {
    copied_to_host = 0;
    (void)one.item<int64>();
    EXPECT_EQ(copied_to_host, 8);
  }
}

TEST(Display, AViewsReadCopiesItsElements) {
  const Tensor x = randint(0, 1000, {512, 512}).to(counted());
  copied_to_host = 0;
  EXPECT_EQ(narrow(x, 1, 5, 3).to_vector<int64>().size(), 512u * 3);
  EXPECT_EQ(copied_to_host, 512 * 3 * 8);
}

TEST(Display, ALargeTensorsTextReadsItsEdges) {
  const Tensor x = arange(1 << 18).to(counted());
  copied_to_host = 0;
  EXPECT_EQ(to_string(x),
            "[     0,      1,      2,  ..., 262141, 262142, 262143]\n"
            "Tensor[[262144], i64, counted:0]");
  EXPECT_EQ(copied_to_host, 6 * 8);
  copied_to_host = 0;
  (void)to_string(reshape(x, {64, 64, 64}));
  EXPECT_EQ(copied_to_host, 6 * 6 * 6 * 8);
  copied_to_host = 0;
  EXPECT_EQ(debug_string(x), "Tensor[dims 262144; i64, counted:0]");
  EXPECT_EQ(copied_to_host, 0);
}

}  // namespace
}  // namespace wick
