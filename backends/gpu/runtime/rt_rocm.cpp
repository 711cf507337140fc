// wick_rocm: AMD cards through libamdhip64, which is opened at run time. Fills the Backend table.
//   rt_rocm_hip      HIP's functions, and which runtime they come from
//   rt_rocm_objects  the module's code objects, and a stub's function on a card
//   rt_rocm_image    machine code that users bring, checked before HIP sees it
//   rt_rocm_targets  the gfx architectures
//   rt_rocm_system   what Linux reports beside HIP
#include <cxxabi.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "libraries/collectives.h"
#include "libraries/libraries.h"
#include "runtime/find_library.h"
#include "runtime/kernel_compiler.h"
#include "runtime/kernel_list.h"
#include "runtime/lasting_name.h"
#include "runtime/rt_rocm_hip.h"
#include "runtime/rt_rocm_image.h"
#include "runtime/rt_rocm_objects.h"
#include "runtime/rt_rocm_system.h"
#include "runtime/rt_rocm_targets.h"
#include "runtime/staging.h"
#include "wick/abi/runtime_code.h"

namespace wick::gpu {

namespace {

// ---- errors

/// The Status' text lives here until the thread's next failure.
Status fail(StatusCode code, std::string text) {
  thread_local std::string kept;
  kept = std::move(text);
  return {code, kept.c_str()};
}

std::string describe(const View& view) {
  std::string text = std::string(dtype_name(view.dtype)) + " [";
  for (int d = 0; d < view.rank; d++) text += (d ? ", " : "") + std::to_string(view.shape[d]);
  return text + "]";
}

// ---- error records

/// A stream's ErrorRecord: in device memory, where kernels write it, and a pinned copy to read it
/// by.
struct Record {
  ErrorRecord* on_device = nullptr;
  ErrorRecord* on_host = nullptr;
};

// ---- streams

struct Device;

/// What a `void* stream` of the table is. A device's default stream is one too, with HIP's null
/// stream as its handle.
struct Stream {
  Device* device;
  hip::Stream handle = nullptr;
  std::shared_ptr<Record> record;

  std::mutex mutex;  // of what follows
  // Where the kernels of graphs report that were launched here and recorded by other streams.
  std::vector<std::shared_ptr<Record>> guest_records;
  // What ran last, for the text of a failure that shows later.
  const char* last_op = nullptr;
  const void* last_stub = nullptr;
  View last_operand{};

  std::atomic<bool> capturing{false};

  /// op: with static lifetime. stub: nullptr for a user's kernel.
  void note_launch(const void* stub, const char* op, const View& operand) {
    const std::lock_guard lock(mutex);
    last_op = op;
    last_stub = stub;
    last_operand = operand;
  }
  /// "; last kernel launched on this stream: softmax, out f32 [4, 128] (wick::gpu::entry<...>)", or
  /// nothing.
  std::string last_launch();
};

struct GraphExecution {
  hip::GraphExec exec = nullptr;
  std::vector<std::shared_ptr<Record>> records;  // of the streams that recorded it
};

// ---- devices

struct Device {
  int32 ordinal;
  std::string name;
  std::string architecture;  // in full: "gfx942:sramecc+:xnack-"
  std::string pci_address;   // "" if unknown
  unsigned family = 0;       // 0: wick has no code for it
  int32 wave = 0;
  int32 compute_units = 0;
  int32 shared_memory_bytes = 0;
  bool integrated = false;
  std::unique_ptr<LoadedObjects> objects;
  Stream default_stream;
  Staging staging;

  std::mutex capture_mutex;  // guards what follows
  // Streams that joined the graph being captured, and the records of all that record it.
  std::vector<Stream*> joined;
  std::vector<std::shared_ptr<Record>> capture_records;

  std::mutex mutex;                     // of pinned
  std::map<const char*, int64> pinned;  // host memory of host_alloc, by its first byte

