// The interface to a way of moving bytes between ranks.
#pragma once
#include <cstddef>
#include <span>
#include <string>

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
};

}  // namespace wick::dist
