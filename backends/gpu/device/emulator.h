// The GPU's execution model on the CPU: a block's threads are fibers, which switch only at barriers
// and wave operations.
//
// The forward schedule runs the lowest wave as far as it goes, and within it the lowest lane; reverse
// runs the highest; shuffled draws at random. One wave far ahead of the others exposes a missing
// barrier; round-robin would hide it. A race shows as different bits under one of the schedules.
// Divergent barriers and wave operations end a launch with an error message.
//
// Contexts (ctx_emulated.h) use Block; runtime/launch_emulated.h uses BoundKernel and run.
#pragma once
#include "wick/abi/call.h"

namespace wick::gpu::emu {

/// The source location of an operation.
struct SourceLine {
  const char* file;
  int line;
};

/// The interface of a context to its thread's block.
class Block {
 public:
  /// Waits until every thread of the block is here.
  void barrier(int thread, SourceLine at);
  /// Waits until all lanes of the wave are here. The last one calls together(lanes), where lanes[l] is
  /// lane l's `mine`; then all continue.
  void meet(int thread, void* mine, void (*together)(void** lanes), SourceLine at);
  /// The same for some lanes of the wave, a bit each, this thread's among them; lanes beyond the block
  /// do not count. Groups of a wave may meet apart. The last one calls together(lanes, which), where
  /// which are the lanes that met.
  void meet_some(int thread, uint64 which, void* mine,
                 void (*together)(void** lanes, unsigned long long which), SourceLine at);
  /// The lanes that the thread's wave has: all but in the last wave of a block of odd size.
  uint64 lanes_of(int thread) const;
  /// Ends the launch: "thread 3: what at file:line".
  [[noreturn]] void refuse(int thread, const char* what, SourceLine at);

 protected:
  Block() = default;
  ~Block() = default;
};

enum class Schedule { kForward, kReverse, kShuffled };

/// The conditions of a run of a launch. A correct kernel gives the same bits in all.
struct RunConditions {
  Schedule schedule = Schedule::kForward;
  uint8 poison = 0xff;  // initial value of every byte of a block's shared memory
  uint32 seed = 1;      // of kShuffled
  // True: blocks run one after another, so the same conditions give the same bits. False: they run
  // on the threads of base/parallel.h, in no fixed order.
  bool one_by_one = false;
};

inline constexpr int kMaxThreads = 1024;         // per block
inline constexpr int64 kSharedBytes = 64 << 10;  // per block, as AMD's cards have
// Of wick's kernels in NVIDIA's matrix layout (ctx_nvidia.h).
inline constexpr int64 kMaxSharedBytes = 99 << 10;

/// A launch bound to a context type, with its types erased.
struct BoundKernel {
  int threads;  // meet() takes multiples of the wave only
  int wave;
  int grid[3];
  const char* layout;   // the matrix layout's name; "" for none
  bool sums_by_layout;  // adds in an order that depends on the layout
  int64 shared_bytes;   // at most kMaxSharedBytes
  const void* args;
  int64 args_bytes;  // for a copy that a graph keeps; 0: no graph may
  ErrorRecord* record;
  void (*thread)(const BoundKernel&, Block*, void* shared, int thread, const int block[3]);
};

/// Runs every block, on the threads of base/parallel.h. Returns nullptr, or the first error message,
/// which lives until the calling thread's next call. Kernels must not call it.
const char* run(const BoundKernel&, const RunConditions& = {});

/// The number of fiber switches since the process started.
int64 switches();

}  // namespace wick::gpu::emu
