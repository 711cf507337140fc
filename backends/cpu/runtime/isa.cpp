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

unsigned built_isas() { return WICK_BUILT_ISAS; }

Isa choose_isa(Isa machine, std::optional<std::string_view> wish, unsigned built) {
  const auto is_built = [built](int i) { return (built >> i & 1) != 0; };
  const auto names_built = [&] {
    std::string names;
    for (int i = 0; i < kNumIsas; i++)
      if (is_built(i)) names += std::string(names.empty() ? "" : ", ") + kIsaNames[i];
    return names;
  };
  if (!wish) {
    for (int i = int(machine); i >= 0; i--)
      if (is_built(i)) return Isa(i);
    fail(ErrorCode::kUnsupported, "cpu", "this build has kernels for ", names_built(),
         " alone, this machine has ", kIsaNames[int(machine)],
         "; configure with -DWICK_CPU_ISAS=native");
  }
  for (int i = 0; i < kNumIsas; i++) {
    if (*wish != kIsaNames[i]) continue;
    check(i <= int(machine), ErrorCode::kUnsupported, "WICK_CPU", "this machine lacks ", *wish,
          " (", kArchitectures[i], "), it has ", kIsaNames[int(machine)], " (",
          kArchitectures[int(machine)], ")");
    check(is_built(i), ErrorCode::kUnsupported, "WICK_CPU", "this build lacks ", *wish, ", it has ",
          names_built(), "; configure with -DWICK_CPU_ISAS=", *wish);
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
