// A module whose card is scripted: TEST_DEVICES says how many there are, TEST_WHY_NONE what it says
// when there is none, TEST_RUNTIME what it says of its runtime.
#include "core/scripted_backend.h"

extern "C" __attribute__((visibility("default"))) const wick::Backend* wick_backend() {
  static wick::Backend backend = wick::test::scripted::table("rocm");
  if (std::getenv("TEST_RUNTIME"))
    backend.describe_runtime = [] { return const_cast<const char*>(std::getenv("TEST_RUNTIME")); };
  if (const char* devices = std::getenv("TEST_DEVICES"))
    wick::test::script.devices = std::atoi(devices);
  wick::test::script.why_none = std::getenv("TEST_WHY_NONE");
  return &backend;
}
