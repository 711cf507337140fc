// The table of all gfx architectures that wick knows. The runtime includes it, and
// scripts/list-amd-objects parses its text.
#pragma once
#include <string_view>

#include "device/pass.h"

namespace wick::gpu {

struct Target {
  const char* name;     // as clang's --offload-arch and, before the first ':', as HIP's gcnArchName
  const char* generic;  // the generic target whose code runs here too; "" for none
  unsigned family;      // of device/pass.h
};

// Generic targets and what runs them: LLVM's "User Guide for AMDGPU Backend", Generic Processors.
// Some cards have generic code only.
inline constexpr Target kTargets[] = {
    {"gfx900", "gfx9-generic", kGfx9},
    {"gfx902", "gfx9-generic", kGfx9},
    {"gfx904", "gfx9-generic", kGfx9},
    {"gfx906", "gfx9-generic", kGfx9},
    {"gfx908", "", kGfx9},
    {"gfx909", "gfx9-generic", kGfx9},
    {"gfx90c", "gfx9-generic", kGfx9},
    {"gfx90a", "", kCdna2},
    {"gfx942", "gfx9-4-generic", kCdna3},
    {"gfx950", "gfx9-4-generic", kCdna3},
    {"gfx1010", "gfx10-1-generic", kRdna2},
    {"gfx1011", "gfx10-1-generic", kRdna2},
    {"gfx1012", "gfx10-1-generic", kRdna2},
    {"gfx1013", "gfx10-1-generic", kRdna2},
    {"gfx1030", "gfx10-3-generic", kRdna2},
    {"gfx1031", "gfx10-3-generic", kRdna2},
    {"gfx1032", "gfx10-3-generic", kRdna2},
    {"gfx1033", "gfx10-3-generic", kRdna2},
    {"gfx1034", "gfx10-3-generic", kRdna2},
    {"gfx1035", "gfx10-3-generic", kRdna2},
    {"gfx1036", "gfx10-3-generic", kRdna2},
    {"gfx1100", "gfx11-generic", kRdna3},
    {"gfx1101", "gfx11-generic", kRdna3},
    {"gfx1102", "gfx11-generic", kRdna3},
    {"gfx1103", "gfx11-generic", kRdna3},
    {"gfx1150", "gfx11-generic", kRdna3},
    {"gfx1151", "gfx11-generic", kRdna3},
    {"gfx1152", "gfx11-generic", kRdna3},
    {"gfx1153", "gfx11-generic", kRdna3},
    {"gfx1200", "gfx12-generic", kRdna4},
    {"gfx1201", "gfx12-generic", kRdna4},
    {"gfx9-generic", "", kGfx9},
    {"gfx9-4-generic", "", kCdna3},
    {"gfx10-1-generic", "", kRdna2},
    {"gfx10-3-generic", "", kRdna2},
    {"gfx11-generic", "", kRdna3},
    {"gfx12-generic", "", kRdna4},
};

/// The wave width of a family's code: kDeviceWave of pass.h, for the host.
constexpr int wave_of_family(unsigned family) {
  return family & (kGfx9 | kCdna2 | kCdna3) ? 64 : 32;
}

/// "gfx942" of "gfx942:sramecc+:xnack-". The module's objects run with either setting of both features.
constexpr std::string_view base_architecture(std::string_view full) {
  return full.substr(0, full.find(':'));
}

/// Returns nullptr for an unknown architecture.
constexpr const Target* find_target(std::string_view full) {
  for (const Target& target : kTargets)
    if (base_architecture(full) == target.name) return &target;
  return nullptr;
}

}  // namespace wick::gpu
