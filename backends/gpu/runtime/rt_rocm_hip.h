// The part of HIP's C interface that wick uses, declared here and loaded at run time: wick_rocm.so
// builds and links without any ROCm package. tests/unit/gpu/hip_declarations_test.cpp compares the
// declarations with HIP's headers.
#pragma once
#include <cstddef>
#include <string>

namespace wick::gpu::hip {

using Error = int;  // hipError_t
inline constexpr Error kSuccess = 0, kErrorInvalidValue = 1, kErrorOutOfMemory = 2,
                       kErrorNoDevice = 100, kErrorInvalidImage = 200, kErrorNoBinaryForGpu = 209,
                       kErrorNotFound = 500, kErrorNotReady = 600;

// hipDeviceAttribute_t. These values are the same in ROCm 5, 6 and 7.
inline constexpr int kAttributeIntegrated = 16, kAttributeMultiprocessorCount = 63,
                     kAttributeMaxSharedMemoryPerBlock = 74;

// hipMemcpyKind, flags of streams and events, hipStreamCaptureMode.
inline constexpr int kHostToDevice = 1, kDeviceToHost = 2, kDeviceToDevice = 3;
inline constexpr unsigned kStreamNonBlocking = 1, kEventDisableTiming = 2;
// Relaxed: the allocator may grow its private pool and a module may be loaded during a capture.
inline constexpr int kCaptureRelaxed = 2;

// The layout of a device's properties changed in ROCm 6, where hipGetDevicePropertiesR0600 returns the
// new one and hipGetDeviceProperties still returns the old one. wick reads only gcnArchName, which no
// attribute gives, so the struct is bytes and an offset here.
struct Properties {
  alignas(8) char bytes[8192];  // 1472 in ROCm 7, 792 in ROCm 5; the rest is for later ones
};
inline constexpr int kArchNameOffsetR0600 = 1160, kArchNameOffsetR0000 = 396, kArchNameSize = 256;

using Stream = void*;     // hipStream_t
using Event = void*;      // hipEvent_t
using Module = void*;     // hipModule_t
using Function = void*;   // hipFunction_t
using Graph = void*;      // hipGraph_t
using GraphExec = void*;  // hipGraphExec_t

/// HIP's functions by name. Those after `optional` may be nullptr.
struct Api {
  Error (*hipGetDeviceCount)(int*);
  Error (*hipGetDevice)(int*);
  Error (*hipSetDevice)(int);
  Error (*hipDeviceGetName)(char*, int size, int device);
  Error (*hipDeviceGetAttribute)(int*, int attribute, int device);
  Error (*hipDeviceTotalMem)(size_t*, int device);
  Error (*hipMemGetInfo)(size_t* free_bytes, size_t* total_bytes);
  Error (*hipRuntimeGetVersion)(int*);
  Error (*hipMalloc)(void**, size_t);
  Error (*hipFree)(void*);
  Error (*hipHostMalloc)(void**, size_t, unsigned flags);
  Error (*hipHostFree)(void*);
  Error (*hipMemcpyAsync)(void* to, const void* from, size_t, int kind, Stream);
  Error (*hipMemcpyPeerAsync)(void* to, int to_device, const void* from, int from_device, size_t,
                              Stream);
  Error (*hipMemsetAsync)(void*, int value, size_t, Stream);
  Error (*hipDeviceSynchronize)();
  Error (*hipStreamCreateWithFlags)(Stream*, unsigned flags);
  Error (*hipStreamDestroy)(Stream);
  Error (*hipStreamSynchronize)(Stream);
  Error (*hipStreamWaitEvent)(Stream, Event, unsigned flags);
  Error (*hipEventCreateWithFlags)(Event*, unsigned flags);
  Error (*hipEventDestroy)(Event);
  Error (*hipEventRecord)(Event, Stream);
  Error (*hipEventQuery)(Event);
  Error (*hipEventSynchronize)(Event);
  Error (*hipModuleLoadData)(Module*, const void* image);
  Error (*hipModuleUnload)(Module);
  Error (*hipModuleGetFunction)(Function*, Module, const char* name);
  Error (*hipModuleLaunchKernel)(Function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                 unsigned block_x, unsigned block_y, unsigned block_z,
                                 unsigned shared_bytes, Stream, void** args, void** extra);
  const char* (*hipGetErrorName)(Error);
  const char* (*hipGetErrorString)(Error);
  Error (*hipGetLastError)();

  // optional
  Error (*hipGetDevicePropertiesR0600)(Properties*, int device);
  Error (*hipGetDeviceProperties)(Properties*, int device);  // the old layout
  Error (*hipDeviceGetPCIBusId)(char*, int size, int device);
  Error (*hipStreamBeginCapture)(Stream, int mode);
  Error (*hipStreamEndCapture)(Stream, Graph*);
  Error (*hipStreamIsCapturing)(Stream, int* status);  // 0: it is not
  Error (*hipGraphInstantiate)(GraphExec*, Graph, void** error_node, char* log, size_t log_size);
  Error (*hipGraphLaunch)(GraphExec, Stream);
  Error (*hipGraphDestroy)(Graph);
  Error (*hipGraphExecDestroy)(GraphExec);

  bool has_graphs() const {
    return hipStreamBeginCapture && hipStreamEndCapture && hipStreamIsCapturing &&
           hipGraphInstantiate && hipGraphLaunch && hipGraphDestroy && hipGraphExecDestroy;
  }
};

/// The result of the search for the runtime: its functions, or why there are none.
struct Runtime {
  Api api{};
  bool usable = false;
  std::string name;      // path of the file that was opened, "" if none
  std::string why_none;  // one line, if not usable
};

/// Searches once, in the order of find_library.h.
const Runtime& runtime();

}  // namespace wick::gpu::hip
