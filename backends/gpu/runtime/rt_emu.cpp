// The backend "emu": devices emu:32 and emu:64, whose ordinals are the threads of a wave. Memory is
// the host's and every function has done its work when it returns, so streams own their error
// record, and the work that they record into a graph.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/memory.h"
#include "base/parallel.h"
#include "device/emulator.h"
#include "runtime/check_emulated.h"
#include "runtime/rt.h"
#include "runtime/source_emulated.h"

namespace wick::gpu {
namespace {

constexpr int32 kWaves[] = {32, 64};
constexpr int32 kNumDevices = 2;
constexpr size_t kAlignment = 256;

struct Stream;

/// Work on the stream that it is given, to which its kernels report.
using Work = std::function<Status(void* stream)>;

/// The work of streams, recorded once and done at each launch.
struct Graph {
  std::vector<Work> work;
};

/// Of each stream that records, how much of its work comes before a point in a stream's work.
using Before = std::map<const Stream*, size_t>;

void join(Before& before, const Before& more) {
  for (const auto& [stream, count] : more) before[stream] = std::max(before[stream], count);
}

/// A graph that is being recorded, by the stream that began it and those that joined it.
struct Capture {
  struct Item {
    Work work;
    Before before;
  };
  struct Branch {
    Stream* stream;
    std::vector<Item> items;
  };
  std::vector<Branch> branches;  // the first one began it
  bool is_lost = false;          // a stream that joined it was destroyed

  /// The work in another order than that of recording: wherever events let it, the branch that
  /// joined last and the first one take turns. So a missing event shows, and memory that two of
  /// them use at once.
  std::vector<Work> in_order() const;
};

struct Stream {
  ErrorRecord record{};
  std::shared_ptr<Capture> capture;  // into which the stream's work goes, undone; nullptr: none
  Before before;                     // the end of its recorded work

