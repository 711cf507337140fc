// The interface to a way of moving bytes between ranks.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "wick/base/error.h"

namespace wick::dist {

/// A message to another rank. It may be empty.
struct Outgoing {
  int rank;
  const void* data;
  size_t bytes;
};

/// A message from another rank, and the memory for it.
struct Incoming {
  int rank;
  void* data;
  size_t bytes;
};

/// How far a rank has come with calls that do not go through the transport: calls of tensors on
/// cards.
struct Progress {
  uint32_t calls = 0;      // of functions that all ranks call
  uint32_t launches = 0;   // of recorded graphs that have such calls
  std::string last_call;   // of `calls`, with its arguments
  uint64_t call_hash = 0;  // of the whole text
  bool has_left = false;   // in good order
};

/// The results of Transport::watch.
struct Watched {
  ErrorCode code = ErrorCode::kIo;
  std::string failure;           // why the group has failed; "" while it works
  std::vector<Progress> others;  // by rank
};

class Transport {
 public:
  virtual ~Transport() = default;
  /// Sends and receives the messages, at most one to and one from each other rank, in any order.
  /// Returns when all have arrived and this rank's are on their way.
  ///
  /// call  the function and its arguments, the same on both ends of each message
  /// Errors: as ProcessGroup's.
  virtual void exchange(const std::string& call, std::span<const Outgoing> out,
                        std::span<const Incoming> in) = 0;
  /// Tells the other ranks this rank's progress, and reads theirs, and whether they work, without
  /// waiting. Another thread may call it during an exchange, which notices failures itself.
  virtual Watched watch(const Progress& mine) = 0;
  /// Marks the group as failed, if it has not failed before, and tells the others.
  virtual void fail(ErrorCode code, const std::string& reason) = 0;
};

}  // namespace wick::dist
