#include "runtime/backend.h"

#include <cpuid.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/memory.h"
#include "base/parallel.h"
#include "runtime/table.h"
#include "scalar/round_up.h"

namespace wick::cpu {
namespace {

constexpr int64 kAlignment = 256;
constexpr int64 kCopyGrain = 1 << 20;  // bytes: below, waking a thread costs more than the copy
constexpr int64 kAsked = 1 << 20;      // bytes: below, asking what is available costs too much

/// The processor's own name: 48 characters in leaves 0x80000002 to 0x80000004, padded with blanks.
void read_model(char (&name)[96]) {
  unsigned words[12] = {};
  for (unsigned i = 0; i < 3; i++)
    __get_cpuid(0x80000002 + i, &words[4 * i], &words[4 * i + 1], &words[4 * i + 2],
                &words[4 * i + 3]);
  std::string text(reinterpret_cast<const char*>(words), sizeof words);
  text.resize(std::min(text.find('\0'), text.size()));
  while (!text.empty() && text.back() == ' ') text.pop_back();
  text.erase(0, text.find_first_not_of(' '));
  std::snprintf(name, sizeof name, "%s", text.empty() ? "x86-64 CPU" : text.c_str());
}

int32 device_count(const char** why_none) {
  if (why_none) *why_none = nullptr;
  return 1;
}

Status device_info(int32 index, DeviceInfo* info) {
  if (index != 0)
    return error(StatusCode::kInvalidArgument, "device_info: expected cpu device 0, got %d", index);
  *info = {};
  read_model(info->name);
  std::snprintf(info->architecture, sizeof info->architecture, "%s", kArchitectures[int(isa())]);
  info->wave = 1;
  info->compute_units = num_threads();
  info->integrated = 1;
  info->computes_bf16 = 1;
  info->host_memory = 1;
  info->families = 1 << int(isa());
  info->total_bytes = host_memory().total;
  return {};
}

Status memory_info(int32, int64* free_bytes, int64* total_bytes) {
  const HostMemory memory = host_memory();
  *free_bytes = std::min(memory.available, memory.total);
  *total_bytes = memory.total;
  return {};
}

Status alloc(int32, int64 bytes, void** data) {
  *data = nullptr;
  // Linux overcommits: it grants the request, and the OOM killer ends the process on first use.
  if (bytes >= kAsked && bytes > host_memory().available)
    return error(StatusCode::kOutOfMemory, "alloc: %lld bytes are more than are available",
                 (long long)bytes);
  // A request that is rounded up past the end of the address space is not a size.
  const bool sane = bytes >= 0 && bytes < (int64(1) << 62);
  const uint64 rounded = round_up(uint64(std::max<int64>(bytes, 1)), uint64(kAlignment));
  *data = sane ? std::aligned_alloc(kAlignment, rounded) : nullptr;
  if (*data) return {};
  return error(StatusCode::kOutOfMemory, "alloc: the system has no %lld bytes", (long long)bytes);
}

void free_memory(int32, void* data) { std::free(data); }

Status copy(int32, void* to, const void* from, int64 bytes, CopyKind, void*) {
  parallel_for(bytes, kCopyGrain, [&](int64 begin, int64 end) {
    std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin,
                size_t(end - begin));
  });
  return {};
}

Status fill(int32, void* data, uint8 value, int64 bytes, void*) {
  parallel_for(bytes, kCopyGrain, [&](int64 begin, int64 end) {
    std::memset(static_cast<char*>(data) + begin, value, size_t(end - begin));
  });
  return {};
}

// Work is done when a call returns, so a stream is a name and an event has always happened.
char the_stream, the_event;

Status stream_create(int32, void** stream) { return *stream = &the_stream, Status{}; }
void stream_destroy(int32, void*) {}
Status stream_synchronize(int32, void*, ErrorRecord* record) {
  *record = {};  // errors were returned by the call that met them
  return {};
}
Status event_create(int32, void** event) { return *event = &the_event, Status{}; }
void event_destroy(int32, void*) {}
Status event_record(int32, void*, void*) { return {}; }
Status event_query(int32, void*, int32* done) { return *done = 1, Status{}; }
Status stream_wait(int32, void*, void*) { return {}; }

int32 find_kernels(int32, const KernelQuery* query, const Kernel** kernels) {
  return table_of(isa()).find(*query, kernels);
}

int32 list_ops(const Op* const** ops) {
  const std::vector<const Op*>& all = table_of(isa()).ops();
  *ops = all.data();
  return int32(all.size());
}

Backend make_backend() {
  table_of(isa());  // throws here, not in a kernel look-up
  Backend backend = {};
  backend.abi_version = kAbiVersion;
  backend.struct_size = sizeof(Backend);
  backend.layout_hash = kLayoutHash;
  backend.name = "cpu";
  backend.device_count = device_count;
  backend.device_info = device_info;
  backend.memory_info = memory_info;
  backend.alloc = alloc;
  backend.free = free_memory;
  backend.host_alloc = alloc;
  backend.host_free = free_memory;
  backend.copy = copy;
  backend.fill = fill;
  backend.stream_create = stream_create;
  backend.stream_destroy = stream_destroy;
  backend.stream_synchronize = stream_synchronize;
  backend.event_create = event_create;
  backend.event_destroy = event_destroy;
  backend.event_record = event_record;
  backend.event_query = event_query;
  backend.stream_wait = stream_wait;
  backend.find_kernels = find_kernels;
  backend.list_ops = list_ops;
  return backend;
}

}  // namespace

const Backend* cpu_backend() {
  static const Backend backend = make_backend();
  return &backend;
}

}  // namespace wick::cpu
