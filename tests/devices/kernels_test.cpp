// Cards serve what the CPU serves.
#include <gtest/gtest.h>

#include <algorithm>

#include "absent.h"
#include "wick/core/backend.h"

namespace wick::test {
namespace {

class Cards : public testing::TestWithParam<const char*> {};

TEST_P(Cards, HaveKernelsOfWhatTheCpuHas) {
  std::string why;
  const std::optional<Device> card = find_device(GetParam(), &why);
  if (!card) GTEST_SKIP() << why;
  int served = 0;
  for (const Op* op : ops_of(Device::cpu())) {
    for (int d = 0; d < kNumDTypes; d++) {
      if (kernels_of(Device::cpu(), *op, DType(d)).empty()) continue;
      EXPECT_FALSE(kernels_of(*card, *op, DType(d)).empty())
          << op->name << ": no " << dtype_name(DType(d)) << " kernel";
      served++;
    }
  }
  EXPECT_GE(served, 1000);
}
INSTANTIATE_TEST_SUITE_P(, Cards, testing::Values("emu:32", "emu:64", "rocm:0", "cuda:0"),
                         [](const testing::TestParamInfo<const char*>& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), ':', '_');
                           return name;
                         });

}  // namespace
}  // namespace wick::test
