// The boundary between wick and a backend: one table of function pointers over plain data. A
// backend is whatever fills the table and either passes it to register_backend (core/backend.h) or
// exports it from a module as wick_backend().
#pragma once
#include "wick/abi/op.h"

namespace wick {

inline constexpr uint32 kAbiVersion = 4;

struct DeviceInfo {
  char name[96];          // "AMD Radeon RX 7900 XTX"
  char architecture[64];  // full name: "gfx942:sramecc+:xnack-", "sm_90", "x86-64-v4"
  int32 ordinal;
  int32 wave;  // threads that run in lockstep; 1 on a CPU
  int32 compute_units;
  int32 integrated;  // 1 if the device shares the host's memory
  int32 computes_bf16;
  int32 host_memory;          // 1 if the host can read and write memory from alloc
  int32 plain_allocation;     // 1 to bypass the caching allocator: one allocation per tensor
  int32 families;             // bit set of architecture families, defined by the backend
  int64 total_bytes;          // device memory
  int64 shared_memory_bytes;  // per block
};

enum KernelFlags : uint32 {
  kKernelInPlace = 1,        // an output may alias an input exactly
  kKernelAccumulates = 2,    // reads its outputs, which must be initialized
  kKernelUnordered = 4,      // floating-point summation order may vary from run to run
  kKernelLibrary = 8,        // implemented by a vendor library
  kKernelRoundsInputs = 16,  // rounds operands beyond the op's error bound: set_round_activations
  kKernelRoundsF32 = 32,     // rounds f32 operands to TF32: set_matmul_precision
};

/// One implementation of an op. Tile variants and library calls are kernels too. The core runs the
/// first kernel that accepts the call; if it declines in run, the next one that accepts.
struct Kernel {
  const char* name = nullptr;
  /// Returns nullptr to accept the call, else the reason for rejecting it, as a string with static
  /// lifetime. Must be pure and launch nothing. May itself be nullptr: the kernel accepts every
  /// call.
  const char* (*accepts)(const Kernel*, const Call*, const DeviceInfo*) = nullptr;
  /// Returns the bytes of scratch memory that run needs in call->scratch. May be nullptr: no
  /// scratch.
  int64 (*scratch_bytes)(const Kernel*, const Call*, const DeviceInfo*) = nullptr;
  /// Returns kDeclined with the reason if accepts could not foresee that the kernel cannot serve
  /// the call: an operand holds values that it does not represent, or a library failed. It has then
  /// written nothing that the next kernel reads.
  Status (*run)(const Kernel*, const Call*) = nullptr;
  const void* data = nullptr;  // private to the kernel
  uint32 flags = 0;
};

struct KernelQuery {
  const Op* op;
  const DType* dtypes;  // inputs, then outputs
  int32 num_in;
  int32 num_out;
};

/// A query packed into integers: the op id and the operand dtypes, 8 bits per operand (dtype + 1,
/// so 0 means no operand).
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

struct RuntimeCode;  // abi/runtime_code.h

enum class CopyKind : int32 { kHostToDevice, kDeviceToHost, kOnDevice };

/// Most functions take the device ordinal first. Functions marked optional may be nullptr. Every
/// function must be callable from any thread.
struct Backend {
  uint32 abi_version;  // kAbiVersion
  uint32 struct_size;  // sizeof(Backend)
  uint64 layout_hash;  // kLayoutHash
  const char* name;    // "rocm": the name used in device strings

  /// Returns the number of devices: -1 if the vendor's runtime is not installed, 0 if it is but
  /// finds no card. If there is no device, sets *why_none to one line with the reason and a remedy.
  int32 (*device_count)(const char** why_none);
  /// Describes the device at `index`, in [0, device_count).
  Status (*device_info)(int32 index, DeviceInfo*);
  Status (*memory_info)(int32 device, int64* free_bytes, int64* total_bytes);

  Status (*alloc)(int32 device, int64 bytes, void** data);  // 256-byte aligned
  void (*free)(int32 device, void* data);
  Status (*host_alloc)(int32 device, int64 bytes, void** data);  // optional: pinned host memory
  void (*host_free)(int32 device, void* data);

  /// Copies in stream order. A copy from or to pageable host memory has finished reading or writing
  /// that memory when it returns.
  Status (*copy)(int32 device, void* to, const void* from, int64 bytes, CopyKind, void* stream);
  Status (*copy_peer)(int32 to_device, void* to, int32 from_device, const void* from, int64 bytes,
                      void* stream);  // optional
  Status (*fill)(int32 device, void* data, uint8 value, int64 bytes, void* stream);

  Status (*stream_create)(int32 device, void** stream);
  void (*stream_destroy)(int32 device, void* stream);
  /// Waits for the stream, then returns and clears its error record (code 0: no error).
  Status (*stream_synchronize)(int32 device, void* stream, ErrorRecord*);
  Status (*event_create)(int32 device, void** event);
  void (*event_destroy)(int32 device, void* event);
  Status (*event_record)(int32 device, void* event, void* stream);
  Status (*event_query)(int32 device, void* event, int32* done);
  Status (*stream_wait)(int32 device, void* stream, void* event);

  /// Sets *kernels to the kernels for the query, in order of preference, and returns their number.
  /// The array stays valid.
  int32 (*find_kernels)(int32 device, const KernelQuery*, const Kernel** kernels);
  /// Sets *ops to every op that the backend has kernels for, each once, and returns their number.
  int32 (*list_ops)(const Op* const** ops);

  Status (*graph_begin)(int32 device, void* stream);  // optional, all four
  Status (*graph_end)(int32 device, void* stream, void** graph);
  Status (*graph_launch)(int32 device, void* stream, void* graph);
  void (*graph_destroy)(int32 device, void* graph);

  /// The vendor runtime's device and stream handles, for users who call that runtime directly.
  /// Optional.
  Status (*native_handles)(int32 device, void* stream, int64* native_device, void** native_stream);
  const void* collectives;          // optional
  const RuntimeCode* runtime_code;  // optional: kernels that users bring

  /// Lines about the vendor's runtime for `wick devices`, separated by '\n': the file that it was
  /// loaded from, and anything unusual about it. Valid until the thread's next call. Optional.
  const char* (*describe_runtime)();
};

namespace detail {
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
  Fnv1a hash(kAbiVersion);
  for (const uint64 fact : facts) hash.mix(fact);
  for (const auto& dtype : kDTypeFacts) hash.mix(hash_text(dtype.name));
  return hash.value();
}
template <class T>
inline constexpr bool kPlain = __is_standard_layout(T) && __is_trivially_copyable(T);
static_assert(kPlain<View> && kPlain<Call> && kPlain<Status> && kPlain<ErrorRecord> &&
              kPlain<DeviceInfo> && kPlain<Kernel> && kPlain<KernelQuery> && kPlain<Backend> &&
              kPlain<Op>);
}  // namespace detail

/// Changes whenever the structs above or the dtypes change; wick rejects a module whose hash
/// differs. The set of ops is not part of the hash: a module built before an op was added has no
/// kernels for it, and a kernel built for an older attribute layout is not found.
inline constexpr uint64 kLayoutHash = detail::layout_hash();

/// The function that a module exports: `extern "C" const Backend* wick_backend()`.
using BackendEntry = const Backend* (*)();
inline constexpr const char* kBackendEntryName = "wick_backend";

}  // namespace wick
