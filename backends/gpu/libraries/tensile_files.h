// Whether rocBLAS or hipBLASLt has code for a card. Without it rocBLAS ends the process, so wick looks before
// it makes a handle.
#pragma once
#include <string>

namespace wick::gpu {

/// The files of kernels that belong to a library (made by Tensile).
struct TensileFiles {
  const char* folder;    // beside the library: "rocblas"
  const char* variable;  // names another folder: "ROCBLAS_TENSILE_LIBPATH"
};
inline constexpr TensileFiles kRocblasFiles = {"rocblas", "ROCBLAS_TENSILE_LIBPATH"};
inline constexpr TensileFiles kHipblasltFiles = {"hipblaslt", "HIPBLASLT_TENSILE_LIBPATH"};

/// "" if the library in this file finds kernels for the architecture ("gfx942:sramecc+:xnack-"), else a
/// line that says where there are none.
std::string missing_tensile_files(const TensileFiles&, const std::string& library_file,
                                  const std::string& architecture);

}  // namespace wick::gpu
