// Streams of bytes between ranks over MPI, by the module wick_mpi.so.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "dist/connection.h"
#include "dist/mpi_functions.h"
#include "wick/dist/process_group.h"

namespace wick::dist {

/// An end of a stream to another rank, with Connection's functions. Bytes travel in packets that
/// lie in memory of the stream, since MPI may use a message's memory after the group has failed.
class MpiConnection {
 public:
  MpiConnection();
  /// tag: the same on both ends, and no other stream's.
  MpiConnection(const MpiFunctions& mpi, int rank, int tag);
  ~MpiConnection();
  MpiConnection(MpiConnection&&) noexcept;
  MpiConnection& operator=(MpiConnection&&) noexcept;

  explicit operator bool() const { return bool(state_); }
  std::optional<size_t> read(void* to, size_t bytes);
  std::optional<size_t> write(const void* from, size_t bytes);
  bool read_all(void* to, size_t bytes, Clock::time_point until);
  bool write_all(const void* from, size_t bytes, Clock::time_point until);
  bool has_ended() const;
  bool is_unanswered() const { return false; }  // MPI watches the machines
  bool is_flushed() const;
  void finish();
  /// Whether read or write would return something else than 0.
  bool can_read() const;
  bool can_write() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

bool wait_for_any(std::span<Waiting<MpiConnection>> all, Clock::time_point until);

/// The streams to the other ranks, by rank; this rank's own is empty. Returns no streams if the
/// group is to use TCP: WICK_DIST is tcp; or it is auto, nccl or unset, and no mpirun has started
/// the ranks of these options or there is no module for that mpirun's MPI.
/// Errors: kInvalidArgument for WICK_DIST, and if MPI has other ranks than the options;
/// kRuntimeMissing if WICK_DIST is mpi and the module is missing; kIo if MPI cannot start.
std::vector<MpiConnection> meet_over_mpi(const ProcessGroupOptions& options);

}  // namespace wick::dist
