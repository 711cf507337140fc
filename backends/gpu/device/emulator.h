// The GPU's execution model on the CPU: a block's threads are fibers that change at barriers and
// wave operations only.
//
// forward runs the lowest wave as far as it goes and within it the lowest lane, reverse the
// highest, shuffled draws. One wave far ahead of the others is what shows a missing barrier; taking
// turns hides it. A kernel whose result depends on who comes first gives other bits under one of
// them. Divergent barriers and wave operations end a launch with a text.
//
// Contexts (ctx_emulated.h) use Block, runtime/launch_emulated.h uses BoundKernel and run.
#pragma once
#include "wick/abi/call.h"

namespace wick::gpu::emu {

/// Where in a kernel's text an operation stands.
struct Place {
  const char* file;
  int line;
};

/// What a context asks of the block that its thread belongs to.
class Block {
 public:
  /// Goes on when every thread of the block is here.
  void barrier(int thread, Place at);
  /// The lanes of a wave meet here; the last calls together(lanes), lanes[l] being what lane l
  /// brought; then all go on.
  void meet(int thread, void* mine, void (*together)(void** lanes), Place at);
  /// Ends the launch: "thread 3: what at file:line".
  [[noreturn]] void refuse(int thread, const char* what, Place at);

 protected:
  Block() = default;
  ~Block() = default;
};

enum class Schedule { kForward, kReverse, kShuffled };

/// One way to run a launch. A right kernel gives the same bits in each.
struct Way {
  Schedule schedule = Schedule::kForward;
  uint8 poison = 0xff;  // every byte of a block's shared memory before it starts
  uint32 seed = 1;      // of kShuffled
  // Blocks run one after the other, so that the same way always gives the same bits; else on the
  // threads of base/parallel.h, whose turns no schedule fixes.
  bool one_by_one = false;
};

inline constexpr int kMaxThreads = 1024;            // of a block
inline constexpr int64 kMaxSharedBytes = 64 << 10;  // of a block

/// A launch whose context is bound and whose types are forgotten.
struct BoundKernel {
  int threads, wave;
  int grid[3];
  const char* layout;  // the matrix layout's name, "": it uses none
  int64 shared_bytes;  // at most kMaxSharedBytes
  const void* args;
  ErrorRecord* record;
  void (*thread)(const BoundKernel&, Block*, void* shared, int thread, const int block[3]);
};

/// Runs every block, on the threads of base/parallel.h. nullptr, or the first complaint: a text
/// that lives until the calling thread's next call. Must not be called by a kernel.
const char* run(const BoundKernel&, const Way& = {});

/// Changes from one fiber to another since the process began.
int64 switches();

}  // namespace wick::gpu::emu
