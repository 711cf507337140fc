// The boundary to a backend: one table of function pointers over plain data. Whoever fills it and
// passes it to register_backend (core/backend.h), or exports it from a module as wick_backend(), is
// a device of wick.
#pragma once
#include "wick/abi/op.h"

namespace wick {

inline constexpr uint32 kAbiVersion = 2;

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

enum KernelFlags : uint32 {
  kKernelInPlace = 1,      // an output may be exactly an input
  kKernelAccumulates = 2,  // reads its outputs: they are not fresh memory
  kKernelUnordered = 4,    // the order of its float sums may change from run to run
  kKernelLibrary = 8,      // a vendor's library serves it
};

/// One way to run an op. Tile variants and library calls are kernels too; the core takes the first
/// that accepts.
struct Kernel {
  const char* name = nullptr;
  /// nullptr: takes the call; else why not, a text that stays. Pure: launches nothing. May itself
  /// be nullptr.
  const char* (*accepts)(const Kernel*, const Call*, const DeviceInfo*) = nullptr;
  /// Bytes of scratch that run wants in call->scratch. May be nullptr: none.
  int64 (*scratch_bytes)(const Kernel*, const Call*, const DeviceInfo*) = nullptr;
  Status (*run)(const Kernel*, const Call*) = nullptr;
  const void* data = nullptr;  // the kernel's own
  uint32 flags = 0;
};

struct KernelQuery {
  const Op* op;
  const DType* dtypes;  // of the inputs, then of the outputs
  int32 num_in;
  int32 num_out;
};

/// A query as a number: the op and the dtypes, 8 bits an operand, 0 where there is none.
struct KernelKey {
  uint64 op, in, out;
  friend constexpr bool operator==(const KernelKey& a, const KernelKey& b) {
    return a.op == b.op && a.in == b.in && a.out == b.out;
  }
};
static_assert(kNumDTypes < 255 && kMaxOperands * 8 <= 64);
constexpr KernelKey key_of(const KernelQuery& query) {
  KernelKey key{query.op->id, 0, 0};
  for (int i = 0; i < query.num_in; i++) key.in = key.in << 8 | (uint64(query.dtypes[i]) + 1);
  for (int i = 0; i < query.num_out; i++)
    key.out = key.out << 8 | (uint64(query.dtypes[query.num_in + i]) + 1);
  return key;
}

enum class CopyKind : int32 { kHostToDevice, kDeviceToHost, kOnDevice };

/// Functions take the ordinal of the device first. Optional ones may be nullptr. All may be called
/// from any thread.
struct Backend {
  uint32 abi_version;  // kAbiVersion
  uint32 struct_size;  // sizeof(Backend)
  uint64 layout_hash;  // kLayoutHash
  const char* name;    // "rocm": as in DeviceKind's names

  /// Returns how many devices there are; if none, says in one line why, and what would help. -1 if
  /// not even the vendor's runtime is there, 0 if it is and finds no card.
  int32 (*device_count)(const char** why_none);
  /// Describes the index-th device, in [0, device_count).
  Status (*device_info)(int32 index, DeviceInfo*);
  Status (*memory_info)(int32 device, int64* free_bytes, int64* total_bytes);

  Status (*alloc)(int32 device, int64 bytes, void** data);  // 256-byte aligned
  void (*free)(int32 device, void* data);
  Status (*host_alloc)(int32 device, int64 bytes, void** data);  // optional: pinned host memory
  void (*host_free)(int32 device, void* data);

  /// Copies in the stream's order. A copy from or to pageable host memory has read or written it on
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

  /// Kernels for the query in order of preference; they stay valid. Returns how many.
  int32 (*find_kernels)(int32 device, const KernelQuery*, const Kernel** kernels);
  /// Lists every op that the backend has kernels of, each once. Returns how many.
  int32 (*list_ops)(const Op* const** ops);

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
                          sizeof(Kernel),
                          sizeof(KernelQuery),
                          sizeof(Op),
                          sizeof(Backend),
                          sizeof(void*),
                          __builtin_offsetof(View, shape),
                          __builtin_offsetof(View, strides),
                          __builtin_offsetof(Call, attributes),
                          __builtin_offsetof(Call, scratch),
                          __builtin_offsetof(DeviceInfo, total_bytes),
                          __builtin_offsetof(Kernel, run),
                          __builtin_offsetof(KernelQuery, num_out),
                          __builtin_offsetof(Op, attributes),
                          __builtin_offsetof(Op, id),
                          __builtin_offsetof(Backend, find_kernels)};
  uint64 h = kAbiVersion;
  for (const uint64 fact : facts) h = mix(h, fact);
  for (const auto& dtype : kDTypeFacts) h = mix(h, hash_text(dtype.name));
  return h;
}
template <class T>
inline constexpr bool kPlain = __is_standard_layout(T) && __is_trivially_copyable(T);
static_assert(kPlain<View> && kPlain<Call> && kPlain<Status> && kPlain<ErrorRecord> &&
              kPlain<DeviceInfo> && kPlain<Kernel> && kPlain<KernelQuery> && kPlain<Backend> &&
              kPlain<Op>);
}  // namespace detail

/// Changes with the structs above and the dtypes: a module built from other headers is refused. Ops
/// are not in it: a module of before an op was added has no kernels of that op, and an op whose
/// attributes have changed finds none of those built for the old ones.
inline constexpr uint64 kLayoutHash = detail::layout_hash();

/// What a module exports: `extern "C" const Backend* wick_backend()`.
using BackendEntry = const Backend* (*)();
inline constexpr const char* kBackendEntryName = "wick_backend";

}  // namespace wick
