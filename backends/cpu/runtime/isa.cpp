#include "runtime/isa.h"

#include "base/environment.h"
#include "wick/base/error.h"

namespace wick::cpu {

Isa machine_isa() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("x86-64-v4")) return Isa::kAvx512;
  if (__builtin_cpu_supports("x86-64-v3")) return Isa::kAvx2;
  check(__builtin_cpu_supports("x86-64-v2"), ErrorCode::kUnsupported, "cpu",
        "expected a processor of x86-64-v2 or newer, got one without SSE4.2");
  return Isa::kBaseline;
}

Isa choose_isa(Isa machine, std::optional<std::string_view> wish) {
  if (!wish) return machine;
  for (int i = 0; i < kNumIsas; i++) {
    if (*wish != kIsaNames[i]) continue;
    check(i <= int(machine), ErrorCode::kUnsupported, "WICK_CPU", "this machine lacks ", *wish,
          " (", kArchitectures[i], "), it has ", kIsaNames[int(machine)], " (",
          kArchitectures[int(machine)], ")");
    return Isa(i);
  }
  fail(ErrorCode::kInvalidArgument, "WICK_CPU", "expected baseline, avx2 or avx512, got \"", *wish,
       "\"");
}

Isa isa() {
  static const Isa chosen = choose_isa(machine_isa(), environment("WICK_CPU"));
  return chosen;
}

}  // namespace wick::cpu
