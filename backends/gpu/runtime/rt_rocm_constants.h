// Constants that configure ocml, the math library of rocm-device-libs. The compiler's command line
// includes this file into every device pass, since the packaged files of these constants end at
// gfx1036.
#pragma once

namespace wick::gpu {

/// 1000 major + 100 minor + stepping: 9402 of "gfx942", 9010 of "gfx90a", 10300 of
/// "gfx10_3_generic".
constexpr int isa_version(const char* processor) {
  const char* p = processor + 3;
  int length =
      0;  // of the digits; the last two of an exact target are hexadecimal: minor and stepping
  while (p[length] != 0 && p[length] != '_') length++;
  const bool generic =
      p[length] == '_';  // "gfx11_generic": major; "gfx9_4_generic": major and minor
  const int major_digits = generic ? length : length - 2;
  int major = 0;
  for (int i = 0; i < major_digits; i++) major = 10 * major + (p[i] - '0');
  const auto digit = [](char c) {
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= '0' && c <= '9' ? c - '0' : 0;
  };
  const int minor =
      generic ? digit(p[length + 1]) : digit(p[length - 2]);  // 'g' of "generic" counts as 0
  return 1000 * major + 100 * minor + (generic ? 0 : digit(p[length - 1]));
}
static_assert(isa_version("gfx906") == 9006 && isa_version("gfx90a") == 9010 &&
              isa_version("gfx942") == 9402);
static_assert(isa_version("gfx1036") == 10306 && isa_version("gfx1151") == 11501);
static_assert(isa_version("gfx9_generic") == 9000 && isa_version("gfx9_4_generic") == 9400);
static_assert(isa_version("gfx10_3_generic") == 10300 && isa_version("gfx12_generic") == 12000);

}  // namespace wick::gpu

extern "C" {
#define WICK_DEVICE_CONSTANT __attribute__((device)) extern const
WICK_DEVICE_CONSTANT int __oclc_ISA_version = wick::gpu::isa_version(__amdgcn_processor__);
WICK_DEVICE_CONSTANT bool __oclc_daz_opt = false;  // keep subnormals
WICK_DEVICE_CONSTANT bool __oclc_unsafe_math_opt = false;
WICK_DEVICE_CONSTANT bool __oclc_finite_only_opt = false;
WICK_DEVICE_CONSTANT bool __oclc_correctly_rounded_sqrt32 = true;
#undef WICK_DEVICE_CONSTANT
}
