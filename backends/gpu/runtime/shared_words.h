// Dynamic shared memory in kernels from source: `extern __shared__ T name[];`, which a host compiler
// has no word for.
#pragma once
#include <string>

namespace wick::gpu::emu {

/// Replaces each declaration of dynamic shared memory by one of a pointer to it (words_emulated.h).
/// Lines keep their numbers. A declaration that a macro makes stays.
std::string with_dynamic_shared(const std::string& source);

}  // namespace wick::gpu::emu