  void record_work(Work work) {
    for (Capture::Branch& branch : capture->branches) {
      if (branch.stream != this) continue;
      branch.items.push_back({std::move(work), before});
      before[this] = branch.items.size();
    }
  }
};

std::vector<Work> Capture::in_order() const {
  std::vector<Work> work;
  Before done;
  const auto may_run = [&](const Branch& branch) {
    const size_t next = done[branch.stream];
    if (next == branch.items.size()) return false;
    for (const auto& [stream, count] : branch.items[next].before)
      if (done[stream] < count) return false;
    return true;
  };
  for (bool last = true;; last = !last) {
    const Branch* ready = nullptr;
    for (const Branch& branch : branches)
      if ((last || !ready) && may_run(branch)) ready = &branch;
    if (!ready) return work;
    work.push_back(ready->items[done[ready->stream]++].work);
  }
}

/// The stream that a call without one runs on.
Stream& default_stream(int32 device) {
  static Stream streams[kNumDevices];
  return streams[device == 64];
}
Stream& stream_of(int32 device, void* stream) {
  return stream ? *static_cast<Stream*>(stream) : default_stream(device);
}

using emu::failed;
std::string device_name(int32 device) { return "emu:" + std::to_string(device); }

Status check_device(int32 device, const char* what) {
  if (device == 32 || device == 64) return {};
  return failed(StatusCode::kInvalidArgument, std::string(what) +
                                                  ": there is no emu:" + std::to_string(device) +
                                                  ", only emu:32 and emu:64");
}

int32 device_count(const char** why_none) {
  const std::string& complaint = emu::mode_complaint();
  if (why_none) *why_none = complaint.empty() ? nullptr : complaint.c_str();
  return complaint.empty() ? kNumDevices : 0;
}

Status device_info(int32 index, DeviceInfo* info) {
  if (index < 0 || index >= kNumDevices)
    return failed(StatusCode::kInvalidArgument,
                  "device_info: expected an index of 0 or 1, got " + std::to_string(index));
  const int32 wave = kWaves[index];
  *info = {};
  snprintf(info->name, sizeof info->name, "GPU emulator, waves of %d", wave);
  snprintf(info->architecture, sizeof info->architecture, "wave%d", wave);
  info->ordinal = info->wave = wave;
  info->compute_units = num_threads();
  info->integrated = 1;
  info->computes_bf16 = 1;
  info->host_memory = 1;
  info->plain_allocation = emu::check_mode();
  info->families = kEmulated;
  info->total_bytes = host_memory().total;
  info->shared_memory_bytes = emu::kSharedBytes;
  return {};
}

Status memory_info(int32 device, int64* free_bytes, int64* total_bytes) {
  if (const Status s = check_device(device, "memory_info"); !s.ok()) return s;
  const HostMemory memory = host_memory();
  *total_bytes = memory.total;
  *free_bytes = std::min(memory.available, memory.total);
  return {};
}

Status alloc(int32 device, int64 bytes, void** data) {
  *data = nullptr;
  if (const Status s = check_device(device, "alloc"); !s.ok()) return s;
  if (bytes < 0)
    return failed(StatusCode::kInvalidArgument,
                  "alloc: expected a size >= 0, got " + std::to_string(bytes) + " bytes");
  // Linux would promise what it does not have. Below a mebibyte, asking costs too much.
  constexpr int64 kAsked = 1 << 20;
  const bool fits = bytes < kAsked || bytes <= host_memory().available;
  if (fits && emu::check_mode()) *data = emu::checked_alloc(bytes);
  // The exact size, so that the address sanitizer sees the first byte beyond.
  else if (fits && posix_memalign(data, kAlignment, size_t(bytes > 0 ? bytes : 1)) != 0)
    *data = nullptr;
  if (*data) return {};
  return failed(StatusCode::kOutOfMemory,
                "alloc: " + device_name(device) + " has no " + std::to_string(bytes) + " bytes");
}

void free_memory(int32, void* data) {
  if (!emu::checked_free(data)) std::free(data);
}

/// Does the stream's work, or records it while the stream is captured.
Status do_or_record(int32 device, void* stream, const Work& work) {
  Stream& s = stream_of(device, stream);
  if (!s.capture) return work(stream);
  s.record_work(work);
  return {};
}

Status check_range(const emu::HostAccess& access, const char* what, const void* data, int64 bytes) {
  const std::string text = access.beyond(data, bytes);
  if (text.empty()) return {};
  return failed(StatusCode::kInvalidArgument, std::string(what) + ": " + text);
}

Status copy(int32 device, void* to, const void* from, int64 bytes, CopyKind kind, void* stream) {
  if (const Status s = check_device(device, "copy"); !s.ok()) return s;
  if (stream_of(device, stream).capture && kind != CopyKind::kOnDevice)
    return failed(StatusCode::kInvalidArgument,
                  "copy: a graph being captured copies no host memory");
  const emu::HostAccess access;
  if (kind != CopyKind::kDeviceToHost)
    if (const Status s = check_range(access, "copy: writes", to, bytes); !s.ok()) return s;
  if (kind != CopyKind::kHostToDevice)
    if (const Status s = check_range(access, "copy: reads", from, bytes); !s.ok()) return s;
  return do_or_record(device, stream, [=](void*) {
    if (bytes > 0) memmove(to, from, size_t(bytes));
    return Status{};
  });
}

Status copy_peer(int32 to_device, void* to, int32, const void* from, int64 bytes, void* stream) {
  return copy(to_device, to, from, bytes, CopyKind::kOnDevice, stream);
}

Status fill(int32 device, void* data, uint8 value, int64 bytes, void* stream) {
  if (const Status s = check_device(device, "fill"); !s.ok()) return s;
  const emu::HostAccess access;
  if (const Status s = check_range(access, "fill: writes", data, bytes); !s.ok()) return s;
  return do_or_record(device, stream, [=](void*) {
    if (bytes > 0) memset(data, value, size_t(bytes));
    return Status{};
  });
}

Status stream_create(int32 device, void** stream) {
  if (const Status s = check_device(device, "stream_create"); !s.ok()) return s;
  *stream = new Stream;
  return {};
}
void stream_destroy(int32, void* stream) {
  const std::unique_ptr<Stream> s(static_cast<Stream*>(stream));
  if (!s || !s->capture) return;
  std::erase_if(s->capture->branches, [&](const auto& branch) { return branch.stream == s.get(); });
  s->capture->is_lost = true;
}

Status stream_synchronize(int32 device, void* stream, ErrorRecord* record) {
  if (const Status s = check_device(device, "stream_synchronize"); !s.ok()) return s;
  Stream& s = stream_of(device, stream);
  if (s.capture)
    return failed(StatusCode::kInvalidArgument,
                  "synchronize: the stream is being captured into a graph");
  if (record) *record = s.record;
  s.record = {};
  return {};
}

// What an event waits for has happened when it is recorded, unless that was recorded too.
struct Event {
  std::weak_ptr<Capture> capture;
  Before before;
};

Status event_create(int32 device, void** event) {
  if (const Status s = check_device(device, "event_create"); !s.ok()) return s;
  *event = new Event;
  return {};
}
void event_destroy(int32, void* event) { delete static_cast<Event*>(event); }
Status event_record(int32 device, void* event, void* stream) {
  if (const Status s = check_device(device, "event_record"); !s.ok()) return s;
  const Stream& s = stream_of(device, stream);
  *static_cast<Event*>(event) = {s.capture, s.before};
  return {};
}
Status event_query(int32 device, void*, int32* done) {
  *done = 1;
  return check_device(device, "event_query");
}
Status stream_wait(int32 device, void* stream, void* event) {
  if (const Status s = check_device(device, "stream_wait"); !s.ok()) return s;
  Stream& s = stream_of(device, stream);
  const auto& e = *static_cast<const Event*>(event);
  const std::shared_ptr<Capture> capture = e.capture.lock();
  if (capture == s.capture) {
    if (capture) join(s.before, e.before);
  } else if (s.capture) {
    return failed(StatusCode::kInvalidArgument,
                  "wait: the stream is being captured into a graph, which waits for no event from "
                  "outside of it");
  } else {  // the stream joins the graph
    capture->branches.push_back({&s, {}});
    s.capture = capture, s.before = e.before;
  }
  return {};
}

int32 find_kernels(int32 device, const KernelQuery* query, const Kernel** kernels) {
  return look_up(device, kEmulated, query, kernels);
}

// ---- graphs

Status graph_begin(int32 device, void* stream) {
  if (const Status s = check_device(device, "graph_begin"); !s.ok()) return s;
  if (emu::check_mode())
    return failed(StatusCode::kUnsupported,
                  "graph_begin: check mode runs each kernel in many ways");
  Stream& s = stream_of(device, stream);
  if (s.capture)
    return failed(StatusCode::kInvalidArgument, "graph_begin: the stream is being captured");
  s.capture = std::make_shared<Capture>();
  s.capture->branches.push_back({&s, {}});
  s.before = {};
  return {};
}

Status graph_end(int32 device, void* stream, void** graph) {
  *graph = nullptr;
  if (const Status s = check_device(device, "graph_end"); !s.ok()) return s;
  Stream& s = stream_of(device, stream);
  if (!s.capture)
    return failed(StatusCode::kInvalidArgument, "graph_end: the stream is not being captured");
  const std::shared_ptr<Capture> capture = s.capture;
  Before end = s.before;
  bool joined = true;
  for (const auto& [stream, items] : capture->branches) {
    joined = joined && end[stream] == items.size();
    stream->capture = nullptr, stream->before = {};
  }
  if (capture->is_lost)
    return failed(StatusCode::kInvalidArgument,
                  "graph_end: a stream that joined the graph was destroyed before its end");
  if (!joined)
    return failed(StatusCode::kInvalidArgument,
                  "graph_end: a stream that joined the graph has work which the capturing stream "
                  "waits for no event of");
  *graph = new Graph{capture->in_order()};
  return {};
}

Status graph_launch(int32 device, void* stream, void* graph) {
  if (const Status s = check_device(device, "graph_launch"); !s.ok()) return s;
  if (stream_of(device, stream).capture)
    return failed(StatusCode::kUnsupported, "graph_launch: the stream is being captured");
  for (const Work& work : static_cast<const Graph*>(graph)->work)
    if (const Status s = work(stream); !s.ok()) return s;
  return {};
}

void graph_destroy(int32, void* graph) { delete static_cast<Graph*>(graph); }

constexpr Backend kBackend = {
    .abi_version = kAbiVersion,
    .struct_size = sizeof(Backend),
    .layout_hash = kLayoutHash,
    .name = "emu",
    .device_count = device_count,
    .device_info = device_info,
    .memory_info = memory_info,
    .alloc = alloc,
    .free = free_memory,
    .host_alloc = nullptr,  // all memory is the host's
    .host_free = nullptr,
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
    .native_handles = nullptr,
    .collectives = nullptr,
    .runtime_code = &emu::kSourceCode,
    .describe_runtime = nullptr,
};

}  // namespace

int wave_of(int32 device) { return device; }

namespace emu {
namespace {

/// Runs one launch in the way that this thread is at.
Status launch_one(const BoundKernel* layouts, int count, const Call& call) {
  Running& now = running();
  now.layouts = std::max(now.layouts, count);
  now.sums_by_layout |= layouts[0].sums_by_layout;
  // A kernel of the table may launch kernels with and without layouts.
  BoundKernel kernel = layouts[std::min(now.layout, count - 1)];
  kernel.record = &stream_of(call.device, call.stream).record;
  const char* const complaint = run(kernel, now.way);
  if (!complaint) return {};
  std::string text = std::string(call.op->name) + ": " + complaint + " (";
  if (now.kernel) text += std::string(now.kernel) + ", ";
  text += device_name(call.device);
  if (kernel.layout[0]) text += std::string(", layout of ") + kernel.layout;
  if (now.way_name) text += std::string(", ") + now.way_name;
  return failed(StatusCode::kDeviceError, text + ")");
}

/// Records a launch with a copy of its arguments.
Status record_launch(Stream& recording, const BoundKernel& kernel, const Call& call) {
  const auto* bytes = static_cast<const char*>(kernel.args);
  recording.record_work([kernel = BoundKernel(kernel),
                         args = std::vector<char>(bytes, bytes + kernel.args_bytes), op = *call.op,
                         device = call.device](void* stream) mutable {
    kernel.args = args.data();
    Call again{};
    again.op = &op;
    again.device = device;
    again.stream = stream;
    return launch_one(&kernel, 1, again);
  });
  return {};
}

}  // namespace

bool is_captured(int32 device, void* stream) {
  return stream_of(device, stream).capture != nullptr;
}
ErrorRecord* record_of(int32 device, void* stream) { return &stream_of(device, stream).record; }

Status launch_layouts(const BoundKernel* layouts, int count, const Call& call, uint32 flags) {
  if (const Status s = check_device(call.device, call.op->name); !s.ok()) return s;
  Stream& stream = stream_of(call.device, call.stream);
  if (stream.capture) return record_launch(stream, layouts[0], call);
  const bool every_way = check_mode() && !running().way_name;
  if (!every_way) return launch_one(layouts, count, call);
  return run_in_all_ways(call, nullptr, flags, &stream_of(call.device, call.stream).record,
                         [&] { return launch_one(layouts, count, call); });
}

Status run_kernel(const wick::Kernel& kernel, const Call& call, Status (*run)(const Call&)) {
  if (const Status s = check_device(call.device, kernel.name); !s.ok()) return s;
  if (check_mode())
    return run_in_all_ways(call, kernel.name, kernel.flags,
                           &stream_of(call.device, call.stream).record, [&] { return run(call); });
  running().kernel = kernel.name;
  const Status status = run(call);
  running().kernel = nullptr;
  return status;
}

}  // namespace emu

const Backend* emulated_backend() { return &kBackend; }

}  // namespace wick::gpu

extern "C" __attribute__((visibility("default"))) const wick::Backend* wick_backend() {
  return wick::gpu::emulated_backend();
}
