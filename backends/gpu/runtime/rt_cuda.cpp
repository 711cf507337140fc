// wick_cuda: the kernels on NVIDIA cards, by the CUDA runtime. The runtime is linked statically and
// opens the driver (libcuda.so.1) itself, so the module loads on a machine without one and says
// what is missing.
//
// A stream of ours is a non-blocking stream with an ErrorRecord in device memory; a call without a
// stream takes its device's default stream, which is of that kind too and not CUDA's null stream. A
// call binds its device's primary context and puts back what was bound, so that other users of CUDA
// in the thread (PyTorch) notice nothing.
#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cuda_code.h"  // made by cuda.cmake: kCodeFor, kPtxFor
#include "libraries/collectives.h"
#include "libraries/libraries.h"
#include "runtime/find_library.h"
#include "runtime/kernel_compiler.h"
#include "runtime/lasting_name.h"
#include "runtime/rt.h"
#include "runtime/rt_cuda_image.h"
#include "runtime/staging.h"
#include "wick/abi/runtime_code.h"

namespace wick::gpu {

namespace {

constexpr int kRuntimeMajor = CUDART_VERSION / 1000;
// The first driver that serves a runtime of this major version (CUDA's release notes, table 3).
constexpr const char* kNeededDriver = kRuntimeMajor >= 13 ? "580" : "525";

struct Stream {
  int32 device = 0;
  cudaStream_t handle = nullptr;
  std::shared_ptr<ErrorRecord> record;  // in device memory: where this stream's kernels report
  std::mutex mutex;                     // of what follows
  ErrorRecord* seen = nullptr;          // in pinned memory: the host's copy
  // Where the kernels of graphs report that were launched here and recorded by other streams.
  std::vector<std::shared_ptr<ErrorRecord>> guest_records;
  std::atomic<const char*> last_kernel{nullptr};
  std::atomic<bool> unread{false};  // kernels were launched since the record was read
  std::atomic<bool> capturing{false};
};

struct Graph {
  cudaGraphExec_t executable = nullptr;
  std::vector<std::shared_ptr<ErrorRecord>> records;  // of the streams that recorded it
};

struct Device {
  DeviceInfo info{};
  std::mutex mutex;  // guards the making of what follows
  std::atomic<CUcontext> context{nullptr};
  std::atomic<Stream*> default_stream{nullptr};
  std::atomic<uint64> peers_asked{0};  // a bit a device
  Staging staging;

  std::mutex capture_mutex;  // guards what follows
  // Streams that joined the graph being captured, and the records of all that record it.
  std::vector<Stream*> joined;
  std::vector<std::shared_ptr<ErrorRecord>> capture_records;
};

/// What is on this machine, looked up once. Never destroyed: the runtime may be gone before us at
/// exit.
struct Platform {
  int32 count = 0;
  bool driver_serves = true;  // false: there is none, or one that is too old
  char why_none[256] = "";
  std::unique_ptr<Device[]> devices;
  CUresult (*get_context)(CUcontext*) = nullptr;
  CUresult (*set_context)(CUcontext) = nullptr;

