// Communication between cards by NCCL and RCCL, two libraries of one interface: the table of
// wick/abi/collectives.h.
#pragma once
#include "runtime/find_library.h"
#include "wick/abi/collectives.h"

namespace wick::gpu {

namespace nccl {

// Source of the numbers: the header of NCCL 2.31; RCCL keeps its interface.
inline constexpr int kSuccess = 0;
inline constexpr int kInt8 = 0, kUint8 = 1, kInt32 = 2, kUint32 = 3, kInt64 = 4, kUint64 = 5,
                     kFloat16 = 6, kFloat32 = 7, kFloat64 = 8, kBfloat16 = 9;
inline constexpr int kSum = 0, kMax = 2, kMin = 3, kAvg = 4;

struct UniqueId {
  char internal[128];
};

struct Api {
  int (*GetVersion)(int* version);
  const char* (*GetErrorString)(int result);
  int (*GetUniqueId)(UniqueId*);
  int (*CommInitRank)(void** communicator, int ranks, UniqueId id, int rank);
  int (*CommDestroy)(void* communicator);
  int (*CommAbort)(void* communicator);
  int (*CommGetAsyncError)(void* communicator, int* result);
  int (*AllReduce)(const void* in, void* out, size_t count, int type, int operation,
                   void* communicator, void* stream);
  int (*ReduceScatter)(const void* in, void* out, size_t count_out, int type, int operation,
                       void* communicator, void* stream);
  int (*AllGather)(const void* in, void* out, size_t count_in, int type, void* communicator,
                   void* stream);
  int (*Broadcast)(const void* in, void* out, size_t count, int type, int root, void* communicator,
                   void* stream);
  int (*Send)(const void* in, size_t count, int type, int rank, void* communicator, void* stream);
  int (*Recv)(void* out, size_t count, int type, int rank, void* communicator, void* stream);
  int (*GroupStart)();
  int (*GroupEnd)();
};

}  // namespace nccl

/// The module's library (vendors_cuda.cpp, vendors_rocm.cpp).
struct CollectivesLibrary {
  const char* title;
  const Library& library;
  std::string (*beside)();  // the folder of the vendor's runtime; see open_library
};
extern const CollectivesLibrary kCollectivesLibrary;

/// For Backend::collectives.
extern const Collectives kCollectives;

/// The address of a card on the machine's bus, "0000:03:00.0"; "" if the runtime does not say
/// (rt_cuda.cpp, rt_rocm.cpp).
std::string card_address(int32 device);

}  // namespace wick::gpu
