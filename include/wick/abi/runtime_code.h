// Kernels that users bring, as machine code or as source: a backend's functions to compile source,
// load code at run time, find its kernels and launch them. Backend::runtime_code points to them.
#pragma once
#include "wick/abi/call.h"

namespace wick {

inline constexpr uint32 kRuntimeCodeVersion = 2;

/// A kernel of a loaded module. All pointers are valid until the module is unloaded.
struct KernelFacts {
  void* function;
  const int32* argument_bytes;  // the size of each argument
  int32 num_arguments;
  int32 max_threads;         // of a block
  int32 max_dynamic_shared;  // bytes of dynamic shared memory that a launch may ask for
};

/// One launch. The core has compared it with the kernel's facts.
struct KernelLaunch {
  const char* name;              // of the kernel, for errors
  uint32 grid[3];                // blocks
  uint32 block[3];               // threads of a block
  uint32 shared_bytes;           // dynamic shared memory of a block
  const void* const* arguments;  // the address of each argument's value
};

/// Source of one kernel, in the words that HIP and CUDA share.
struct KernelSource {
  const char* kernel;  // an identifier: the text's extern "C" __global__ function
  const char* text;
  const char* const* options;  // "-DNAME=1", "-std=c++17"
  int32 num_options;
};

/// Takes bytes, in pieces; a piece is valid during the call.
struct ByteSink {
  void* context;
  void (*write)(void* context, const void* bytes, int64 count);
};

/// All functions but compiler and compile are required. All are callable from any thread. Failures
/// leave the device usable.
struct RuntimeCode {
  uint32 version;      // kRuntimeCodeVersion
  uint32 struct_size;  // sizeof(RuntimeCode)

  /// Loads an image in a format of the device's vendor. The image is copied where the runtime needs
  /// it later. Errors: kInvalidArgument if it is damaged or of another format, kKernelNotFound if
  /// it holds no code for the device's architecture (the text names the architectures on both
  /// sides), kModuleNotLoaded if the runtime refuses it.
  Status (*load)(int32 device, const void* image, int64 bytes, void** module);
  /// Waits for the device first: launches of the module's kernels may be pending.
  void (*unload)(int32 device, void* module);
  /// Finds a kernel by its name in the code: a C++ function's is mangled unless it is extern "C".
  /// Errors: kKernelNotFound, listing the kernels that are there.
  Status (*find)(int32 device, void* module, const char* name, KernelFacts*);
  /// Launches in stream order; nullptr is the default stream.
  Status (*launch)(int32 device, void* function, const KernelLaunch*, void* stream);

  /// Names the compiler of kernels from source: its file, its version and all else, besides source,
  /// options and the architecture, that its images depend on. Optional, with compile. Errors:
  /// kUnsupported if no compiler is found, with the reason and a remedy.
  Status (*compiler)(int32 device, const ByteSink* identity);
  /// Compiles source to an image for load. The log gets the compiler's output, whether it succeeds
  /// or not. Errors: kUnsupported as compiler; kInvalidArgument if the compiler rejects the source;
  /// kKernelNotFound if the source is seen to lack the kernel (find may be the first to see it).
  Status (*compile)(int32 device, const KernelSource*, const ByteSink* image, const ByteSink* log);
};

}  // namespace wick
