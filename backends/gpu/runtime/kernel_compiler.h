// Compiles the text of kernels at run time, through the libraries that the vendors bring for it:
// hipRTC (AMD) and NVRTC (NVIDIA). Their interfaces are alike, so one text serves both. The library
// is opened at the first call; no vendor header is needed.
#pragma once
#include <string>
#include <vector>

#include "runtime/failure.h"
#include "runtime/find_library.h"
#include "wick/abi/runtime_code.h"

namespace wick::gpu {

// hipRTC's and NVRTC's C interface: the part that wick uses. The two have the same result codes.
// tests/unit/gpu/compiler_declarations_test.cpp compares it with the real headers.
namespace rtc {
using Result = int;     // hiprtcResult, nvrtcResult
using Program = void*;  // hiprtcProgram, nvrtcProgram
using Texts = const char* const*;
inline constexpr Result kSuccess = 0, kErrorOutOfMemory = 1, kErrorInvalidOption = 5,
                        kErrorCompilation = 6;

/// The functions by their names without the prefix. Those after `NVRTC only` are nullptr for hipRTC.
struct Api {
  const char* (*GetErrorString)(Result);
  Result (*Version)(int* major, int* minor);
  Result (*CreateProgram)(Program*, const char* source, const char* name, int num_headers,
                          Texts headers, Texts header_names);
  Result (*CompileProgram)(Program, int num_options, Texts options);
  Result (*DestroyProgram)(Program*);
  Result (*GetProgramLogSize)(Program, size_t*);
  Result (*GetProgramLog)(Program, char*);
  Result (*GetCodeSize)(Program, size_t*);  // machine code; NVRTC: GetCUBINSize, GetCUBIN
  Result (*GetCode)(Program, char*);
  // NVRTC only
  Result (*GetPTXSize)(Program, size_t*);
  Result (*GetPTX)(Program, char*);
  Result (*GetNumSupportedArchs)(int*);
  Result (*GetSupportedArchs)(int*);
};
}  // namespace rtc

/// A text of kernels and what to make of it.
struct KernelText {
  std::string source;  // C++ with __global__ functions; kernel_preamble.h comes before it
  std::string name;    // by which the compiler's messages call it
  std::vector<std::string> options;  // for the compiler, after those that wick gives
  std::string architecture;          // the device's full name: "gfx90a:sramecc+:xnack-", "sm_90"
};

struct CompiledKernels {
  std::string image;  // an AMD code object, a cubin, or PTX for cards that NVRTC is too old for
  std::string log;    // the compiler's messages: warnings, and errors if it failed; may be ""
};

/// Compiles for one device. `beside` is the folder of the runtime in use (folder_of HIP's file; "" for
/// CUDA, whose runtime is linked): a compiler of the same installation is taken first. Thread-safe;
/// one compilation runs at a time.
/// Errors: kUnsupported without the library (names it, the places that were searched and the package
/// that brings it) and for an architecture that it does not know; kInvalidArgument for a source that
/// does not compile or an option that the compiler refuses: the text's first line names source,
/// architecture and compiler, the compiler's own lines follow; kOutOfMemory; kDeviceError if the
/// library fails otherwise.
Failure compile_kernels(Vendor vendor, const std::string& beside, const KernelText& source,
                        CompiledKernels& compiled);

/// A text that names all that an image depends on except source, name and options, for the key of a
/// cache: "nvrtc 13.0 sm_90 1c8f...". The last word stands for the library's file and the preamble.
/// Errors: kUnsupported, as above.
Failure compiler_identity(Vendor vendor, const std::string& beside, const std::string& architecture,
                          std::string& identity);

/// RuntimeCode::compiler and RuntimeCode::compile of a module. Errors: those above, in one line: the
/// compiler's own are in the log.
Failure give_identity(Vendor vendor, const std::string& beside, const std::string& architecture,
                      const ByteSink& identity);
Failure compile_source(Vendor vendor, const std::string& beside, const std::string& architecture,
                       const KernelSource& source, const ByteSink& image, const ByteSink& log);

}  // namespace wick::gpu