  Platform();
};

const Platform& platform() {
  static const Platform& instance = *new Platform;
  return instance;
}

// ---- errors

__attribute__((format(printf, 2, 3))) Status failure(StatusCode code, const char* format, ...) {
  static thread_local char text[768];
  va_list parts;
  va_start(parts, format);
  vsnprintf(text, sizeof text, format, parts);
  va_end(parts);
  return {code, text};
}

StatusCode code_of(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation:
      return StatusCode::kOutOfMemory;
    case cudaErrorInvalidValue:
      return StatusCode::kInvalidArgument;
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidDeviceFunction:
      return StatusCode::kKernelNotFound;
    case cudaErrorInvalidKernelImage:
    case cudaErrorInvalidPtx:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorJitCompilerNotFound:
    case cudaErrorJitCompilationDisabled:
      return StatusCode::kModuleNotLoaded;
    default:
      return StatusCode::kDeviceError;
  }
}

/// The context is lost with these: every later call of the process gives the same error.
bool is_final(cudaError_t error) {
  switch (error) {
    case cudaErrorIllegalAddress:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorHardwareStackError:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorECCUncorrectable:
    case cudaErrorAssert:
      return true;
    default:
      return false;
  }
}

/// "copy: cuda:0 (NVIDIA H200, sm_90): cudaErrorX: what it means; ...". Names the stream's last
/// kernel, since a call may report what an earlier launch did.
Status runtime_failure(cudaError_t error, const char* what, int32 device,
                       const Stream* stream = nullptr) {
  cudaGetLastError();  // else the runtime hands it out once more
  const DeviceInfo& info = platform().devices[device].info;
  const char* kernel = stream ? stream->last_kernel.load(std::memory_order_relaxed) : nullptr;
  return failure(code_of(error), "%s: cuda:%d (%s, %s): %s: %s%s%s%s", what, device, info.name,
                 info.architecture, cudaGetErrorName(error), cudaGetErrorString(error),
                 kernel ? "; the last kernel launched on this stream was " : "",
                 kernel ? kernel : "", is_final(error) ? "; the card is lost to this process" : "");
}

Status checked(cudaError_t error, const char* what, int32 device, const Stream* stream = nullptr) {
  return error == cudaSuccess ? Status{} : runtime_failure(error, what, device, stream);
}

// ---- what is there

/// The architecture whose code in this module the card runs: machine code of its major version,
/// else compiled PTX.
int code_for(int major, int minor) {
  int best = 0;
  for (const int arch : kCodeFor)
    if (arch / 10 == major && arch % 10 <= minor && arch > best) best = arch;
  const int card = 10 * major + minor;
  if (best == 0) best = kPtxFor <= card ? kPtxFor : card;  // none at all: a launch will say so
  return best;
}

DeviceInfo describe(int32 ordinal) {
  cudaDeviceProp properties{};
  DeviceInfo info{};
  info.ordinal = ordinal;
  if (const cudaError_t error = cudaGetDeviceProperties(&properties, ordinal)) {
    snprintf(info.name, sizeof info.name, "unreadable: %s", cudaGetErrorName(error));
    cudaGetLastError();
    return info;
  }
  const int major = properties.major, minor = properties.minor;
  snprintf(info.name, sizeof info.name, "%.95s", properties.name);
  snprintf(info.architecture, sizeof info.architecture, "sm_%d%d", major, minor);
  info.wave = properties.warpSize;
  info.compute_units = properties.multiProcessorCount;
  info.integrated = properties.integrated;
  info.computes_bf16 = major >= 8;
  // A card that runs code compiled for Turing has Turing's kernels: the others are not in that
  // code.
  info.families = code_for(major, minor) >= 80 ? kSm80 : kSm75;
  info.total_bytes = int64(properties.totalGlobalMem);
  info.shared_memory_bytes = int64(properties.sharedMemPerBlock);
  return info;
}

/// Says in one line why the runtime finds no card, and what would help.
void explain_none(cudaError_t error, char (&text)[256]) {
  int version = 0;  // of CUDA, as the driver has it: 12040 for 12.4
  cudaDriverGetVersion(&version);
  cudaGetLastError();
  if (error == cudaErrorInsufficientDriver && version == 0) {
    void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    const char* reason = driver ? nullptr : dlerror();
    if (driver) dlclose(driver);
    const bool absent = reason && strstr(reason, "No such file");
    snprintf(text, sizeof text,
             "no NVIDIA driver: libcuda.so.1 %s; install the NVIDIA driver %s or newer",
             absent   ? "not found"
             : reason ? reason
                      : "does not answer",
             kNeededDriver);
  } else if (error == cudaErrorInsufficientDriver) {
    snprintf(text, sizeof text,
             "NVIDIA driver too old: has CUDA %d.%d, needs %d.0; install driver %s or newer",
             version / 1000, version % 1000 / 10, kRuntimeMajor, kNeededDriver);
  } else if (error == cudaSuccess || error == cudaErrorNoDevice) {
    const char* visible = getenv("CUDA_VISIBLE_DEVICES");
    snprintf(text, sizeof text, "NVIDIA driver there (CUDA %d.%d), no NVIDIA GPU%s%.100s%s",
             version / 1000, version % 1000 / 10,
             visible ? " among those that CUDA_VISIBLE_DEVICES=\"" : "", visible ? visible : "",
             visible ? "\" shows" : "");
  } else {
    snprintf(text, sizeof text, "the CUDA runtime does not start: %s: %s", cudaGetErrorName(error),
             cudaGetErrorString(error));
  }
}

/// The version of CUDA that the driver's functions are taken in: that of the newest one used,
/// cuFuncGetParamInfo.
constexpr int kDriverInterface = std::max(1000 * kRuntimeMajor, 12040);

template <class F>
bool find_driver_function(const char* name, F** function) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result;
  const bool ok = cudaGetDriverEntryPointByVersion(name, &found, kDriverInterface,
                                                   cudaEnableDefault, &result) == cudaSuccess &&
                  result == cudaDriverEntryPointSuccess;
  *function = reinterpret_cast<F*>(found);
  return ok;
}

Platform::Platform() {
  int found = 0;
  const cudaError_t error = cudaGetDeviceCount(&found);
  if (error != cudaSuccess || found == 0) {
    driver_serves = error != cudaErrorInsufficientDriver;
    explain_none(error, why_none);
    cudaGetLastError();
    return;
  }
  if (!find_driver_function("cuCtxGetCurrent", &get_context) ||
      !find_driver_function("cuCtxSetCurrent", &set_context)) {
    snprintf(why_none, sizeof why_none, "the NVIDIA driver lacks cuCtxGetCurrent");
    return;
  }
  devices = std::make_unique<Device[]>(found);
  for (int32 i = 0; i < found; i++) devices[i].info = describe(i);
  count = found;
}

// ---- the device and the stream of a call

Status no_such_device(int32 device, const char* what) {
  const Platform& here = platform();
  if (here.count == 0)
    return failure(StatusCode::kInvalidArgument, "%s: cuda:%d: %s", what, device, here.why_none);
  return failure(StatusCode::kInvalidArgument, "%s: cuda:%d: no such device, there are %d", what,
                 device, here.count);
}

/// Binds a device's primary context to this thread while it lives. On the first call for the device
/// it makes the context, which takes a while. The runtime works on whatever context the thread has.
class Binding {
 public:
  Binding(int32 device, const char* what) {
    const Platform& here = platform();
    if (device < 0 || device >= here.count) {
      status_ = no_such_device(device, what);
      return;
    }
    here.get_context(&before_);
    Device& d = here.devices[device];
    CUcontext context = d.context.load(std::memory_order_acquire);
    if (context && context == before_) return;
    if (context) {
      here.set_context(context);
    } else {
      const std::lock_guard lock(d.mutex);
      status_ = checked(cudaSetDevice(device), what, device);
      if (!status_.ok()) return;
      here.get_context(&context);
      d.context.store(context, std::memory_order_release);
    }
    // A thread without a context uses device 0 anyway: nothing to put back then.
    restore_ = before_ != context && (before_ || device != 0);
  }
  ~Binding() {
    if (restore_) platform().set_context(before_);
  }
  Binding(const Binding&) = delete;
  Binding& operator=(const Binding&) = delete;
  const Status& status() const { return status_; }

