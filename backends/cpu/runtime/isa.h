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
/// Returns `wish` if given, else the machine's set. Errors: kInvalidArgument for an unknown name,
/// kUnsupported for a set that the machine lacks.
Isa choose_isa(Isa machine, std::optional<std::string_view> wish);
/// The set this process uses: WICK_CPU, or machine_isa(). Errors: those of choose_isa.
Isa isa();

}  // namespace wick::cpu
