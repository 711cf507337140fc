// The boundary to a backend: one table of function pointers over plain data. Whoever fills it and
// passes it to register_backend (core/backend.h), or exports it from a module as wick_backend(), is
// a device of wick.
#pragma once
#include "wick/abi/ops.h"

namespace wick {

inline constexpr uint32 kAbiVersion = 1;

struct DeviceInfo {
  char name[96];          // "AMD Radeon RX 7900 XTX"
  char architecture[64];  // the full name: "gfx942:sramecc+:xnack-", "sm_90", "x86-64-v4"
  int32 ordinal;
  int32 wave;  // threads that run in step; 1 on a CPU
  int32 compute_units;
  int32 integrated;  // shares the host's memory
  int32 computes_bf16;
  int32 host_memory;          // the host may read and write what alloc returns
  int32 plain_allocation;     // wants one allocation per tensor: the caching allocator stays away
  int32 families;             // the backend's own classes of architecture, as a bit set
  int64 total_bytes;          // of device memory
  int64 shared_memory_bytes;  // of a block
};

enum RowFlags : uint32 {
  kRowInPlace = 1,      // an output may be exactly an input
  kRowAccumulates = 2,  // reads its outputs: they are not fresh memory
  kRowUnordered = 4,    // the order of its float sums may change from run to run
  kRowLibrary = 8,      // a vendor's library serves it
};

/// One way to run an op. Tile variants and library calls are rows; the core takes the first that
/// accepts.
struct KernelRow {
  const char* name;
  /// nullptr: takes the call; else why not, a text that stays. Pure: launches nothing. May itself
  /// be nullptr.
  const char* (*accepts)(const KernelRow*, const Call*, const DeviceInfo*);
  /// Bytes of scratch that run wants in call->scratch. May be nullptr: none.
  int64 (*scratch_bytes)(const KernelRow*, const Call*, const DeviceInfo*);
  Status (*run)(const KernelRow*, const Call*);
  const void* data;  // the row's own
  uint32 flags;
};

struct KernelQuery {
  OpId op;
  const DType* dtypes;  // of the inputs, then of the outputs
  int32 num_in;
  int32 num_out;
  uint32 attributes_size;  // 0: none
  uint64 attributes_hash;
};

enum class CopyKind : int32 { kHostToDevice, kDeviceToHost, kOnDevice };

/// Functions take the ordinal of the device first. Optional ones may be nullptr. All may be called
/// from any thread.
struct Backend {
  uint32 abi_version;  // kAbiVersion
  uint32 struct_size;  // sizeof(Backend)
  uint64 layout_hash;  // kLayoutHash
  const char* name;    // "rocm": as in DeviceKind's names

  /// How many devices there are, and when none: why, and what would help, in one line. -1 if not
  /// even the vendor's runtime is there, 0 if it is and finds no card.
  int32 (*device_count)(const char** why_none);
  /// Of the index-th device, in [0, device_count).
  Status (*device_info)(int32 index, DeviceInfo*);
  Status (*memory_info)(int32 device, int64* free_bytes, int64* total_bytes);

  Status (*alloc)(int32 device, int64 bytes, void** data);  // 256-byte aligned
  void (*free)(int32 device, void* data);
  Status (*host_alloc)(int32 device, int64 bytes, void** data);  // optional: pinned host memory
  void (*host_free)(int32 device, void* data);

  /// In the stream's order. A copy from or to pageable host memory has read or written it on
  /// return.
  Status (*copy)(int32 device, void* to, const void* from, int64 bytes, CopyKind, void* stream);
  Status (*copy_peer)(int32 to_device, void* to, int32 from_device, const void* from, int64 bytes,
                      void* stream);  // optional
  Status (*fill)(int32 device, void* data, uint8 value, int64 bytes, void* stream);

  Status (*stream_create)(int32 device, void** stream);
  void (*stream_destroy)(int32 device, void* stream);
  /// Waits; then hands out and clears the stream's error record (code 0: nothing).
  Status (*stream_synchronize)(int32 device, void* stream, ErrorRecord*);
  Status (*event_create)(int32 device, void** event);
  void (*event_destroy)(int32 device, void* event);
  Status (*event_record)(int32 device, void* event, void* stream);
  Status (*event_query)(int32 device, void* event, int32* done);
  Status (*stream_wait)(int32 device, void* stream, void* event);

  /// Rows for the query in order of preference; they stay valid. Returns how many.
  int32 (*find_kernels)(int32 device, const KernelQuery*, const KernelRow** rows);

  Status (*graph_begin)(int32 device, void* stream);  // optional, all four
  Status (*graph_end)(int32 device, void* stream, void** graph);
  Status (*graph_launch)(int32 device, void* stream, void* graph);
  void (*graph_destroy)(int32 device, void* graph);

  /// The runtime's own handles for users who call it directly: its device and its stream. Optional.
  Status (*native_handles)(int32 device, void* stream, int64* native_device, void** native_stream);
  const void* collectives;  // optional
  const void* compiler;     // optional
};

namespace detail {
constexpr uint64 mix(uint64 h, uint64 v) { return (h ^ v) * 0x100000001b3; }
constexpr uint64 layout_hash() {
  const uint64 facts[] = {sizeof(View),
                          sizeof(Call),
                          sizeof(Status),
                          sizeof(ErrorRecord),
                          sizeof(DeviceInfo),
                          sizeof(KernelRow),
                          sizeof(KernelQuery),
                          sizeof(Backend),
                          sizeof(void*),
                          __builtin_offsetof(View, shape),
                          __builtin_offsetof(View, strides),
                          __builtin_offsetof(Call, attributes),
                          __builtin_offsetof(Call, scratch),
                          __builtin_offsetof(DeviceInfo, total_bytes),
                          __builtin_offsetof(KernelRow, run),
                          __builtin_offsetof(KernelQuery, attributes_hash),
                          __builtin_offsetof(Backend, find_kernels)};
  uint64 h = kAbiVersion;
  for (const uint64 fact : facts) h = mix(h, fact);
  for (const auto& dtype : kDTypeFacts) h = mix(h, hash_text(dtype.name));
  for (const OpFacts& op : kOps) h = mix(mix(h, hash_text(op.name)), hash_text(op.operands));
  return h;
}
template <class T>
inline constexpr bool kPlain = __is_standard_layout(T) && __is_trivially_copyable(T);
static_assert(kPlain<View> && kPlain<Call> && kPlain<Status> && kPlain<ErrorRecord> &&
              kPlain<DeviceInfo> && kPlain<KernelRow> && kPlain<KernelQuery> && kPlain<Backend> &&
              kPlain<ReduceAttributes>);
}  // namespace detail

/// Changes with the structs above, the dtypes and the ops: a module built from other headers is
/// refused.
inline constexpr uint64 kLayoutHash = detail::layout_hash();

/// What a module exports: `extern "C" const Backend* wick_backend()`.
using BackendEntry = const Backend* (*)();
inline constexpr const char* kBackendEntryName = "wick_backend";

}  // namespace wick
