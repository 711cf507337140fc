// Which instruction set the kernels use.
#pragma once
#include <optional>
#include <string_view>

namespace wick::cpu {

enum class Isa { kBaseline, kAvx2, kAvx512 };  // each holds the ones before
inline constexpr int kNumIsas = 3;
inline constexpr const char* kIsaNames[kNumIsas] = {"baseline", "avx2",
                                                    "avx512"};  // as WICK_CPU says
inline constexpr const char* kArchitectures[kNumIsas] = {"x86-64-v2", "x86-64-v3", "x86-64-v4"};

/// The widest one that this machine has. Errors: kUnsupported below x86-64-v2.
Isa machine_isa();
/// `wish` if there is one and the machine has it, else the machine's. Errors: kInvalidArgument for
/// an unknown word, kUnsupported for what the machine lacks.
Isa choose_isa(Isa machine, std::optional<std::string_view> wish);
/// The one in use in this process: machine_isa, or WICK_CPU. Errors: as choose_isa.
Isa isa();

}  // namespace wick::cpu
