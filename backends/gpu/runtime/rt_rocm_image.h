// Machine code that users bring, as files from AMD's compilers: a code object (.hsaco, an ELF file
// for one target) or a bundle of them (.fatbin, compressed or not). Read before HIP sees it, since
// HIP takes the bytes on trust and crashes on damaged ones.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "runtime/failure.h"

namespace wick::gpu {

struct ImageKernel {
  std::string name;
  std::vector<int32> argument_bytes;  // without those that the compiler adds
  int32 max_threads = 0;              // of a block
  int32 static_shared_bytes = 0;
};

struct Image {
  std::string code;    // the code object for the device
  std::string target;  // as the code object names it: "gfx942:xnack-"
  std::vector<ImageKernel> kernels;
};

/// Finds the code object for a device of this architecture ("gfx942:sramecc+:xnack-") and checks
/// that it is whole: the bounds of its ELF headers, segments, sections and metadata. Returns an
/// error code and its reason, or kOk.
/// Source of the formats: LLVM's "User Guide for AMDGPU Backend" (ELF, code object V4 to V6 metadata)
/// and "Clang Offload Bundler".
Failure read_image(std::string_view bytes, std::string_view architecture, Image& image);

}  // namespace wick::gpu