  bool is_pinned(const void* data, int64 bytes) {
    const char* first = static_cast<const char*>(data);
    const std::lock_guard lock(mutex);
    auto after = pinned.upper_bound(first);
    if (after == pinned.begin()) return false;
    const auto& [begin, size] = *std::prev(after);
    return first + bytes <= begin + size;
  }
};

struct Devices {
  std::vector<std::unique_ptr<Device>> list;
  std::string why_none;
};

const hip::Api& api() { return hip::runtime().api; }

/// HIP's error as a Status that names the call, the device and, where a kernel may be to blame, the
/// last one launched.
Status hip_failure(const Device& device, const char* call, hip::Error error,
                   const std::string& more = "") {
  api().hipGetLastError();  // taken note of: nobody else in the process should find it
  const StatusCode code =
      error == hip::kErrorOutOfMemory ? StatusCode::kOutOfMemory : StatusCode::kDeviceError;
  return fail(code, std::string(call) + " on rocm:" + std::to_string(device.ordinal) + " (" +
                        device.architecture + "): " + api().hipGetErrorName(error) + " (" +
                        api().hipGetErrorString(error) + ")" + more);
}

std::string Stream::last_launch() {
  const std::lock_guard lock(mutex);
  if (!last_op) return "";
  std::string text = std::string("; last kernel launched on this stream: ") + last_op;
  if (last_operand.rank > 0 || last_operand.data) text += ", out " + describe(last_operand);
  if (const RegisteredKernel* kernel = find_registered(last_stub)) {
    int status = 0;
    char* demangled = abi::__cxa_demangle(kernel->symbol, nullptr, nullptr, &status);
    text += std::string(" (") + (demangled ? demangled : kernel->symbol) + ")";
    std::free(demangled);
  }
  return text;
}

/// Makes a device current for this thread and gives the former one back: the user's own HIP code
/// may share the thread.
class Current {
 public:
  explicit Current(int32 device) {
    if (api().hipGetDevice(&before_) != hip::kSuccess) before_ = -1;
    if (before_ == device)
      before_ = -1;  // nothing to do, nothing to undo
    else
      error_ = api().hipSetDevice(device);
  }
  ~Current() {
    if (before_ >= 0) api().hipSetDevice(before_);
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  hip::Error error() const { return error_; }

 private:
  int before_ = -1;
  hip::Error error_ = hip::kSuccess;
};

std::string arch_name(int32 ordinal) {
  auto properties = std::make_unique<hip::Properties>();
  const hip::Api& f = api();
  const bool modern = f.hipGetDevicePropertiesR0600 != nullptr;
  const auto get = modern ? f.hipGetDevicePropertiesR0600 : f.hipGetDeviceProperties;
  std::memset(properties.get(), 0, sizeof *properties);
  if (get(properties.get(), ordinal) != hip::kSuccess) return f.hipGetLastError(), "unknown";
  const char* name =
      properties->bytes + (modern ? hip::kArchNameOffsetR0600 : hip::kArchNameOffsetR0000);
  return std::string(name, strnlen(name, hip::kArchNameSize));
}

int32 attribute(int number, int32 ordinal) {
  int value = 0;
  if (api().hipDeviceGetAttribute(&value, number, ordinal) != hip::kSuccess)
    return api().hipGetLastError(), 0;
  return value;
}

std::unique_ptr<Device> describe_device(int32 ordinal) {
  auto device = std::make_unique<Device>();
  device->ordinal = ordinal;
  device->architecture = arch_name(ordinal);
  char text[256] = "";
  if (api().hipDeviceGetName(text, sizeof text, ordinal) != hip::kSuccess) api().hipGetLastError();
  // Integrated cards have been seen without a name.
  device->name = text[0] ? text : "AMD " + std::string(base_architecture(device->architecture));
  text[0] = 0;
  if (api().hipDeviceGetPCIBusId &&
      api().hipDeviceGetPCIBusId(text, sizeof text, ordinal) == hip::kSuccess)
    device->pci_address = text;
  if (const Target* target = find_target(device->architecture);
      target && target_for(device->architecture)) {
    device->family = target->family;
    device->wave = wave_of_family(target->family);
  }
  device->compute_units = attribute(hip::kAttributeMultiprocessorCount, ordinal);
  device->shared_memory_bytes = attribute(hip::kAttributeMaxSharedMemoryPerBlock, ordinal);
  device->integrated = attribute(hip::kAttributeIntegrated, ordinal) != 0;
  device->objects = std::make_unique<LoadedObjects>(ordinal, device->architecture);
  device->default_stream.device = device.get();
  return device;
}

Devices find_devices() {
  Devices devices;
  const hip::Runtime& runtime = hip::runtime();
  if (!runtime.usable) {
    devices.why_none = runtime.why_none;
    return devices;
  }
  int count = 0;
  const hip::Error e = runtime.api.hipGetDeviceCount(&count);
  if (e != hip::kSuccess) runtime.api.hipGetLastError();
  if (e != hip::kSuccess && e != hip::kErrorNoDevice) {
    devices.why_none = "ROCm runtime found (" + runtime.name +
                       "), but hipGetDeviceCount: " + runtime.api.hipGetErrorName(e) + " (" +
                       runtime.api.hipGetErrorString(e) + "): " + why_no_card();
    return devices;
  }
  if (e == hip::kErrorNoDevice || count <= 0) {
    devices.why_none = "ROCm runtime found (" + runtime.name + "), no AMD GPU: " + why_no_card();
    return devices;
  }
  for (int32 i = 0; i < count; i++) devices.list.push_back(describe_device(i));
  return devices;
}

const Devices& devices() {
  static const Devices* const found = new Devices(find_devices());
  return *found;
}

/// nullptr if there is none with this ordinal; status says so.
Device* device_at(int32 ordinal, Status& status) {
  const Devices& all = devices();
  if (ordinal >= 0 && ordinal < int32(all.list.size())) return all.list[ordinal].get();
  status =
      fail(StatusCode::kInvalidArgument,
           "rocm:" + std::to_string(ordinal) + ": " +
               (all.list.empty() ? all.why_none
                                 : "there are " + std::to_string(all.list.size()) + " devices"));
  return nullptr;
}

// ---- making and reading records

Status make_record(Device& device, std::shared_ptr<Record>& out) {
  const hip::Api& f = api();
  auto* record = new Record;
  std::shared_ptr<Record> owner(record, [ordinal = device.ordinal](Record* r) {
    const Current current(ordinal);
    if (r->on_device) api().hipFree(r->on_device);
    if (r->on_host) api().hipHostFree(r->on_host);
    delete r;
  });
  if (const hip::Error e =
          f.hipMalloc(reinterpret_cast<void**>(&record->on_device), sizeof(ErrorRecord)))
    return hip_failure(device, "hipMalloc of a stream's error record", e);
  if (const hip::Error e =
          f.hipHostMalloc(reinterpret_cast<void**>(&record->on_host), sizeof(ErrorRecord), 0))
    return hip_failure(device, "hipHostMalloc of a stream's error record", e);
  // On the null stream, and waited for: no kernel may meet what stood there before.
  if (const hip::Error e = f.hipMemsetAsync(record->on_device, 0, sizeof(ErrorRecord), nullptr))
    return hip_failure(device, "hipMemsetAsync of a stream's error record", e);
  if (const hip::Error e = f.hipStreamSynchronize(nullptr))
    return hip_failure(device, "hipStreamSynchronize", e);
  out = std::move(owner);
  return {};
}

/// The stream of a handle of the table: nullptr is the device's default one, whose record is
/// made when first needed.
Status stream_of(Device& device, void* handle, Stream*& out) {
  if (handle) {
    out = static_cast<Stream*>(handle);
    return {};
  }
  out = &device.default_stream;
  Status status;
  const std::lock_guard lock(device.mutex);
  if (!out->record) status = make_record(device, out->record);
  return status;
}

/// Hands out what stands in the record, if anything, and clears it. The stream's work is done.
Status take_record(Device& device, Stream& stream, const Record& record, ErrorRecord* out) {
  const hip::Api& f = api();
  if (const hip::Error e = f.hipMemcpyAsync(record.on_host, record.on_device, sizeof(ErrorRecord),
                                            hip::kDeviceToHost, stream.handle))
    return hip_failure(device, "hipMemcpyAsync of the error record", e);
  if (const hip::Error e = f.hipStreamSynchronize(stream.handle))
    return hip_failure(device, "hipStreamSynchronize", e);
  if (record.on_host->code == 0) return {};
  if (out->code == 0) *out = *record.on_host;
  if (const hip::Error e =
          f.hipMemsetAsync(record.on_device, 0, sizeof(ErrorRecord), stream.handle))
    return hip_failure(device, "hipMemsetAsync of the error record", e);
  if (const hip::Error e = f.hipStreamSynchronize(stream.handle))
    return hip_failure(device, "hipStreamSynchronize", e);
  return {};
}

}  // namespace

// ---- what the table's kernels need (rt.h)

int wave_of(int32 device) { return devices().list[device]->wave; }

Status launch_stub(const void* stub, const char* op, Grid grid, int threads, int shared_bytes,
                   const void* args, const Call& call) {
  Status status;
  Device* device = device_at(call.device, status);
  if (!device) return status;
  const Current current(device->ordinal);
  if (current.error()) return hip_failure(*device, "hipSetDevice", current.error());
  Stream* stream = nullptr;
  if (status = stream_of(*device, call.stream, stream); !status.ok()) return status;

  const auto what = [&] {
    return std::string(op) + (call.num_out > 0 ? " to " + describe(call.out[0]) : "");
  };
  Failure failure;
  const hip::Function function = device->objects->function(api(), stub, failure);
  if (!function)
    return fail(failure.code,
                what() + " on rocm:" + std::to_string(device->ordinal) + ": " + failure.text);
  void* parameters[] = {const_cast<void*>(args), &stream->record->on_device};
  stream->note_launch(stub, op, call.num_out > 0 ? call.out[0] : View{});
  if (const hip::Error e = api().hipModuleLaunchKernel(function, grid.x, grid.y, grid.z, threads, 1,
                                                       1, unsigned(shared_bytes), stream->handle,
                                                       parameters, nullptr)) {
    return hip_failure(*device, ("hipModuleLaunchKernel of " + what()).c_str(), e,
                       "; grid " + std::to_string(grid.x) + " x " + std::to_string(grid.y) + " x " +
                           std::to_string(grid.z) + " blocks of " + std::to_string(threads));
  }
  return {};
}

// ---- the table

namespace {

int32 device_count(const char** why_none) {
  const Devices& all = devices();
  if (why_none) *why_none = all.list.empty() ? all.why_none.c_str() : nullptr;
  return hip::runtime().usable ? int32(all.list.size()) : -1;
}

Status memory_info(int32 ordinal, int64* free_bytes, int64* total_bytes) {
  Status status;
  Device* device = device_at(ordinal, status);
  if (!device) return status;
  const Current current(ordinal);
  size_t free_by_hip = 0, total_by_hip = 0;
  if (const hip::Error e = api().hipMemGetInfo(&free_by_hip, &total_by_hip))
    return hip_failure(*device, "hipMemGetInfo", e);
  *free_bytes = int64(free_by_hip), *total_bytes = int64(total_by_hip);
  // HIP leaves out what other processes and the desktop use; believing it over-commits the card.
  if (!device->pci_address.empty()) {
    if (const auto memory = memory_from_sysfs(device->pci_address, device->integrated)) {
      *free_bytes = std::min(*free_bytes, memory->free_bytes);
      *total_bytes = std::min(*total_bytes, memory->total_bytes);
    }
  }
  return {};
}

/// Describes a device. Fills info even for a card that wick has no code for, so that it can be
/// listed with the reason.
Status device_info(int32 index, DeviceInfo* info) {
  Status status;
  const Device* device = device_at(index, status);
  if (!device) return status;
  *info = {};
  std::snprintf(info->name, sizeof info->name, "%s", device->name.c_str());
  std::snprintf(info->architecture, sizeof info->architecture, "%s", device->architecture.c_str());
  info->ordinal = device->ordinal;
  info->wave = device->wave;
  info->compute_units = device->compute_units;
  info->integrated = device->integrated;
  info->computes_bf16 = (device->family & kMatrixFamilies) != 0;
  info->families = int32(device->family);
  info->shared_memory_bytes = device->shared_memory_bytes;
  int64 free_bytes = 0;
  if (status = memory_info(index, &free_bytes, &info->total_bytes); !status.ok()) return status;
  if (device->family == 0) {
    return fail(StatusCode::kKernelNotFound, "rocm:" + std::to_string(index) + " (" + device->name +
                                                 ") is " + device->architecture +
                                                 ", for which this module has no code: it has " +
                                                 list_targets());
  }
  return {};
}

Status allocate(int32 ordinal, int64 bytes, void** data) {
  Status status;
  Device* device = device_at(ordinal, status);
  if (!device) return status;
  const Current current(ordinal);
  if (current.error()) return hip_failure(*device, "hipSetDevice", current.error());
  if (const hip::Error e = api().hipMalloc(data, size_t(bytes))) {
    api().hipGetLastError();
    int64 free_bytes = 0, total_bytes = 0;
    memory_info(ordinal, &free_bytes, &total_bytes);
    return hip_failure(*device, ("hipMalloc of " + std::to_string(bytes) + " bytes").c_str(), e,
                       "; " + std::to_string(free_bytes) + " of " + std::to_string(total_bytes) +
                           " bytes are free");
  }
  return {};
}

void release(int32 ordinal, void* data) {
  const Current current(ordinal);
  if (api().hipFree(data) != hip::kSuccess) api().hipGetLastError();
}

Status host_allocate(int32 ordinal, int64 bytes, void** data) {
  Status status;
  Device* device = device_at(ordinal, status);
  if (!device) return status;
  const Current current(ordinal);
  if (const hip::Error e = api().hipHostMalloc(data, size_t(bytes), 0))
    return hip_failure(*device, ("hipHostMalloc of " + std::to_string(bytes) + " bytes").c_str(),
                       e);
  const std::lock_guard lock(device->mutex);
  device->pinned[static_cast<const char*>(*data)] = bytes;
  return {};
}

void host_release(int32 ordinal, void* data) {
  Status status;
  Device* device = device_at(ordinal, status);
  if (!device || !data) return;
  const Current current(ordinal);
  {
    const std::lock_guard lock(device->mutex);
    device->pinned.erase(static_cast<const char*>(data));
  }
  if (api().hipHostFree(data) != hip::kSuccess) api().hipGetLastError();
}

/// A device and one of its streams, current for the thread: what most entries begin with.
struct Work {
  Work(int32 ordinal, void* handle) : current_(ordinal) {
    device = device_at(ordinal, status);
    if (!device) return;
    if (current_.error())
      status = hip_failure(*device, "hipSetDevice", current_.error());
    else
      status = stream_of(*device, handle, stream);
  }
  /// An error of HIP as a Status: the stream's work may be to blame for it.
  Status check(hip::Error error, const char* call) const {
    return error ? hip_failure(*device, call, error, stream->last_launch()) : Status{};
  }
  Status status;
  Device* device = nullptr;
  Stream* stream = nullptr;

