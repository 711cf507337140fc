// Finds lost updates in a kernel from source: two threads change one place without an atomic operation,
// and nothing orders them. On the emulator a thread is not interrupted between its read and its write,
// so that every schedule gives the same sum; a card adds once.
//
// A library compiled with WICK_WATCHED reports each plain access (source_kernel.h). An update is a read
// and then a write of one place by a thread that meets no other in between, if the write changes the
// value. Two updates are ordered by a barrier of the block, by an operation of the wave, and by an
// atomic operation or fence of the first thread.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/source_kernel.h"
#include "wick/abi/call.h"

namespace wick::gpu::emu {

/// Of one launch, whose threads run one at a time.
class Watch {
 public:
  struct Region {  // memory
    const char* begin;
    const char* end;
    std::string name;
    bool of_block;  // shared memory
  };
  /// regions: the memory in which updates count.
  explicit Watch(std::vector<Region> regions) : regions_(std::move(regions)) {}

  /// Adds the running block's shared memory, which all blocks have in one place.
  void add_shared(const void* data, int64 bytes, const char* name);
  void access(const SourceThread&, const void* data, int bytes, bool writes);
  void order(const SourceThread&, char how);
  /// "", or the first lost update. After the launch.
  std::string complaint();

 private:
  struct Thread {
    int64 block = -1;
    int thread = 0;
    int wave = 0;
    int64 barriers = 0, wave_operations = 0;
    bool operator==(const Thread&) const = default;
  };
  /// How far a thread has come, and when an atomic operation or fence last published its writes.
  struct Progress {
    int64 barriers = 0, wave_operations = 0, published = 0;
  };
  struct Update {
    Thread by;
    int64 time = 0;
  };
  /// A write that the thread is about to make.
  struct Pending {
    const char* at = nullptr;
    int bytes = 0;
    char before[16] = {};
    Thread by;
    const Region* place = nullptr;
  };

  Thread now(const SourceThread&);
  bool ordered(const Update& first, const Thread& then) const;
  void finish_write();

  std::vector<Region> regions_;
  std::unordered_map<const void*, Thread> reads_;
  std::unordered_map<const void*, Update> updates_;
  std::unordered_map<int64, std::unordered_map<int, Progress>> progress_;  // by block and thread
  Pending pending_;
  int64 time_ = 0;
  std::string complaint_;
};

}  // namespace wick::gpu::emu
