// What crosses to a backend when an op runs: plain data, no ownership. Freestanding.
#pragma once
#include "wick/abi/dtype.h"

namespace wick {

struct Op;  // abi/op.h

inline constexpr int kMaxRank =
    8;  // of a View: the core collapses, loops or copies where a tensor has more
inline constexpr int kMaxOperands = 8;  // inputs or outputs of a call

/// Memory with a shape. Element i stands at data + bytes_of(dtype, sum(i[d] * strides[d])); strides
/// are >= 0. Of a block dtype the last dim is of whole blocks and has stride 1, the other strides
/// are of whole blocks, and only the first element of a block has a place.
struct View {
  void* data;
  DType dtype;
  int32 rank;  // 0: one element
  int64 shape[kMaxRank];
  int64 strides[kMaxRank];  // in elements; 0 repeats

  constexpr int64 numel() const {
    int64 n = 1;
    for (int d = 0; d < rank; d++) n *= shape[d];
    return n;
  }
  /// stride[d] == shape[d + 1] * stride[d + 1] wherever shape[d] > 1, the last stride 1.
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
  kDeviceError,      // the runtime or the card failed
  kKernelNotFound,   // no code of this kernel for the card's architecture
  kModuleNotLoaded,  // the code is there, the runtime refused it
  kIdOutOfRange,     // an index of gather, scatter_add ... : value says which
};

/// text lives until the same thread's next call into the backend; nullptr if ok.
struct Status {
  StatusCode code = StatusCode::kOk;
  const char* text = nullptr;
  constexpr bool ok() const { return code == StatusCode::kOk; }
};

/// What a kernel found wrong, in device memory, one a stream. The first thread to fail fills it;
/// the next synchronizing call returns it as an error and clears it. 64 bytes.
struct ErrorRecord {
  uint32 code;  // a StatusCode; 0: nothing
  uint32 reserved0;
  uint64 op;  // an Op's id
  int64 position;
  int64 value;
  int64 limit;
  int64 reserved[3];
};
static_assert(sizeof(ErrorRecord) == 64);

struct Call {
  const View* in;
  const View* out;
  int32 num_in;
  int32 num_out;
  const Op* op;
  const void* attributes;  // the op's own struct, or nullptr
  int32 device;            // the ordinal
  void* stream;            // the backend's own; nullptr: its default
  void* scratch;
  int64 scratch_bytes;
};

}  // namespace wick