 private:
  CUcontext before_ = nullptr;
  bool restore_ = false;
  Status status_;
};

/// Lets this thread allocate while one of its streams is being captured.
class OutsideCapture {
 public:
  OutsideCapture() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~OutsideCapture() { cudaThreadExchangeStreamCaptureMode(&mode_); }

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

void destroy(Stream* stream) {
  if (stream->handle) {
    cudaStreamSynchronize(stream->handle);  // kernels may still report
    cudaStreamDestroy(stream->handle);
  }
  {
    Device& d = platform().devices[stream->device];
    const std::lock_guard lock(d.capture_mutex);
    std::erase(d.joined, stream);
  }
  cudaFreeHost(stream->seen);
  delete stream;
}

/// Makes a stream on the device that is bound.
Status make_stream(int32 device, Stream** made) {
  const OutsideCapture outside;
  auto* stream = new Stream;
  stream->device = device;
  cudaError_t error = cudaStreamCreateWithFlags(&stream->handle, cudaStreamNonBlocking);
  if (error == cudaSuccess) {
    void* record = nullptr;
    error = cudaMalloc(&record, sizeof(ErrorRecord));
    stream->record = {static_cast<ErrorRecord*>(record), [](ErrorRecord* r) {
                        const OutsideCapture outside;
                        cudaFree(r);
                      }};
  }
  if (error == cudaSuccess)
    error = cudaHostAlloc(reinterpret_cast<void**>(&stream->seen), sizeof(ErrorRecord),
                          cudaHostAllocPortable);
  if (error == cudaSuccess)
    error = cudaMemsetAsync(stream->record.get(), 0, sizeof(ErrorRecord), stream->handle);
  // The record is cleared before anything else may use the stream, a capture included.
  if (error == cudaSuccess) error = cudaStreamSynchronize(stream->handle);
  if (error != cudaSuccess) {
    const Status status = runtime_failure(error, "stream_create", device);
    destroy(stream);
    cudaGetLastError();
    return status;
  }
  *made = stream;
  return {};
}

/// A call's device, bound, and its stream.
class BoundStream {
 public:
  BoundStream(int32 device, void* stream, const char* what)
      : binding_(device, what), status_(binding_.status()) {
    if (!status_.ok()) return;
    if (stream)
      stream_ = static_cast<Stream*>(stream);
    else
      status_ = default_stream(device);
    if (stream_ && stream_->device != device)
      status_ = failure(StatusCode::kInvalidArgument,
                        "%s: the stream is of cuda:%d, the call for cuda:%d", what, stream_->device,
                        device);
  }
  const Status& status() const { return status_; }
  Stream& operator*() const { return *stream_; }
  Stream* operator->() const { return stream_; }

 private:
  Status default_stream(int32 device) {
    Device& d = platform().devices[device];
    stream_ = d.default_stream.load(std::memory_order_acquire);
    if (stream_) return {};
    const std::lock_guard lock(d.mutex);
    stream_ = d.default_stream.load(std::memory_order_acquire);
    if (stream_) return {};
    const Status status = make_stream(device, &stream_);
    if (status.ok()) d.default_stream.store(stream_, std::memory_order_release);
    return status;
  }

  const Binding binding_;
  Stream* stream_ = nullptr;
  Status status_;
};

// ---- the table: devices and memory

int32 device_count(const char** why_none) {
  const Platform& here = platform();
  if (why_none) *why_none = here.count ? nullptr : here.why_none;
  return here.driver_serves ? here.count : -1;
}

Status device_info(int32 index, DeviceInfo* info) {
  const Platform& here = platform();
  if (index < 0 || index >= here.count) return no_such_device(index, "device_info");
  *info = here.devices[index].info;
  return {};
}

Status memory_info(int32 device, int64* free_bytes, int64* total_bytes) {
  const Binding bound(device, "memory_info");
  if (!bound.status().ok()) return bound.status();
  size_t free = 0, total = 0;
  const Status status = checked(cudaMemGetInfo(&free, &total), "memory_info", device);
  *free_bytes = int64(free), *total_bytes = int64(total);
  return status;
}

Status alloc(int32 device, int64 bytes, void** data) {
  *data = nullptr;
  const Binding bound(device, "alloc");
  if (!bound.status().ok()) return bound.status();
  if (bytes < 0)
    return failure(StatusCode::kInvalidArgument, "alloc: %lld bytes",
                   static_cast<long long>(bytes));
  const OutsideCapture outside;
  const cudaError_t error = cudaMalloc(data, size_t(bytes));
  if (error != cudaErrorMemoryAllocation) return checked(error, "alloc", device);
  cudaGetLastError();
  size_t free = 0, total = 0;
  cudaMemGetInfo(&free, &total);
  return failure(StatusCode::kOutOfMemory,
                 "alloc: cuda:%d (%s) is out of memory: %lld bytes asked for, %zu of %zu free",
                 device, platform().devices[device].info.name, static_cast<long long>(bytes), free,
                 total);
}

void free_memory(int32 device, void* data) {
  const Binding bound(device, "free");
  if (!bound.status().ok()) return;
  const OutsideCapture outside;
  cudaFree(data);
  cudaGetLastError();
}

Status host_alloc(int32 device, int64 bytes, void** data) {
  *data = nullptr;
  const Binding bound(device, "host_alloc");
  if (!bound.status().ok()) return bound.status();
  if (bytes < 0)
    return failure(StatusCode::kInvalidArgument, "host_alloc: %lld bytes",
                   static_cast<long long>(bytes));
  const OutsideCapture outside;
  return checked(cudaHostAlloc(data, size_t(bytes), cudaHostAllocPortable), "host_alloc", device);
}

void host_free(int32 device, void* data) {
  const Binding bound(device, "host_free");
  if (!bound.status().ok()) return;
  const OutsideCapture outside;
  cudaFreeHost(data);
  cudaGetLastError();
}

bool is_pinned(const void* host) {
  cudaPointerAttributes attributes{};
  const cudaError_t error = cudaPointerGetAttributes(&attributes, host);
  cudaGetLastError();
  return error == cudaSuccess && attributes.type != cudaMemoryTypeUnregistered;
}

/// What a staged copy asks of CUDA.
class CudaStaging : public StagingCalls {
 public:
  CudaStaging(int32 device, const Stream& stream) : device_(device), stream_(stream) {}
  Status allocate_pinned(int64 bytes, void** data) override {
    return done(cudaHostAlloc(data, size_t(bytes), cudaHostAllocPortable));
  }
  Status make_event(void** event) override {
    return done(
        cudaEventCreateWithFlags(reinterpret_cast<cudaEvent_t*>(event), cudaEventDisableTiming));
  }
  Status copy(void* to, const void* from, int64 bytes, CopyKind kind) override {
    return done(cudaMemcpyAsync(
        to, from, size_t(bytes),
        kind == CopyKind::kHostToDevice ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost,
        stream_.handle));
  }
  Status record(void* event) override {
    return done(cudaEventRecord(static_cast<cudaEvent_t>(event), stream_.handle));
  }
  Status wait(void* event) override {
    return done(cudaEventSynchronize(static_cast<cudaEvent_t>(event)));
  }

