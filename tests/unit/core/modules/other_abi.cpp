// A module of a later version of wick.
#include "core/scripted_backend.h"

extern "C" __attribute__((visibility("default"))) const wick::Backend* wick_backend() {
  static wick::Backend backend = wick::test::scripted::table("rocm");
  backend.abi_version = wick::kAbiVersion + 1;
  return &backend;
}
