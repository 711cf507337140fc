// The data passed to a backend when an op runs: plain data, no ownership. Freestanding.
#pragma once
#include "wick/abi/dtype.h"

namespace wick {

struct Op;  // abi/op.h

inline constexpr int kMaxRank =
    8;  // of a View; the core merges dims, loops or copies if a tensor has more
inline constexpr int kMaxOperands = 8;  // inputs or outputs of a call

/// Memory with a shape. Element i is at data + bytes_of(dtype, sum(i[d] * strides[d])); strides are
/// >= 0. For a block dtype, the last dim holds whole blocks and has stride 1, every other stride is
/// a multiple of the block size, and only the first element of a block has an address.
struct View {
  void* data;
  DType dtype;
  int32 rank;  // 0: a scalar, one element
  int64 shape[kMaxRank];
  int64 strides[kMaxRank];  // in elements; 0 repeats the element

  constexpr int64 numel() const {
    int64 n = 1;
    for (int d = 0; d < rank; d++) n *= shape[d];
    return n;
  }
  /// strides[d] == shape[d + 1] * strides[d + 1] wherever shape[d] > 1, and the last stride is 1.
  constexpr bool contiguous() const {
    int64 expected = 1;
    for (int d = rank; d-- > 0;) {
      if (shape[d] != 1 && strides[d] != expected) return false;
      expected *= shape[d];
    }
    return true;
  }
  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

enum class StatusCode : int32 {
  kOk = 0,
  kUnsupported,
  kInvalidArgument,
  kOutOfMemory,
  kDeviceError,      // the runtime or the device failed
  kKernelNotFound,   // the kernel has no code for the device's architecture
  kModuleNotLoaded,  // the runtime rejected the kernel's code
  kIdOutOfRange,     // an index passed to gather, scatter_add and the like; `value` holds it
  kDeclined,         // from Kernel::run alone: the next kernel must serve the call
};

/// text stays valid until the same thread's next call into the backend; nullptr if ok.
struct Status {
  StatusCode code = StatusCode::kOk;
  const char* text = nullptr;
  constexpr bool ok() const { return code == StatusCode::kOk; }
};

/// An error found by a running kernel. Each stream has one record, in device memory. The first
/// thread to fail fills it; the next synchronizing call reports it as an error and clears it. 64
/// bytes.
struct ErrorRecord {
  uint32 code;  // a StatusCode; 0: no error
  uint32 reserved0;
  uint64 op;  // Op::id
  int64 position;
  int64 value;
  int64 limit;
  int64 reserved[3];
};
static_assert(sizeof(ErrorRecord) == 64);

/// One launch. Dims that a kernel walks through all operands at once arrive collapsed: every dim of
/// an elementwise op, the batch dims of matmul, the kept and the reduced dims of a reduction. None
/// of them has size 1, and no two neighbours could merge (abi/merge.h).
struct Call {
  const View* in;
  const View* out;
  int32 num_in;
  int32 num_out;
  const Op* op;
  const void* attributes;  // the op's attribute struct, or nullptr
  int32 device;            // device ordinal
  void* stream;            // a stream of the backend; nullptr: the default stream
  void* scratch;
  int64 scratch_bytes;
};

}  // namespace wick
