// Communication between the cards of several processes, by a vendor's library:
// Backend::collectives points to the table Collectives, if there is such a library for the backend.
#pragma once
#include "wick/abi/backend.h"

namespace wick {

inline constexpr uint32 kCollectivesVersion = 1;

/// A card and its library, as the ranks compare them.
struct CollectivesFacts {
  char card[64];     // the same only for one card of a machine: its address on the bus
  char library[64];  // title and version, "NCCL 2.27.3"; ranks need the same
};

/// Made by one rank and given to all, by other means.
struct CommunicatorId {
  char bytes[128];
};

/// The way in which the ranks' elements are combined.
enum class Reduction : int32 { kSum, kMean, kMax, kMin };

/// The arguments that all calls share. The library queues its work on the stream (nullptr: the
/// device's own) and returns; the first calls of a communicator may wait for the other ranks. On a
/// stream that is being captured the work becomes part of the graph.
struct CollectiveCall {
  int32 device;
  void* communicator;
  void* stream;
  const void* in;
  void* out;
};

/// Bytes for another rank, or from it.
struct CollectiveMessage {
  int32 rank;
  void* data;
  int64 bytes;
};

/// All functions are required. Pointers are to memory of the device. Every rank calls the same
/// functions in the same order; state and abort may be called from another thread meanwhile.
struct Collectives {
  uint32 version;      // kCollectivesVersion
  uint32 struct_size;  // sizeof(Collectives)

  /// Opens the library, at its first call. Errors: kUnsupported, with the reason, if it cannot be
  /// used.
  Status (*describe)(int32 device, CollectivesFacts*);
  Status (*make_id)(int32 device, CommunicatorId*);
  /// Makes this rank's end of a communicator. Waits for all ranks.
  Status (*join)(int32 device, const CommunicatorId*, int32 rank, int32 world_size,
                 void** communicator);
  /// Ends it once its work is done. Graphs that hold its work must have been destroyed.
  void (*leave)(int32 device, void* communicator);
  /// Ends it at once: work that waits for another rank ends too, with wrong results.
  void (*abort)(int32 device, void* communicator);
  /// The error that running work has met, if any.
  Status (*state)(int32 device, void* communicator);

  /// Whether all_reduce and reduce_scatter combine elements of the dtype, with a maximum or minimum
  /// of NaN where an element is NaN.
  int32 (*reduces)(DType, Reduction);
  Status (*all_reduce)(const CollectiveCall*, DType, Reduction, int64 elements);
  /// elements: of out. in has as many for each rank, in the order of the ranks.
  Status (*reduce_scatter)(const CollectiveCall*, DType, Reduction, int64 elements);
  /// bytes: of in. out has as many of each rank.
  Status (*all_gather)(const CollectiveCall*, int64 bytes);
  /// in is read on the root alone, and may be out.
  Status (*broadcast)(const CollectiveCall*, int64 bytes, int32 root);
  /// Sends and receives messages at once; this rank may be among the receivers. CollectiveCall's in
  /// and out are unused.
  Status (*exchange)(const CollectiveCall*, const CollectiveMessage* out, int32 num_out,
                     const CollectiveMessage* in, int32 num_in);
};

/// The backend's table; nullptr if there is no table, or one of another version.
inline const Collectives* collectives_of(const Backend& backend) {
  const auto* table = static_cast<const Collectives*>(backend.collectives);
  const bool fits =
      table && table->version == kCollectivesVersion && table->struct_size == sizeof(Collectives);
  return fits ? table : nullptr;
}

}  // namespace wick
