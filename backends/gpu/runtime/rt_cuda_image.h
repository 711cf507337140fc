// Machine code that users bring, as files from NVIDIA's compilers: a .cubin (an ELF file for one
// architecture), a .fatbin (several, and PTX) or PTX as text. Read before the driver sees it, since
// the driver takes no size: it trusts what the bytes say.
#pragma once
#include <string>
#include <string_view>

#include "runtime/failure.h"

namespace wick::gpu {

/// Checks that the image is whole and has code for a card of this architecture (90 for sm_90), and
/// copies it as the driver takes it.
/// Source of the formats: files that nvcc 13.0 wrote for known architectures.
Failure read_cuda_image(std::string_view bytes, int architecture, std::string& image);

}  // namespace wick::gpu
