// The table of wick_mpi.so: the functions of MPI that wick needs, whatever the ABI of that MPI.
#pragma once
#include <cstddef>
#include <cstdint>

namespace wick::dist {

/// Any thread may call the functions; each call locks. int results: 0, or MPI's error code.
struct MpiFunctions {
  static constexpr uint32_t kVersion = 1;
  /// A message on its way.
  using Request = uint64_t;

  uint32_t version = kVersion;
  /// The variable with the number of ranks that this MPI's mpirun sets.
  const char* launch_variable = nullptr;
  /// Initializes MPI if the program has not; MPI is then finalized at exit(0). Fills this process's
  /// rank, the number of ranks and the highest tag. Returns 0 and fills the reason if it fails.
  int (*open)(int* rank, int* world_size, int* highest_tag, char* reason,
              size_t reason_bytes) = nullptr;
  int (*send)(const void* from, int bytes, int rank, int tag, Request* request) = nullptr;
  int (*receive)(void* to, int bytes, int rank, int tag, Request* request) = nullptr;
  /// Whether the message has arrived, or its memory may be used again after a send; the request is
  /// then freed. bytes: of a message that was received.
  int (*test)(Request* request, int* is_done, int* bytes) = nullptr;
  /// Gives a message up. Returns whether MPI has let go of its memory; if not, MPI stays
  /// unfinalized at the exit.
  int (*drop)(Request* request, int is_receive) = nullptr;
  /// Writes the text of an error code.
  void (*explain)(int code, char* text, size_t text_bytes) = nullptr;
};

/// The function of the module that returns the table.
using MpiEntry = const MpiFunctions* (*)();
constexpr const char* kMpiEntryName = "wick_mpi_functions";

}  // namespace wick::dist
