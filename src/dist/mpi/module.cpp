// wick_mpi.so: the functions of mpi_functions.h, by the MPI that this module was built with.
// Without MPI's classes of C++, which are in another library.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "dist/mpi_functions.h"

namespace wick::dist {
namespace {

// MPI_THREAD_SERIALIZED asks that no two calls of MPI run at once.
std::mutex mutex;
MPI_Comm world = MPI_COMM_NULL;  // of wick alone
bool holds_memory = false;       // MPI may still use memory of messages that were given up

static_assert(sizeof(MPI_Request) <= sizeof(MpiFunctions::Request));

MPI_Request request_of(MpiFunctions::Request from) {
  MPI_Request request;
  std::memcpy(&request, &from, sizeof request);
  return request;
}

MpiFunctions::Request packed(MPI_Request request) {
  MpiFunctions::Request result = 0;
  std::memcpy(&result, &request, sizeof request);
  return result;
}

bool is_usable() {
  int is_finalized = 0;
  return world != MPI_COMM_NULL && MPI_Finalized(&is_finalized) == MPI_SUCCESS && !is_finalized;
}

void explain(int code, char* text, size_t text_bytes) {
  char whole[MPI_MAX_ERROR_STRING + 1] = "";
  int size = 0;
  if (is_usable()) MPI_Error_string(code, whole, &size);
  std::snprintf(text, text_bytes, "%s", whole[0] ? whole : "an error of MPI");
}

/// mpirun ends all ranks if one ends before MPI_Finalize, which waits for all: a rank that has
/// failed must not call it.
void finalize_at_exit(int status, void* of_process) {
  const std::lock_guard lock(mutex);
  const bool is_child = getpid() != pid_t(reinterpret_cast<intptr_t>(of_process));
  if (status == 0 && !is_child && !holds_memory && is_usable()) MPI_Finalize();
}

int open(int* rank, int* world_size, int* highest_tag, char* reason, size_t reason_bytes) {
  const std::lock_guard lock(mutex);
  const auto succeeds = [&](int code) {
    if (code != MPI_SUCCESS) explain(code, reason, reason_bytes);
    return code == MPI_SUCCESS;
  };
  int is_initialized = 0, is_finalized = 0, level = MPI_THREAD_SINGLE;
  if (!succeeds(MPI_Initialized(&is_initialized)) || !succeeds(MPI_Finalized(&is_finalized)))
    return 0;
  if (is_finalized) {
    std::snprintf(reason, reason_bytes, "the program has called MPI_Finalize");
    return 0;
  }
  if (!is_initialized) {
    if (!succeeds(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level))) return 0;
    on_exit(finalize_at_exit, reinterpret_cast<void*>(intptr_t(getpid())));
  }
  if (!succeeds(MPI_Query_thread(&level))) return 0;
  if (level < MPI_THREAD_SERIALIZED) {
    std::snprintf(reason, reason_bytes,
                  "MPI was initialized without MPI_THREAD_SERIALIZED, which wick's threads need");
    return 0;
  }
  if (world == MPI_COMM_NULL) {
    if (!succeeds(MPI_Comm_dup(MPI_COMM_WORLD, &world))) return 0;
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
  }
  void* highest = nullptr;
  int has_highest = 0;
  if (!succeeds(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &highest, &has_highest)) ||
      !succeeds(MPI_Comm_rank(world, rank)) || !succeeds(MPI_Comm_size(world, world_size)))
    return 0;
  constexpr int kLeastHighestTag = 32767;  // of every MPI
  *highest_tag = has_highest ? *static_cast<int*>(highest) : kLeastHighestTag;
  return 1;
}

int send(const void* from, int bytes, int rank, int tag, MpiFunctions::Request* request) {
  const std::lock_guard lock(mutex);
  if (!is_usable()) return MPI_ERR_OTHER;
  MPI_Request result;
  const int code = MPI_Isend(from, bytes, MPI_BYTE, rank, tag, world, &result);
  *request = packed(result);
  return code;
}

int receive(void* to, int bytes, int rank, int tag, MpiFunctions::Request* request) {
  const std::lock_guard lock(mutex);
  if (!is_usable()) return MPI_ERR_OTHER;
  MPI_Request result;
  const int code = MPI_Irecv(to, bytes, MPI_BYTE, rank, tag, world, &result);
  *request = packed(result);
  return code;
}

int test(MpiFunctions::Request* request, int* is_done, int* bytes) {
  const std::lock_guard lock(mutex);
  *is_done = 0;
  if (!is_usable()) return MPI_ERR_OTHER;
  MPI_Request tested = request_of(*request);
  MPI_Status status;
  const int code = MPI_Test(&tested, is_done, &status);
  *request = packed(tested);
  if (code == MPI_SUCCESS && *is_done) MPI_Get_count(&status, MPI_BYTE, bytes);
  return code;
}

int drop(MpiFunctions::Request* request, int is_receive) {
  const std::lock_guard lock(mutex);
  if (!is_usable()) return 1;  // MPI_Finalize has completed or freed all
  MPI_Request dropped = request_of(*request);
  if (is_receive) MPI_Cancel(&dropped);
  // A message that is arriving cannot be cancelled, and may need the other rank to arrive.
  constexpr int kTries = 100;
  int is_done = 0;
  for (int i = 0; i < kTries && !is_done; i++)
    if (MPI_Test(&dropped, &is_done, MPI_STATUS_IGNORE) != MPI_SUCCESS) break;
  holds_memory = holds_memory || !is_done;
  return is_done;
}

void explain_locked(int code, char* text, size_t text_bytes) {
  const std::lock_guard lock(mutex);
  explain(code, text, text_bytes);
}

constexpr MpiFunctions kFunctions{
#ifdef OPEN_MPI
    .launch_variable = "OMPI_COMM_WORLD_SIZE",
#else
    .launch_variable = "PMI_SIZE",
#endif
    .open = open,
    .send = send,
    .receive = receive,
    .test = test,
    .drop = drop,
    .explain = explain_locked};

}  // namespace
}  // namespace wick::dist

extern "C" __attribute__((visibility("default"))) const wick::dist::MpiFunctions*
wick_mpi_functions() {
  return &wick::dist::kFunctions;
}
