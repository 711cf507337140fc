// Copies between pageable host memory and a card. The vendors' runtimes copy such memory slowly, and
// some hang on a pointer into a mapped file, so no pointer to more than kDirectBytes of it reaches
// them: the bytes go through two pinned buffers, one filled or emptied while the card copies the other.
#pragma once
#include <mutex>

#include "wick/abi/backend.h"

namespace wick::gpu {

/// Pageable memory of at most this size may be handed to the vendor's runtime as it is.
inline constexpr int64 kDirectBytes = 64 << 10;
/// The size of each pinned buffer; smaller ones serve if there is no pinned memory for it.
inline constexpr int64 kStagingBytes = 32 << 20;

/// The calls of a vendor's runtime that a staged copy makes, for one device and one of its streams.
class StagingCalls {
 public:
  virtual ~StagingCalls() = default;
  virtual Status allocate_pinned(int64 bytes, void** data) = 0;
  virtual Status make_event(void** event) = 0;
  /// In the stream's order, without waiting; the host's side is pinned.
  virtual Status copy(void* to, const void* from, int64 bytes, CopyKind kind) = 0;
  virtual Status record(void* event) = 0;
  /// Waits on the host for what the event was recorded after.
  virtual Status wait(void* event) = 0;
};

/// The pinned buffers of one device, made at its first staged copy and kept as long as the process
/// lives. Copies of several threads take turns.
class Staging {
 public:
  /// Copies in the stream's order. Returns when the host's memory has been read (kHostToDevice; the
  /// card may still read the buffers) or written (kDeviceToHost).
  Status copy(StagingCalls& calls, void* to, const void* from, int64 bytes, CopyKind kind);

 private:
  struct Buffer {
    void* data = nullptr;
    int64 bytes = 0;
    void* event = nullptr;   // recorded after the last copy that used the buffer
    bool in_flight = false;  // nobody has waited for the event
  };
  Status prepare(StagingCalls& calls);
  static Status settle(StagingCalls& calls, Buffer& buffer);
  Status upload(StagingCalls& calls, char* to, const char* from, int64 bytes);
  Status download(StagingCalls& calls, char* to, const char* from, int64 bytes);

  std::mutex mutex_;
  Buffer buffers_[2];
  int64 buffer_bytes_ = 0;  // the lesser of the two; 0: not made yet
  int next_ = 0;            // the buffer that was used less recently
};

}  // namespace wick::gpu