 private:
  Status done(cudaError_t error) const { return checked(error, "copy", device_, &stream_); }

  const OutsideCapture outside_;
  int32 device_;
  const Stream& stream_;
};

Status copy(int32 device, void* to, const void* from, int64 bytes, CopyKind kind, void* stream) {
  const BoundStream at(device, stream, "copy");
  if (!at.status().ok()) return at.status();
  if (bytes < 0)
    return failure(StatusCode::kInvalidArgument, "copy: %lld bytes", static_cast<long long>(bytes));
  if (bytes == 0) return {};
  const bool waits =
      kind != CopyKind::kOnDevice && !is_pinned(kind == CopyKind::kHostToDevice ? from : to);
  if (waits && at->capturing)
    return failure(StatusCode::kInvalidArgument,
                   "copy: a graph being captured copies pinned host memory only");
  if (waits && bytes > kDirectBytes) {
    CudaStaging calls(device, *at);
    return platform().devices[device].staging.copy(calls, to, from, bytes, kind);
  }
  const cudaMemcpyKind direction = kind == CopyKind::kHostToDevice   ? cudaMemcpyHostToDevice
                                   : kind == CopyKind::kDeviceToHost ? cudaMemcpyDeviceToHost
                                                                     : cudaMemcpyDeviceToDevice;
  cudaError_t error = cudaMemcpyAsync(to, from, size_t(bytes), direction, at->handle);
  // Where the card reads pageable memory itself (HMM, Grace) the copy may go on after the call.
  if (error == cudaSuccess && waits) error = cudaStreamSynchronize(at->handle);
  return checked(error, "copy", device, &*at);
}

/// Asks once for each pair that the cards reach each other's memory; without that the driver copies
/// through the host.
void enable_peer(int32 device, int32 peer) {
  Device& d = platform().devices[device];
  const uint64 bit = peer < 64 ? uint64(1) << peer : 0;
  if (bit == 0 || (d.peers_asked.fetch_or(bit) & bit)) return;
  int reachable = 0;
  if (cudaDeviceCanAccessPeer(&reachable, device, peer) == cudaSuccess && reachable)
    cudaDeviceEnablePeerAccess(peer, 0);
  cudaGetLastError();  // somebody else in the process may have enabled it
}

/// The stream is of to_device.
Status copy_peer(int32 to_device, void* to, int32 from_device, const void* from, int64 bytes,
                 void* stream) {
  if (from_device < 0 || from_device >= platform().count)
    return no_such_device(from_device, "copy_peer");
  const BoundStream at(to_device, stream, "copy_peer");
  if (!at.status().ok()) return at.status();
  if (bytes < 0)
    return failure(StatusCode::kInvalidArgument, "copy_peer: %lld bytes",
                   static_cast<long long>(bytes));
  if (bytes == 0) return {};
  if (to_device != from_device) enable_peer(to_device, from_device);
  return checked(cudaMemcpyPeerAsync(to, to_device, from, from_device, size_t(bytes), at->handle),
                 "copy_peer", to_device, &*at);
}

Status fill(int32 device, void* data, uint8 value, int64 bytes, void* stream) {
  const BoundStream at(device, stream, "fill");
  if (!at.status().ok()) return at.status();
  if (bytes < 0)
    return failure(StatusCode::kInvalidArgument, "fill: %lld bytes", static_cast<long long>(bytes));
  if (bytes == 0) return {};
  return checked(cudaMemsetAsync(data, value, size_t(bytes), at->handle), "fill", device, &*at);
}

// ---- the table: streams and events

Status stream_create(int32 device, void** stream) {
  *stream = nullptr;
  const Binding bound(device, "stream_create");
  if (!bound.status().ok()) return bound.status();
  Stream* made = nullptr;
  const Status status = make_stream(device, &made);
  *stream = made;
  return status;
}

void stream_destroy(int32 device, void* stream) {
  if (!stream) return;  // the default stream stays
  const Binding bound(device, "stream_destroy");
  if (!bound.status().ok()) return;
  const OutsideCapture outside;
  destroy(static_cast<Stream*>(stream));
  cudaGetLastError();
}

Status stream_synchronize(int32 device, void* stream, ErrorRecord* record) {
  if (record) *record = {};
  const BoundStream at(device, stream, "synchronize");
  if (!at.status().ok()) return at.status();
  if (at->capturing)
    return failure(StatusCode::kInvalidArgument,
                   "synchronize: the stream is being captured into a graph");
  if (!record || !at->unread.exchange(false))
    return checked(cudaStreamSynchronize(at->handle), "synchronize", device, &*at);

  const std::lock_guard lock(at->mutex);
  std::vector<std::shared_ptr<ErrorRecord>> records = std::exchange(at->guest_records, {});
  records.push_back(at->record);
  for (const auto& written : records) {
    // The record comes in the stream's order, so one wait does for both.
    cudaError_t error = cudaMemcpyAsync(at->seen, written.get(), sizeof(ErrorRecord),
                                        cudaMemcpyDeviceToHost, at->handle);
    if (error == cudaSuccess) error = cudaStreamSynchronize(at->handle);
    if (error == cudaSuccess && at->seen->code != 0) {
      *record = *at->seen;
      error = cudaMemsetAsync(written.get(), 0, sizeof(ErrorRecord), at->handle);
    }
    if (error != cudaSuccess) return runtime_failure(error, "synchronize", device, &*at);
  }
  return {};
}

Status event_create(int32 device, void** event) {
  *event = nullptr;
  const Binding bound(device, "event_create");
  if (!bound.status().ok()) return bound.status();
  const OutsideCapture outside;
  cudaEvent_t made = nullptr;
  const cudaError_t error = cudaEventCreateWithFlags(&made, cudaEventDisableTiming);
  *event = made;
  return checked(error, "event_create", device);
}

void event_destroy(int32 device, void* event) {
  const Binding bound(device, "event_destroy");
  if (!event || !bound.status().ok()) return;
  cudaEventDestroy(static_cast<cudaEvent_t>(event));
  cudaGetLastError();
}

Status event_record(int32 device, void* event, void* stream) {
  const BoundStream at(device, stream, "event_record");
  if (!at.status().ok()) return at.status();
  return checked(cudaEventRecord(static_cast<cudaEvent_t>(event), at->handle), "event_record",
                 device, &*at);
}

Status event_query(int32 device, void* event, int32* done) {
  *done = 0;
  const Binding bound(device, "event_query");
  if (!bound.status().ok()) return bound.status();
  const cudaError_t error = cudaEventQuery(static_cast<cudaEvent_t>(event));
  if (error == cudaErrorNotReady) {
    cudaGetLastError();
    return {};
  }
  *done = error == cudaSuccess;
  return checked(error, "event_query", device);
}

Status stream_wait(int32 device, void* stream, void* event) {
  const BoundStream at(device, stream, "stream_wait");
  if (!at.status().ok()) return at.status();
  if (const cudaError_t error = cudaStreamWaitEvent(at->handle, static_cast<cudaEvent_t>(event), 0))
    return runtime_failure(error, "stream_wait", device, &*at);
  if (at->capturing) return {};
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  const cudaError_t error = cudaStreamIsCapturing(at->handle, &capture);
  if (error == cudaSuccess && capture != cudaStreamCaptureStatusNone) {
    at->capturing = true;  // it waits for an event of a graph being captured, and joins that
    Device& d = platform().devices[device];
    const std::lock_guard lock(d.capture_mutex);
    d.joined.push_back(&*at);
    d.capture_records.push_back(at->record);
  }
  return checked(error, "stream_wait", device, &*at);
}

// ---- the table: kernels and graphs

int32 find_kernels(int32 device, const KernelQuery* query, const Kernel** kernels) {
  *kernels = nullptr;
  const Platform& here = platform();
  if (device < 0 || device >= here.count) return 0;
  return look_up(device, unsigned(here.devices[device].info.families), query, kernels);
}

Status graph_begin(int32 device, void* stream) {
  const BoundStream at(device, stream, "graph_begin");
  if (!at.status().ok()) return at.status();
  // Only what this thread does may disturb the capture: other threads work on.
  const cudaError_t error = cudaStreamBeginCapture(at->handle, cudaStreamCaptureModeThreadLocal);
  if (error == cudaSuccess) {
    at->capturing = true;
    Device& d = platform().devices[device];
    const std::lock_guard lock(d.capture_mutex);
    d.capture_records = {at->record};
  }
  return checked(error, "graph_begin", device, &*at);
}

Status graph_end(int32 device, void* stream, void** graph) {
  *graph = nullptr;
  const BoundStream at(device, stream, "graph_end");
  if (!at.status().ok()) return at.status();
  cudaGraph_t captured = nullptr;
  cudaGraphExec_t executable = nullptr;
  cudaError_t error = cudaStreamEndCapture(at->handle, &captured);
  at->capturing = false;
  auto made = std::make_unique<Graph>();
  {
    Device& d = platform().devices[device];
    const std::lock_guard lock(d.capture_mutex);
    for (Stream* joined : std::exchange(d.joined, {})) joined->capturing = false;
    made->records = std::exchange(d.capture_records, {});
  }
  if (error == cudaSuccess) error = cudaGraphInstantiate(&executable, captured, 0);
  if (captured) cudaGraphDestroy(captured);
  if (error != cudaSuccess) return runtime_failure(error, "graph_end", device, &*at);
  made->executable = executable;
  *graph = made.release();
  return {};
}

Status graph_launch(int32 device, void* stream, void* graph) {
  const BoundStream at(device, stream, "graph_launch");
  if (!at.status().ok()) return at.status();
  const auto* launched = static_cast<const Graph*>(graph);
  {
    const std::lock_guard lock(at->mutex);
    std::vector<std::shared_ptr<ErrorRecord>>& guests = at->guest_records;
    for (const auto& record : launched->records)
      if (record != at->record && std::find(guests.begin(), guests.end(), record) == guests.end())
        guests.push_back(record);
  }
  at->unread = true;
  return checked(cudaGraphLaunch(launched->executable, at->handle), "graph_launch", device, &*at);
}

void graph_destroy(int32 device, void* graph) {
  const Binding bound(device, "graph_destroy");
  if (!graph || !bound.status().ok()) return;
  auto* destroyed = static_cast<Graph*>(graph);
  cudaGraphExecDestroy(destroyed->executable);
  cudaGetLastError();
  delete destroyed;
}

Status native_handles(int32 device, void* stream, int64* native_device, void** native_stream) {
  const BoundStream at(device, stream, "native_handles");
  if (!at.status().ok()) return at.status();
  *native_device = device;
  *native_stream = at->handle;
  return {};
}

// ---- users' code

/// The driver's functions for modules: the runtime has none that load one from memory for one card.
struct Driver {
  CUresult (*module_load)(CUmodule*, const void*, unsigned, CUjit_option*, void**) = nullptr;
  CUresult (*module_unload)(CUmodule) = nullptr;
  CUresult (*module_function)(CUfunction*, CUmodule, const char*) = nullptr;
  CUresult (*module_function_count)(unsigned*, CUmodule) = nullptr;
  CUresult (*module_functions)(CUfunction*, unsigned, CUmodule) = nullptr;
  CUresult (*function_name)(const char**, CUfunction) = nullptr;
  CUresult (*function_attribute)(int*, CUfunction_attribute, CUfunction) = nullptr;
  CUresult (*set_function_attribute)(CUfunction, CUfunction_attribute, int) = nullptr;
  CUresult (*function_parameter)(CUfunction, size_t, size_t*, size_t*) = nullptr;
  CUresult (*launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                     unsigned, CUstream, void**, void**) = nullptr;
  CUresult (*error_name)(CUresult, const char**) = nullptr;
  CUresult (*error_string)(CUresult, const char**) = nullptr;
  const char* missing = nullptr;  // the first function that the driver lacks