 private:
  const Current current_;
};

/// What a staged copy asks of HIP.
class HipStaging : public StagingCalls {
 public:
  explicit HipStaging(const Work& work) : work_(work) {}
  Status allocate_pinned(int64 bytes, void** data) override {
    return work_.check(api().hipHostMalloc(data, size_t(bytes), 0), "hipHostMalloc for a copy");
  }
  Status make_event(void** event) override {
    return work_.check(api().hipEventCreateWithFlags(event, hip::kEventDisableTiming),
                       "hipEventCreateWithFlags");
  }
  Status copy(void* to, const void* from, int64 bytes, CopyKind kind) override {
    const int direction = kind == CopyKind::kHostToDevice ? hip::kHostToDevice : hip::kDeviceToHost;
    return work_.check(
        api().hipMemcpyAsync(to, from, size_t(bytes), direction, work_.stream->handle),
        "hipMemcpyAsync");
  }
  Status record(void* event) override {
    return work_.check(api().hipEventRecord(event, work_.stream->handle), "hipEventRecord");
  }
  Status wait(void* event) override {
    return work_.check(api().hipEventSynchronize(event), "hipEventSynchronize of a copy");
  }

 private:
  const Work& work_;
};

Status copy(int32 ordinal, void* to, const void* from, int64 bytes, CopyKind kind, void* handle) {
  const Work work(ordinal, handle);
  if (!work.status.ok() || bytes == 0) return work.status;
  const void* host = kind == CopyKind::kHostToDevice ? from : to;
  const bool waits = kind != CopyKind::kOnDevice && !work.device->is_pinned(host, bytes);
  if (waits && work.stream->capturing)
    return fail(StatusCode::kInvalidArgument,
                "copy: a graph being captured copies pinned host memory only");
  if (waits && bytes > kDirectBytes) {
    HipStaging calls(work);
    return work.device->staging.copy(calls, to, from, bytes, kind);
  }
  const int direction = kind == CopyKind::kHostToDevice   ? hip::kHostToDevice
                        : kind == CopyKind::kDeviceToHost ? hip::kDeviceToHost
                                                          : hip::kDeviceToDevice;
  const Status status =
      work.check(api().hipMemcpyAsync(to, from, size_t(bytes), direction, work.stream->handle),
                 "hipMemcpyAsync");
  if (!status.ok() || !waits) return status;
  return work.check(api().hipStreamSynchronize(work.stream->handle),
                    "hipStreamSynchronize after a copy");
}

Status copy_peer(int32 to_device, void* to, int32 from_device, const void* from, int64 bytes,
                 void* handle) {
  const Work work(to_device, handle);
  if (!work.status.ok() || bytes == 0) return work.status;
  return work.check(api().hipMemcpyPeerAsync(to, to_device, from, from_device, size_t(bytes),
                                             work.stream->handle),
                    "hipMemcpyPeerAsync");
}

Status fill(int32 ordinal, void* data, uint8 value, int64 bytes, void* handle) {
  const Work work(ordinal, handle);
  if (!work.status.ok() || bytes == 0) return work.status;
  return work.check(api().hipMemsetAsync(data, value, size_t(bytes), work.stream->handle),
                    "hipMemsetAsync");
}

Status stream_create(int32 ordinal, void** out) {
  Status status;
  Device* device = device_at(ordinal, status);
  if (!device) return status;
  const Current current(ordinal);
  if (current.error()) return hip_failure(*device, "hipSetDevice", current.error());
  auto stream = std::make_unique<Stream>();
  stream->device = device;
  if (status = make_record(*device, stream->record); !status.ok()) return status;
  if (const hip::Error e = api().hipStreamCreateWithFlags(&stream->handle, hip::kStreamNonBlocking))
    return hip_failure(*device, "hipStreamCreateWithFlags", e);
  *out = stream.release();
  return {};
}

void stream_destroy(int32 ordinal, void* handle) {
  if (!handle) return;
  const Current current(ordinal);
  const std::unique_ptr<Stream> stream(static_cast<Stream*>(handle));
  // The record goes with the stream, so its kernels must be done.
  if (api().hipStreamSynchronize(stream->handle) != hip::kSuccess) api().hipGetLastError();
  if (api().hipStreamDestroy(stream->handle) != hip::kSuccess) api().hipGetLastError();
  const std::lock_guard lock(stream->device->capture_mutex);
  std::erase(stream->device->joined, stream.get());
}

Status stream_synchronize(int32 ordinal, void* handle, ErrorRecord* record) {
  if (record) *record = {};
  const Work work(ordinal, handle);
  if (!work.status.ok()) return work.status;
  Stream& stream = *work.stream;
  if (stream.capturing)
    return fail(StatusCode::kInvalidArgument,
                "synchronize: the stream is being captured into a graph");
  if (const Status s =
          work.check(api().hipStreamSynchronize(stream.handle), "hipStreamSynchronize");
      !s.ok())
    return s;
  // Read under the lock: two threads may wait for one stream, and there is one pinned copy.
  const std::lock_guard lock(stream.mutex);
  ErrorRecord found{};
  Status status = take_record(*work.device, stream, *stream.record, &found);
  for (const auto& guest : stream.guest_records)
    if (status.ok()) status = take_record(*work.device, stream, *guest, &found);
  stream.guest_records.clear();
  if (record) *record = found;
  return status;
}

Status event_create(int32 ordinal, void** event) {
  Status status;
  Device* device = device_at(ordinal, status);
  if (!device) return status;
  const Current current(ordinal);
  const hip::Error e = api().hipEventCreateWithFlags(event, hip::kEventDisableTiming);
  return e ? hip_failure(*device, "hipEventCreateWithFlags", e) : Status{};
}

void event_destroy(int32 ordinal, void* event) {
  const Current current(ordinal);
  if (event && api().hipEventDestroy(event) != hip::kSuccess) api().hipGetLastError();
}

Status event_record(int32 ordinal, void* event, void* handle) {
  const Work work(ordinal, handle);
  if (!work.status.ok()) return work.status;
  return work.check(api().hipEventRecord(event, work.stream->handle), "hipEventRecord");
}

Status event_query(int32 ordinal, void* event, int32* done) {
  Status status;
  Device* device = device_at(ordinal, status);
  if (!device) return status;
  const Current current(ordinal);
  const hip::Error e = api().hipEventQuery(event);
  *done = e == hip::kSuccess;
  if (e == hip::kErrorNotReady) return api().hipGetLastError(), Status{};
  return e ? hip_failure(*device, "hipEventQuery", e) : Status{};
}

Status stream_wait(int32 ordinal, void* handle, void* event) {
  const Work work(ordinal, handle);
  if (!work.status.ok()) return work.status;
  Stream& stream = *work.stream;
  if (const hip::Error e = api().hipStreamWaitEvent(stream.handle, event, 0))
    return work.check(e, "hipStreamWaitEvent");
  if (stream.capturing || !stream.handle || !api().has_graphs()) return {};
  int is_capturing = 0;
  const hip::Error e = api().hipStreamIsCapturing(stream.handle, &is_capturing);
  if (e == hip::kSuccess && is_capturing) {
    stream.capturing = true;  // it waits for an event of a graph being captured, and joins that
    const std::lock_guard lock(work.device->capture_mutex);
    work.device->joined.push_back(&stream);
    work.device->capture_records.push_back(stream.record);
  }
  return work.check(e, "hipStreamIsCapturing");
}

int32 find_kernels(int32 ordinal, const KernelQuery* query, const Kernel** kernels) {
  Status status;
  const Device* device = device_at(ordinal, status);
  if (!device || device->family == 0) return 0;
  return look_up(ordinal, device->family, query, kernels);
}

// ---- graphs

Status graph_begin(int32 ordinal, void* handle) {
  const Work work(ordinal, handle);
  if (!work.status.ok()) return work.status;
  if (!api().has_graphs())
    return fail(StatusCode::kUnsupported, "graph_begin: " + hip::runtime().name +
                                              " has no stream capture; install ROCm 6 or newer");
  Stream& stream = *work.stream;
  if (stream.capturing)
    return fail(StatusCode::kInvalidArgument, "graph_begin: the stream is being captured");
  // HIP captures no null stream: the default stream's work goes to one of its own meanwhile.
  hip::Stream own = nullptr;
  if (!handle) {
    const hip::Error e = api().hipStreamCreateWithFlags(&own, hip::kStreamNonBlocking);
    if (e) return work.check(e, "hipStreamCreateWithFlags");
  }
  const hip::Error e = api().hipStreamBeginCapture(own ? own : stream.handle, hip::kCaptureRelaxed);
  if (e == hip::kSuccess) {
    if (own) stream.handle = own;
    stream.capturing = true;
    const std::lock_guard lock(work.device->capture_mutex);
    work.device->capture_records = {stream.record};
  } else if (own && api().hipStreamDestroy(own) != hip::kSuccess) {
    api().hipGetLastError();
  }
  return work.check(e, "hipStreamBeginCapture");
}

/// Ends the capture of a stream. The default one has HIP's null stream as its handle again.
hip::Error end_capture(Stream& stream, hip::Graph* graph) {
  const hip::Error e = api().hipStreamEndCapture(stream.handle, graph);
  stream.capturing = false;
  if (&stream != &stream.device->default_stream) return e;
  if (api().hipStreamDestroy(stream.handle) != hip::kSuccess) api().hipGetLastError();
  stream.handle = nullptr;
  return e;
}

Status graph_end(int32 ordinal, void* handle, void** out) {
  const Work work(ordinal, handle);
  if (!work.status.ok()) return work.status;
  if (!api().has_graphs())
    return fail(StatusCode::kUnsupported, "graph_end: " + hip::runtime().name +
                                              " has no stream capture; install ROCm 6 or newer");
  if (!work.stream->capturing)
    return fail(StatusCode::kInvalidArgument, "graph_end: the stream is not being captured");
  hip::Graph graph = nullptr;
  const hip::Error ended = end_capture(*work.stream, &graph);
  auto execution = std::make_unique<GraphExecution>();
  {
    const std::lock_guard lock(work.device->capture_mutex);
    for (Stream* joined : std::exchange(work.device->joined, {})) joined->capturing = false;
    execution->records = std::exchange(work.device->capture_records, {});
  }
  if (ended) return work.check(ended, "hipStreamEndCapture");
  const hip::Error e = api().hipGraphInstantiate(&execution->exec, graph, nullptr, nullptr, 0);
  if (api().hipGraphDestroy(graph) != hip::kSuccess) api().hipGetLastError();
  if (e) return work.check(e, "hipGraphInstantiate");
  *out = execution.release();
  return {};
}

Status graph_launch(int32 ordinal, void* handle, void* graph) {
  const Work work(ordinal, handle);
  if (!work.status.ok()) return work.status;
  const auto* execution = static_cast<GraphExecution*>(graph);
  Stream& stream = *work.stream;
  {
    const std::lock_guard lock(stream.mutex);
    auto& guests = stream.guest_records;
    for (const auto& record : execution->records)
      if (record != stream.record &&
          std::find(guests.begin(), guests.end(), record) == guests.end())
        guests.push_back(record);
  }
  return work.check(api().hipGraphLaunch(execution->exec, stream.handle), "hipGraphLaunch");
}

void graph_destroy(int32 ordinal, void* graph) {
  if (!graph) return;
  const Current current(ordinal);
  const std::unique_ptr<GraphExecution> execution(static_cast<GraphExecution*>(graph));
  if (api().hipGraphExecDestroy(execution->exec) != hip::kSuccess) api().hipGetLastError();
}

// ---- users' code

/// What a `void* module` of RuntimeCode is.
struct UserModule {
  Image image;  // kept: HIP may read the code later, for a kernel's first launch
  hip::Module module = nullptr;
};

Status code_load(int32 ordinal, const void* bytes, int64 size, void** out) {
  const Work work(ordinal, nullptr);
  if (!work.status.ok()) return work.status;
  auto loaded = std::make_unique<UserModule>();
  const std::string& architecture = work.device->architecture;
  if (const Failure f =
          read_image({static_cast<const char*>(bytes), size_t(size)}, architecture, loaded->image);
      !f.ok())
    return fail(f.code, f.text);
  if (const hip::Error e = api().hipModuleLoadData(&loaded->module, loaded->image.code.data())) {
    const Status status = hip_failure(*work.device, "hipModuleLoadData", e);
    return {StatusCode::kModuleNotLoaded, status.text};
  }
  *out = loaded.release();
  return {};
}

void code_unload(int32 ordinal, void* module) {
  const std::unique_ptr<UserModule> loaded(static_cast<UserModule*>(module));
  const Current current(ordinal);
  if (api().hipDeviceSynchronize() != hip::kSuccess) api().hipGetLastError();
  if (api().hipModuleUnload(loaded->module) != hip::kSuccess) api().hipGetLastError();
}

Status code_find(int32 ordinal, void* module, const char* name, KernelFacts* facts) {
  const Work work(ordinal, nullptr);
  if (!work.status.ok()) return work.status;
  const UserModule& loaded = *static_cast<UserModule*>(module);
  const auto& kernels = loaded.image.kernels;
  const auto kernel = std::find_if(kernels.begin(), kernels.end(),
                                   [&](const ImageKernel& k) { return k.name == name; });
  if (kernel == kernels.end()) {
    std::string has;
    for (const ImageKernel& k : kernels) has += (has.empty() ? "" : ", ") + k.name;
    return fail(StatusCode::kKernelNotFound, std::string("there is no kernel ") + name +
                                                 ", its kernels are " +
                                                 (has.empty() ? "none" : has));
  }
  *facts = {};
  if (const hip::Error e = api().hipModuleGetFunction(&facts->function, loaded.module, name)) {
    const Status status = hip_failure(*work.device, "hipModuleGetFunction", e);
    return {StatusCode::kKernelNotFound, status.text};
  }
  facts->argument_bytes = kernel->argument_bytes.data();
  facts->num_arguments = int32(kernel->argument_bytes.size());
  facts->max_threads = kernel->max_threads;
  facts->max_dynamic_shared =
      std::max(0, work.device->shared_memory_bytes - kernel->static_shared_bytes);
  return {};
}

Status code_launch(int32 ordinal, void* function, const KernelLaunch* launch, void* handle) {
  const Work work(ordinal, handle);
  if (!work.status.ok()) return work.status;
  work.stream->note_launch(nullptr, lasting_name(launch->name), {});
  const auto& [x, y, z] = launch->grid;
  const auto& [threads_x, threads_y, threads_z] = launch->block;
  return work.check(api().hipModuleLaunchKernel(function, x, y, z, threads_x, threads_y, threads_z,
                                                launch->shared_bytes, work.stream->handle,
                                                const_cast<void**>(launch->arguments), nullptr),
                    "hipModuleLaunchKernel");
}

Status code_compiler(int32 ordinal, const ByteSink* identity) {
  const Work work(ordinal, nullptr);
  if (!work.status.ok()) return work.status;
  const Failure f = give_identity(Vendor::kAmd, folder_of(hip::runtime().name),
                                  work.device->architecture, *identity);
  return f.ok() ? Status{} : fail(f.code, f.text);
}
Status code_compile(int32 ordinal, const KernelSource* source, const ByteSink* image,
                    const ByteSink* log) {
  const Work work(ordinal, nullptr);
  if (!work.status.ok()) return work.status;
  const Failure f = compile_source(Vendor::kAmd, folder_of(hip::runtime().name),
                                   work.device->architecture, *source, *image, *log);
  return f.ok() ? Status{} : fail(f.code, f.text);
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

Status native_handles(int32 ordinal, void* handle, int64* native_device, void** native_stream) {
  const Work work(ordinal, handle);
  if (!work.status.ok()) return work.status;
  *native_device = ordinal;  // a hipDevice_t is the ordinal
  *native_stream = work.stream->handle;
  return {};
}

/// "/opt/rocm-7.2.0/lib/libamdhip64.so.7 (HIP 7.2)", and a second line if the process has loaded
/// another runtime too, before or after this one.
const char* describe_runtime() {
  const hip::Runtime& runtime = hip::runtime();
  if (!runtime.usable) return "";
  thread_local std::string text;
  text = runtime.name;
  int version = 0;  // 70226015 is 7.2
  if (api().hipRuntimeGetVersion(&version) == hip::kSuccess)
    text += " (HIP " + std::to_string(version / 10000000) + "." +
            std::to_string(version / 100000 % 100) + ")";
  else
    api().hipGetLastError();
  text += warn_of_copies(kHipRuntime, runtime.name);
  std::vector<DeviceInfo> infos;
  for (int32 i = 0; i < int32(devices().list.size()); i++)
    if (DeviceInfo info{}; device_info(i, &info).ok()) {
      infos.push_back(info);
      if (const Work at(i, nullptr); at.status.ok()) open_libraries(info);
    }
  text += describe_libraries(infos.data(), int(infos.size()));
  return text.c_str();
}

constexpr Backend kBackend = {
    .abi_version = kAbiVersion,
    .struct_size = sizeof(Backend),
    .layout_hash = kLayoutHash,
    .name = "rocm",
    .device_count = device_count,
    .device_info = device_info,
    .memory_info = memory_info,
    .alloc = allocate,
    .free = release,
    .host_alloc = host_allocate,
    .host_free = host_release,
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

}  // namespace

const Backend& backend() { return kBackend; }

std::string card_address(int32 ordinal) {
  Status status;
  const Device* device = device_at(ordinal, status);
  return device ? device->pci_address : "";
}

Status with_native_stream(const char* kernel, const Call& call,
                          Status (*work)(void* context, NativeStream), void* context) {
  const Work at(call.device, call.stream);
  if (!at.status.ok()) return at.status;
  at.stream->note_launch(nullptr, kernel, call.num_out > 0 ? call.out[0] : View{});
  return work(context, {at.stream->handle, at.stream->capturing});
}

}  // namespace wick::gpu

extern "C" __attribute__((visibility("default"))) const wick::Backend* wick_backend() {
  return &wick::gpu::kBackend;
}
