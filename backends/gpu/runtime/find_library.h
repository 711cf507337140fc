// Finds and opens the vendors' libraries (HIP's runtime, hipRTC, rocBLAS, NVRTC, cuDNN ...), which no
// module links. find_library.cpp holds the table of the folders that are searched.
#pragma once
#include <string>
#include <vector>

namespace wick::gpu {

enum class Vendor { kAmd, kNvidia };

/// A library by the names of its files: "libamdhip64.so.8", "libamdhip64.so.7", ..., "libamdhip64.so".
struct Library {
  const char* stem;  // "libamdhip64"
  Vendor vendor;
  int newest, oldest;              // major versions; all between are looked for
  const char* variable = nullptr;  // environment variable that names another file to open
};

// HIP's runtime in ROCm 8, 7, 6 and 5. Each major version of ROCm has its own, and all are taken: the
// part of HIP that wick uses is the same in them. hipRTC has the runtime's numbers.
inline constexpr Library kHipRuntime = {"libamdhip64", Vendor::kAmd, 8, 5, "WICK_HIP_RUNTIME"};
inline constexpr Library kHiprtcLibrary = {"libhiprtc", Vendor::kAmd, 8, 5};
// ROCm 7 and 6. Source: the files of AMD's releases 6.3 and 7.2.
inline constexpr Library kRocblasLibrary = {"librocblas", Vendor::kAmd, 5, 4};
inline constexpr Library kHipblasltLibrary = {"libhipblaslt", Vendor::kAmd, 1, 0};
inline constexpr Library kMiopenLibrary = {"libMIOpen", Vendor::kAmd, 1, 1};
inline constexpr Library kRcclLibrary = {"librccl", Vendor::kAmd, 1, 1};

inline constexpr Library kCudaDriver = {"libcuda", Vendor::kNvidia, 1,
                                        1};  // CUDA's runtime opens it
// CUDA 13 and 12. Source: the files of CUDA 13.0 and of NVIDIA's wheels for 12.
inline constexpr Library kNvrtcLibrary = {"libnvrtc", Vendor::kNvidia, 13, 12};
inline constexpr Library kCublasltLibrary = {"libcublasLt", Vendor::kNvidia, 13, 12};
inline constexpr Library kCudnnLibrary = {"libcudnn", Vendor::kNvidia, 9, 9};
inline constexpr Library kNcclLibrary = {"libnccl", Vendor::kNvidia, 2, 2};

/// A library that was opened, or why none was.
struct OpenedLibrary {
  void* handle = nullptr;  // never closed: these libraries have threads of their own
  std::string file;        // path of the file, or the name by which the loader knows it
  std::string why_none;    // one line, "" if opened; says which names and places were tried
  bool absent = false;     // not opened, and no file of a fitting name is there
};

/// Opens a library: the file that its variable names; else one that the process has loaded, since a
/// second copy would share neither memory nor streams with it; else the first of its names that loads
/// from the folder `beside` (that of the vendor's runtime: the two must be of one release), from the
/// loader's path, and from the places of the table. A file or folder that every user may write, and a
/// relative path in a variable of the table, are passed over.
OpenedLibrary open_library(const Library& library, const std::string& beside = "");

/// The folder of a file, for `beside`; "" for a bare name.
std::string folder_of(const std::string& file);

/// The files of a library that the process has loaded, in order of loading.
std::vector<std::string> loaded_files(const Library& library);

/// A line that warns if the process has loaded more copies of a library than the one in use, "" if
/// not. Begins with '\n'.
std::string warn_of_copies(const Library& library, const std::string& file_in_use);

}  // namespace wick::gpu
