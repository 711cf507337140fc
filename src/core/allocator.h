// Caching allocator for one device. Allocating is expensive on every device: page faults on a CPU,
// a synchronizing call on a card.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <unordered_map>
#include <vector>

#include "wick/abi/backend.h"

namespace wick {

/// Allocates segments from the backend and cuts them into blocks whose sizes are multiples of 512
/// bytes. Adjacent free blocks merge.
///
/// A block belongs to the stream it was allocated for, and is reused on that stream at once, since
/// a stream runs in order. A block that another stream may use (use_on, share_with) is reused only
/// after an event recorded on that stream at release has completed. When the device is out of
/// memory, the allocator frees all unused segments and retries once.
///
/// A pool holds the memory of a graph: its blocks serve nothing else while it lives, since each
/// launch of the graph writes them again. While a thread records the graph, no event is recorded
/// or asked for, since that would become part of the graph.
class CachingAllocator {
 public:
  struct Statistics {
    int64_t used_bytes = 0;      // in blocks in use
    int64_t reserved_bytes = 0;  // in segments
    int64_t peak_bytes = 0;      // maximum of used_bytes
    int64_t segment_allocations = 0;
  };

  /// plain: pass each allocation to the backend and cache nothing (WICK_ALLOC=plain). limit: the
  /// most bytes of segments, or of plain allocations; a request beyond it is out of memory.
  CachingAllocator(const Backend& backend, int device, bool plain, int64_t limit = INT64_MAX)
      : backend_(backend), device_(device), plain_(plain), limit_(limit) {}
  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;
  ~CachingAllocator();

  /// Allocates 256-byte aligned memory for work on the stream; nullptr for 0 bytes. Returns the
  /// backend's Status on failure.
  Status allocate(int64_t bytes, void* stream, void** data);
  void release(void* data);
  /// Marks the block as used on another stream too; its release waits for that stream.
  void use_on(void* data, void* stream);
  /// From now on ops run on the stream too, so any block may be used on it and on the default one.
  void share_with(void* stream);
  /// The stream is gone, and its work was done before. Its blocks go to the default stream.
  void forget(void* stream);
  /// Frees all unused segments.
  void empty_cache();
  bool is_plain() const { return plain_; }

  /// From now on this thread's allocations come from the pool. pool: an address that no stream and
  /// no other pool has. Not for a plain allocator.
  void begin_pool(void* pool);
  /// The graph being recorded has several streams from now on. Memory of its pool that is released
  /// is not taken again: the order of two streams' work is not known here.
  void fork_pool();
  void end_pool();
  /// The pool's memory serves the default stream from now on, once the graph's work is done.
  void dissolve_pool(void* pool);
  Statistics statistics() const;
  int64_t limit() const { return limit_; }
  /// The sizes of the largest blocks in use, at most `count`, the largest first.
  std::vector<int64_t> largest(size_t count) const;

 private:
  struct Block;
  struct BySize {
    bool operator()(const Block* a, const Block* b) const;
  };
  using FreeBlocks = std::set<Block*, BySize>;
  using BlocksByData = std::unordered_map<void*, Block*>;
  struct Block {
    char* data = nullptr;
    int64_t bytes = 0;
    void* stream = nullptr;  // or its pool
    bool free = false;
    Block* before = nullptr;  // adjacent blocks in the segment
    Block* after = nullptr;
    std::vector<void*> used_on;  // other streams
    // Map nodes for free_ and out_ while the block is not in them, so that an op allocates no node.
    FreeBlocks::node_type free_node;
    BlocksByData::node_type out_node;
  };
  struct Pending {  // released, but possibly still in use on another stream
    Block* block;
    std::vector<void*> events;
  };
  enum class Recording { kNothing, kOneStream, kSeveralStreams };

  Status allocate_plain(int64_t bytes, void** data);
  Block* take(int64_t bytes, void* stream);
  Status new_segment(int64_t bytes, void* stream, Block** block);
  Block* new_block(char* data, int64_t bytes, void* stream);
  void drop_block(Block* block);
  void insert_free(Block* block);
  void erase_free(Block* block);
  void put_back(Block* block);
  bool is_pool(void* stream) const { return pools_.contains(stream); }
  void put_back_after(Block* block, std::vector<void*> streams);
  void release_block(Block* block);
  void give_to_default(void* stream, const std::vector<void*>& after);
  void collect_pending(bool wait);
  void give_back_segments();

  const Backend& backend_;
  const int device_;
  const bool plain_;
  const int64_t limit_;
  std::unordered_map<void*, int64_t> plain_bytes_;  // of allocations in use, if they are plain
  mutable std::mutex mutex_;
  FreeBlocks free_;
  BlocksByData out_;
  std::vector<std::unique_ptr<Block>> spare_blocks_;
  std::deque<Pending> pending_;  // in order of release
  std::set<void*> pools_;
  std::vector<void*> shared_;  // streams of share_with
  Recording recording_ = Recording::kNothing;
  std::vector<Block*> released_while_recording_;
  std::vector<void*> spare_events_;
  Statistics statistics_;
};

}  // namespace wick