  Driver() {
    find("cuModuleLoadDataEx", &module_load);
    find("cuModuleUnload", &module_unload);
    find("cuModuleGetFunction", &module_function);
    find("cuModuleGetFunctionCount", &module_function_count);
    find("cuModuleEnumerateFunctions", &module_functions);
    find("cuFuncGetName", &function_name);
    find("cuFuncGetAttribute", &function_attribute);
    find("cuFuncSetAttribute", &set_function_attribute);
    find("cuFuncGetParamInfo", &function_parameter);
    find("cuLaunchKernel", &launch);
    find("cuGetErrorName", &error_name);
    find("cuGetErrorString", &error_string);
  }

 private:
  template <class F>
  void find(const char* name, F** function) {
    if (!find_driver_function(name, function) && !missing) missing = name;
  }
};
const Driver& driver() {
  static const Driver& found = *new Driver;
  return found;
}

Status driver_failure(StatusCode code, CUresult error, const char* call, int32 device,
                      const char* more = "") {
  const char *name = "unknown", *text = "unknown";
  driver().error_name(error, &name);
  driver().error_string(error, &text);
  const DeviceInfo& info = platform().devices[device].info;
  return failure(code, "%s: cuda:%d (%s, %s): %s: %s%s%s", call, device, info.name,
                 info.architecture, name, text, *more ? "; " : "", more);
}

/// What a `void* module` of RuntimeCode is. Its kernels' facts stay while it is loaded.
struct UserModule {
  CUmodule module = nullptr;
  std::mutex mutex;
  std::vector<std::unique_ptr<std::vector<int32>>> argument_bytes;
};

Status code_load(int32 device, const void* bytes, int64 size, void** module) {
  const Binding bound(device, "load");
  if (!bound.status().ok()) return bound.status();
  if (driver().missing)
    return failure(StatusCode::kUnsupported,
                   "the NVIDIA driver lacks %s; install driver %s or newer", driver().missing,
                   kNeededDriver);
  std::string image;
  const int architecture = atoi(platform().devices[device].info.architecture + strlen("sm_"));
  if (const Failure f =
          read_cuda_image({static_cast<const char*>(bytes), size_t(size)}, architecture, image);
      !f.ok())
    return failure(f.code, "%s", f.text.c_str());
  auto loaded = std::make_unique<UserModule>();
  char log[512] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  const OutsideCapture outside;
  if (const CUresult error =
          driver().module_load(&loaded->module, image.c_str(), 2, options, values)) {
    for (char* c = log; *c; c++)
      if (*c == '\n') *c = ' ';  // an error is one line
    const StatusCode code = error == CUDA_ERROR_OUT_OF_MEMORY       ? StatusCode::kOutOfMemory
                            : error == CUDA_ERROR_NO_BINARY_FOR_GPU ? StatusCode::kKernelNotFound
                                                                    : StatusCode::kModuleNotLoaded;
    return driver_failure(code, error, "cuModuleLoadDataEx", device, log);
  }
  *module = loaded.release();
  return {};
}

void code_unload(int32 device, void* module) {
  const std::unique_ptr<UserModule> loaded(static_cast<UserModule*>(module));
  const Binding bound(device, "unload");
  if (!bound.status().ok()) return;
  const OutsideCapture outside;
  cudaDeviceSynchronize();
  driver().module_unload(loaded->module);
  cudaGetLastError();
}

std::string kernels_of(CUmodule module) {
  unsigned count = 0;
  driver().module_function_count(&count, module);
  std::vector<CUfunction> functions(count);
  if (count > 0) driver().module_functions(functions.data(), count, module);
  std::string names;
  for (const CUfunction function : functions) {
    const char* name = "";
    driver().function_name(&name, function);
    names += std::string(names.empty() ? "" : ", ") + name;
  }
  return names.empty() ? "none" : names;
}

Status code_find(int32 device, void* module, const char* name, KernelFacts* facts) {
  const Binding bound(device, "find");
  if (!bound.status().ok()) return bound.status();
  auto& loaded = *static_cast<UserModule*>(module);
  CUfunction function = nullptr;
  if (const CUresult error = driver().module_function(&function, loaded.module, name)) {
    if (error == CUDA_ERROR_NOT_FOUND)
      return failure(StatusCode::kKernelNotFound, "there is no kernel %s, its kernels are %s", name,
                     kernels_of(loaded.module).c_str());
    return driver_failure(StatusCode::kDeviceError, error, "cuModuleGetFunction", device);
  }
  auto argument_bytes = std::make_unique<std::vector<int32>>();
  size_t offset = 0, bytes = 0;
  while (driver().function_parameter(function, argument_bytes->size(), &offset, &bytes) ==
         CUDA_SUCCESS)
    argument_bytes->push_back(int32(bytes));
  // Without asking a kernel gets 48 KiB; what the card can give is more.
  int largest = 0, of_kernel = 0, max_threads = 0;
  cudaDeviceGetAttribute(&largest, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  CUresult error =
      driver().function_attribute(&of_kernel, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function);
  if (error == CUDA_SUCCESS)
    error = driver().function_attribute(&max_threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                                        function);
  const int dynamic = std::max(0, largest - of_kernel);
  if (error == CUDA_SUCCESS)
    error = driver().set_function_attribute(
        function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, dynamic);
  if (error != CUDA_SUCCESS)
    return driver_failure(StatusCode::kDeviceError, error, "cuFuncGetAttribute", device);
  *facts = {function, argument_bytes->data(), int32(argument_bytes->size()), max_threads, dynamic};
  const std::lock_guard lock(loaded.mutex);
  loaded.argument_bytes.push_back(std::move(argument_bytes));
  return {};
}

Status code_launch(int32 device, void* function, const KernelLaunch* launch, void* stream) {
  const BoundStream at(device, stream, "launch");
  if (!at.status().ok()) return at.status();
  at->last_kernel.store(lasting_name(launch->name), std::memory_order_relaxed);
  const auto& [x, y, z] = launch->grid;
  const auto& [threads_x, threads_y, threads_z] = launch->block;
  const CUresult error = driver().launch(static_cast<CUfunction>(function), x, y, z, threads_x,
                                         threads_y, threads_z, launch->shared_bytes, at->handle,
                                         const_cast<void**>(launch->arguments), nullptr);
  return error == CUDA_SUCCESS
             ? Status{}
             : driver_failure(StatusCode::kDeviceError, error, "cuLaunchKernel", device);
}

Status code_compiler(int32 device, const ByteSink* identity) {
  const Binding bound(device, "compile");
  if (!bound.status().ok()) return bound.status();
  const Failure f =
      give_identity(Vendor::kNvidia, "", platform().devices[device].info.architecture, *identity);
  return f.ok() ? Status{} : failure(f.code, "%s", f.text.c_str());
}
Status code_compile(int32 device, const KernelSource* source, const ByteSink* image,
                    const ByteSink* log) {
  const Binding bound(device, "compile");
  if (!bound.status().ok()) return bound.status();
  const Failure f = compile_source(
      Vendor::kNvidia, "", platform().devices[device].info.architecture, *source, *image, *log);
  return f.ok() ? Status{} : failure(f.code, "%s", f.text.c_str());
}

constexpr RuntimeCode kRuntimeCode = {
    .version = kRuntimeCodeVersion,
    .struct_size = sizeof(RuntimeCode),
    .load = code_load,
    .unload = code_unload,
    .find = code_find,
    .launch = code_launch,
    .compiler = code_compiler,
    .compile = code_compile,
};

/// "/usr/lib/x86_64-linux-gnu/libcuda.so.1 (CUDA 13.0)"
const char* describe_runtime() {
  if (platform().count == 0) return "";
  const std::vector<std::string> drivers = loaded_files(kCudaDriver);
  if (drivers.empty()) return "";
  int version = 0;  // 13000 is 13.0
  cudaDriverGetVersion(&version);
  static thread_local std::string text;
  text = drivers[0] + " (CUDA " + std::to_string(version / 1000) + "." +
         std::to_string(version % 1000 / 10) + ")";
  std::vector<DeviceInfo> infos;
  for (int32 i = 0; i < platform().count; i++) {
    infos.push_back(platform().devices[i].info);
    if (const BoundStream at(i, nullptr, "devices"); at.status().ok()) open_libraries(infos.back());
  }
  text += describe_libraries(infos.data(), int(infos.size()));
  return text.c_str();
}

constexpr Backend kBackend = {
    .abi_version = kAbiVersion,
    .struct_size = sizeof(Backend),
    .layout_hash = kLayoutHash,
    .name = "cuda",
    .device_count = device_count,
    .device_info = device_info,
    .memory_info = memory_info,
    .alloc = alloc,
    .free = free_memory,
    .host_alloc = host_alloc,
    .host_free = host_free,
    .copy = copy,
    .copy_peer = copy_peer,
    .fill = fill,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .stream_synchronize = stream_synchronize,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_query = event_query,
    .stream_wait = stream_wait,
    .find_kernels = find_kernels,
    .list_ops = list_ops,
    .graph_begin = graph_begin,
    .graph_end = graph_end,
    .graph_launch = graph_launch,
    .graph_destroy = graph_destroy,
    .native_handles = native_handles,
    .collectives = &kCollectives,
    .runtime_code = &kRuntimeCode,
    .describe_runtime = describe_runtime,
};

/// "sm_75, sm_80 and PTX for compute_75"
const char* code_in_module() {
  static const char* const text = [] {
    static char made[128];
    int length = 0;
    for (const int arch : kCodeFor)
      length += snprintf(made + length, sizeof made - length, "sm_%d, ", arch);
    snprintf(made + length - 2, sizeof made - length + 2, " and PTX for compute_%d", kPtxFor);
    return made;
  }();
  return text;
}

}  // namespace

namespace {

/// Before its first launch with so much dynamic shared memory a kernel must be given leave.
cudaError_t allow_dynamic(const void* stub, int32 device, int shared_bytes) {
  if (shared_bytes == 0) return cudaSuccess;
  static std::mutex mutex;
  static auto& allowed = *new std::set<std::pair<const void*, int32>>;
  const std::lock_guard lock(mutex);
  if (allowed.contains({stub, device})) return cudaSuccess;
  const cudaError_t error =
      cudaFuncSetAttribute(stub, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
  if (error == cudaSuccess) allowed.emplace(stub, device);
  return error;
}

/// Whether kernels wait themselves until those before have finished, so that they may start early. That
/// depends on the code that the device runs, which is the same for all kernels of the module.
bool waits_itself(const void* stub, int32 device) {
  constexpr int kMaxKnown = 64;
  static std::atomic<int8> known[kMaxKnown] = {};  // 1: no, 2: yes
  if (device >= kMaxKnown) return false;
  if (const int8 answer = known[device].load(std::memory_order_relaxed)) return answer == 2;
  cudaFuncAttributes facts{};
  if (cudaFuncGetAttributes(&facts, stub) != cudaSuccess) {
    cudaGetLastError();
    return false;
  }
  const bool waits = facts.ptxVersion >= kOverlapArch;
  known[device].store(waits ? 2 : 1, std::memory_order_relaxed);
  return waits;
}

}  // namespace

int wave_of(int32) { return kDeviceWave; }  // of every NVIDIA card so far

const Backend& backend() { return kBackend; }

std::string card_address(int32 device) {
  char text[32] = "";
  if (cudaDeviceGetPCIBusId(text, sizeof text, device) != cudaSuccess) {
    cudaGetLastError();
    return "";
  }
  return text;
}

Status with_native_stream(const char* kernel, const Call& call,
                          Status (*work)(void* context, NativeStream), void* context) {
  const BoundStream at(call.device, call.stream, kernel);
  if (!at.status().ok()) return at.status();
  at->last_kernel.store(kernel, std::memory_order_relaxed);
  return work(context, {at->handle, at->capturing});
}

Status launch_stub(const void* stub, const char* kernel, Grid grid, int threads, int shared_bytes,
                   const void* args, const Call& call) {
  const BoundStream at(call.device, call.stream, kernel);
  if (!at.status().ok()) return at.status();
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return {};  // no blocks; CUDA calls that an error
  ErrorRecord* record = at->record.get();
  void* parameters[] = {const_cast<void*>(args), &record};
  cudaError_t error = allow_dynamic(stub, call.device, shared_bytes);
  if (error == cudaSuccess) {
    cudaLaunchAttribute early{};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(grid.x, grid.y, grid.z), config.blockDim = dim3(threads);
    config.dynamicSmemBytes = size_t(shared_bytes), config.stream = at->handle;
    config.attrs = &early, config.numAttrs = waits_itself(stub, call.device) ? 1 : 0;
    error = cudaLaunchKernelExC(&config, stub, parameters);
  }
  if (error == cudaSuccess) {
    at->last_kernel.store(kernel, std::memory_order_relaxed);
    at->unread = true;
    return {};
  }
  if (code_of(error) == StatusCode::kKernelNotFound) {
    cudaGetLastError();
    const DeviceInfo& info = platform().devices[call.device].info;
    return failure(StatusCode::kKernelNotFound,
                   "%s: no code of this kernel for cuda:%d (%s, %s); the module has %s (%s)",
                   kernel, call.device, info.name, info.architecture, code_in_module(),
                   cudaGetErrorName(error));
  }
  char what[128];
  snprintf(what, sizeof what, "%s: launch of %d x %d x %d blocks of %d threads", kernel, grid.x,
           grid.y, grid.z, threads);
  return runtime_failure(error, what, call.device, &*at);
}

}  // namespace wick::gpu

/// What the module exports, and all of it (exports.map).
extern "C" __attribute__((visibility("default"))) const wick::Backend* wick_backend() {
  return &wick::gpu::kBackend;
}
