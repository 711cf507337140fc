// The instruction set that the kernels use.
#pragma once
#include <optional>
#include <string_view>

namespace wick::cpu {

enum class Isa { kBaseline, kAvx2, kAvx512 };  // each includes the previous ones
inline constexpr int kNumIsas = 3;
inline constexpr const char* kIsaNames[kNumIsas] = {"baseline", "avx2",
                                                    "avx512"};  // as WICK_CPU says
inline constexpr const char* kArchitectures[kNumIsas] = {"x86-64-v2", "x86-64-v3", "x86-64-v4"};

/// The widest set of this machine. Errors: kUnsupported below x86-64-v2.
Isa machine_isa();
/// The sets that this build has kernels for (WICK_CPU_ISAS): bit i for Isa(i).
unsigned built_isas();
/// Returns `wish` if given, else the widest set that the machine has and `built` holds. Errors:
/// kInvalidArgument for an unknown name, kUnsupported for a set that the machine or the build lacks.
Isa choose_isa(Isa machine, std::optional<std::string_view> wish, unsigned built = built_isas());
/// The set this process uses: choose_isa of WICK_CPU and machine_isa(). Errors: those of choose_isa.
Isa isa();

}  // namespace wick::cpu
