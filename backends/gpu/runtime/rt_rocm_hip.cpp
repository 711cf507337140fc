#include "runtime/rt_rocm_hip.h"

#include <dlfcn.h>

#include "runtime/find_library.h"

namespace wick::gpu::hip {
namespace {

// Puts the library's functions into the table and notes the names of those it lacks.
struct Binder {
  void* library;
  std::string missing;

  template <class F>
  void optional(F*& function, const char* name) {
    function = reinterpret_cast<F*>(dlsym(library, name));
  }
  template <class F>
  void required(F*& function, const char* name) {
    optional(function, name);
    if (!function) missing += std::string(missing.empty() ? "" : ", ") + name;
  }
};

void bind(Binder& b, Api& api) {
  b.required(api.hipGetDeviceCount, "hipGetDeviceCount");
  b.required(api.hipGetDevice, "hipGetDevice");
  b.required(api.hipSetDevice, "hipSetDevice");
  b.required(api.hipDeviceGetName, "hipDeviceGetName");
  b.required(api.hipDeviceGetAttribute, "hipDeviceGetAttribute");
  b.required(api.hipDeviceTotalMem, "hipDeviceTotalMem");
  b.required(api.hipMemGetInfo, "hipMemGetInfo");
  b.required(api.hipRuntimeGetVersion, "hipRuntimeGetVersion");
  b.required(api.hipMalloc, "hipMalloc");
  b.required(api.hipFree, "hipFree");
  b.required(api.hipHostMalloc, "hipHostMalloc");
  b.required(api.hipHostFree, "hipHostFree");
  b.required(api.hipMemcpyAsync, "hipMemcpyAsync");
  b.required(api.hipMemcpyPeerAsync, "hipMemcpyPeerAsync");
  b.required(api.hipMemsetAsync, "hipMemsetAsync");
  b.required(api.hipDeviceSynchronize, "hipDeviceSynchronize");
  b.required(api.hipStreamCreateWithFlags, "hipStreamCreateWithFlags");
  b.required(api.hipStreamDestroy, "hipStreamDestroy");
  b.required(api.hipStreamSynchronize, "hipStreamSynchronize");
  b.required(api.hipStreamWaitEvent, "hipStreamWaitEvent");
  b.required(api.hipEventCreateWithFlags, "hipEventCreateWithFlags");
  b.required(api.hipEventDestroy, "hipEventDestroy");
  b.required(api.hipEventRecord, "hipEventRecord");
  b.required(api.hipEventQuery, "hipEventQuery");
  b.required(api.hipEventSynchronize, "hipEventSynchronize");
  b.required(api.hipModuleLoadData, "hipModuleLoadData");
  b.required(api.hipModuleUnload, "hipModuleUnload");
  b.required(api.hipModuleGetFunction, "hipModuleGetFunction");
  b.required(api.hipModuleLaunchKernel, "hipModuleLaunchKernel");
  b.required(api.hipGetErrorName, "hipGetErrorName");
  b.required(api.hipGetErrorString, "hipGetErrorString");
  b.required(api.hipGetLastError, "hipGetLastError");

  b.optional(api.hipGetDevicePropertiesR0600, "hipGetDevicePropertiesR0600");
  b.optional(api.hipGetDeviceProperties, "hipGetDeviceProperties");
  b.optional(api.hipDeviceGetPCIBusId, "hipDeviceGetPCIBusId");
  b.optional(api.hipStreamBeginCapture, "hipStreamBeginCapture");
  b.optional(api.hipStreamEndCapture, "hipStreamEndCapture");
  b.optional(api.hipStreamIsCapturing, "hipStreamIsCapturing");
  b.optional(api.hipGraphInstantiate, "hipGraphInstantiate");
  b.optional(api.hipGraphLaunch, "hipGraphLaunch");
  b.optional(api.hipGraphDestroy, "hipGraphDestroy");
  b.optional(api.hipGraphExecDestroy, "hipGraphExecDestroy");
}

Runtime look() {
  Runtime runtime;
  const OpenedLibrary opened = open_library(kHipRuntime);
  if (!opened.handle) {
    runtime.why_none = "no ROCm runtime: " + opened.why_none;
    if (opened.absent)
      runtime.why_none +=
          "; install ROCm 6 or newer (on Debian: apt install libamdhip64-5), or set "
          "WICK_HIP_RUNTIME to its path";
    return runtime;
  }
  runtime.name = opened.file;
  Binder binder{opened.handle, {}};
  bind(binder, runtime.api);
  if (!runtime.api.hipGetDevicePropertiesR0600 && !runtime.api.hipGetDeviceProperties) {
    binder.missing += std::string(binder.missing.empty() ? "" : ", ") + "hipGetDeviceProperties";
  }
  if (!binder.missing.empty()) {
    runtime.why_none = "no ROCm runtime: " + runtime.name + " is there but lacks " +
                       binder.missing + "; install ROCm 6 or newer";
    return runtime;
  }
  runtime.usable = true;
  return runtime;
}

}  // namespace

const Runtime& runtime() {
  static const Runtime* const found =
      new Runtime(look());  // never closed: HIP has threads of its own
  return *found;
}

}  // namespace wick::gpu::hip
