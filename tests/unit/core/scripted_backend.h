// A backend on host memory that does what a test's script says: how many devices there are, how
// much memory, when events have passed. It has no kernels.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "wick/abi/backend.h"

namespace wick::test {

struct Event {
  void* stream = nullptr;  // that it was recorded on
  bool passed = false;
};

struct Script {
  int devices = 1;  // as device_count returns it
  const char* why_none = nullptr;
  int unusable = -1;                    // the device that device_info refuses
  int64 memory = int64(1) << 40;        // what alloc has in all
  bool events_pass_when_asked = false;  // as if waiting helped

  // What calls have done.
  std::map<void*, int64> allocated;
  int64 allocated_bytes = 0;
  int allocations = 0, frees = 0, queries = 0;
  std::vector<Event*> events;  // made and not destroyed
};
inline Script script;

namespace scripted {
inline int32 device_count(const char** why_none) {
  *why_none = script.why_none;
  return script.devices;
}
inline Status device_info(int32 index, DeviceInfo* info) {
  std::snprintf(info->name, sizeof info->name, "Scripted %d", index);
  std::snprintf(info->architecture, sizeof info->architecture, "script1");
  info->ordinal = index;
  info->total_bytes = script.memory;
  if (index == script.unusable) return {StatusCode::kUnsupported, "the script says no"};
  return {};
}
inline Status memory_info(int32, int64* free_bytes, int64* total_bytes) {
  *free_bytes = script.memory - script.allocated_bytes;
  *total_bytes = script.memory;
  return {};
}
inline Status alloc(int32, int64 bytes, void** data) {
  if (bytes > script.memory - script.allocated_bytes)
    return {StatusCode::kOutOfMemory, "the script says so"};
  *data = std::aligned_alloc(256, size_t(bytes + 255) / 256 * 256);
  script.allocated[*data] = bytes;
  script.allocated_bytes += bytes;
  script.allocations++;
  return {};
}
inline void free(int32, void* data) {
  script.allocated_bytes -= script.allocated.at(data);
  script.allocated.erase(data);
  script.frees++;
  std::free(data);
}
inline Status copy(int32, void* to, const void* from, int64 bytes, CopyKind, void*) {
  std::memcpy(to, from, size_t(bytes));
  return {};
}
inline Status fill(int32, void* data, uint8 value, int64 bytes, void*) {
  std::memset(data, value, size_t(bytes));
  return {};
}
inline Status stream_create(int32, void** stream) {
  *stream = nullptr;
  return {};
}
inline void stream_destroy(int32, void*) {}
inline Status stream_synchronize(int32, void*, ErrorRecord* record) {
  *record = {};
  return {};
}
inline Status event_create(int32, void** event) {
  script.events.push_back(new Event);
  *event = script.events.back();
  return {};
}
inline void event_destroy(int32, void* event) {
  std::erase(script.events, static_cast<Event*>(event));
  delete static_cast<Event*>(event);
}
inline Status event_record(int32, void* event, void* stream) {
  *static_cast<Event*>(event) = {stream, false};
  return {};
}
inline Status event_query(int32, void* event, int32* done) {
  script.queries++;
  *done = static_cast<Event*>(event)->passed || script.events_pass_when_asked;
  return {};
}
inline Status stream_wait(int32, void*, void*) { return {}; }
inline int32 find_kernels(int32, const KernelQuery*, const Kernel**) { return 0; }
inline int32 list_ops(const Op* const**) { return 0; }

/// A complete table without the optional functions.
inline Backend table(const char* name) {
  Backend b{};
  b.abi_version = kAbiVersion;
  b.struct_size = sizeof(Backend);
  b.layout_hash = kLayoutHash;
  b.name = name;
  b.device_count = device_count;
  b.device_info = device_info;
  b.memory_info = memory_info;
  b.alloc = alloc;
  b.free = free;
  b.copy = copy;
  b.fill = fill;
  b.stream_create = stream_create;
  b.stream_destroy = stream_destroy;
  b.stream_synchronize = stream_synchronize;
  b.event_create = event_create;
  b.event_destroy = event_destroy;
  b.event_record = event_record;
  b.event_query = event_query;
  b.stream_wait = stream_wait;
  b.find_kernels = find_kernels;
  b.list_ops = list_ops;
  return b;
}
}  // namespace scripted
}  // namespace wick::test
