#include "runtime/rt_rocm_hip.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <cstring>

namespace wick::gpu::hip {
namespace {

// ROCm 7, 6 and 5. Each major version has its own, and all are taken: what is used of HIP is the
// same in them.
constexpr const char* kNames[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"};

// Finds a runtime that somebody loaded by another file name, as the one in PyTorch's wheels:
// RTLD_NOLOAD knows the soname and the path only.
int note_runtime(dl_phdr_info* info, size_t, void* path) {
  const char* slash = std::strrchr(info->dlpi_name, '/');
  const char* file = slash ? slash + 1 : info->dlpi_name;
  if (std::strncmp(file, "libamdhip64", std::strlen("libamdhip64")) != 0) return 0;
  *static_cast<std::string*>(path) = info->dlpi_name;
  return 1;
}

void* open_runtime(Runtime& runtime) {
  if (const char* wanted = std::getenv("WICK_HIP_RUNTIME"); wanted && *wanted) {
    runtime.name = wanted;
    void* library = dlopen(wanted, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      const char* reason = dlerror();
      runtime.why_none = std::string("no ROCm runtime: WICK_HIP_RUNTIME is ") + wanted + ": " +
                         (reason ? reason : "cannot be loaded");
    }
    return library;
  }
  for (const char* name : kNames) {
    runtime.name = name;
    if (void* library = dlopen(name, RTLD_NOW | RTLD_NOLOAD)) return library;
  }
  if (std::string path; dl_iterate_phdr(note_runtime, &path) != 0) {
    runtime.name = path;
    if (void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD)) return library;
  }
  std::string broken;  // one that is there but lacks a library of its own deserves its own words
  for (const char* name : kNames) {
    runtime.name = name;
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
    const char* reason = dlerror();
    if (reason &&
        !std::strstr(reason, (std::string(name) + ": cannot open shared object file").c_str()))
      broken += std::string(broken.empty() ? "" : "; ") + reason;
  }
  runtime.why_none = broken.empty()
                         ? "no ROCm runtime: libamdhip64.so.7, .6 or .5 not found; install ROCm 6 "
                           "or newer (on Debian: apt install "
                           "libamdhip64-5), or set WICK_HIP_RUNTIME to its path"
                         : "no ROCm runtime: it is there but cannot be loaded: " + broken;
  return nullptr;
}

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
  b.required(api.hipStreamCreateWithFlags, "hipStreamCreateWithFlags");
  b.required(api.hipStreamDestroy, "hipStreamDestroy");
  b.required(api.hipStreamSynchronize, "hipStreamSynchronize");
  b.required(api.hipStreamWaitEvent, "hipStreamWaitEvent");
  b.required(api.hipEventCreateWithFlags, "hipEventCreateWithFlags");
  b.required(api.hipEventDestroy, "hipEventDestroy");
  b.required(api.hipEventRecord, "hipEventRecord");
  b.required(api.hipEventQuery, "hipEventQuery");
  b.required(api.hipModuleLoadData, "hipModuleLoadData");
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
  b.optional(api.hipGraphInstantiate, "hipGraphInstantiate");
  b.optional(api.hipGraphLaunch, "hipGraphLaunch");
  b.optional(api.hipGraphDestroy, "hipGraphDestroy");
  b.optional(api.hipGraphExecDestroy, "hipGraphExecDestroy");
}

Runtime look() {
  Runtime runtime;
  Binder binder{open_runtime(runtime), {}};
  if (!binder.library) return runtime;
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
