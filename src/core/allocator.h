// Memory of one device, kept for the next tensor: fresh memory is dear on every device (page faults
// on a CPU, a synchronizing call on a card).
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <unordered_map>
#include <vector>

#include "wick/abi/backend.h"

namespace wick {

/// Segments come from the backend's alloc and are cut into blocks of multiples of 512 bytes; free
/// neighbours merge again.
///
/// A block belongs to the stream that it was allocated for and is reused on it at once, for a
/// stream runs in order. What another stream has used too (use_on) is reused only when an event
/// recorded there at its release has passed. When the device has no more, all unused segments are
/// given back and the allocation is tried once more.
class CachingAllocator {
 public:
  struct Statistics {
    int64_t used_bytes = 0;      // in blocks that are out
    int64_t reserved_bytes = 0;  // in segments
    int64_t peak_bytes = 0;      // the most that used_bytes ever was
    int64_t segment_allocations = 0;
  };

  /// plain: one allocation of the backend for each of ours, nothing kept (WICK_ALLOC=plain).
  CachingAllocator(const Backend& backend, int device, bool plain)
      : backend_(backend), device_(device), plain_(plain) {}
  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;
  ~CachingAllocator();

  /// 256-byte aligned memory for work on the stream; nullptr for 0 bytes. The Status is the
  /// backend's if it has no more.
  Status allocate(int64_t bytes, void* stream, void** data);
  void release(void* data);
  /// The block is used on another stream too, so its release waits for that one.
  void use_on(void* data, void* stream);
  /// Gives all unused segments back to the device.
  void empty_cache();
  Statistics statistics() const;

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
    void* stream = nullptr;
    bool free = false;
    Block* before = nullptr;  // neighbours in the segment
    Block* after = nullptr;
    std::vector<void*> used_on;  // other streams
    // The block's nodes of free_ and of out_ while it is not there: an op allocates none of its own.
    FreeBlocks::node_type free_node;
    BlocksByData::node_type out_node;
  };
  struct Pending {  // released, but another stream may still work on it
    Block* block;
    std::vector<void*> events;
  };

  Block* take(int64_t bytes, void* stream);
  Status new_segment(int64_t bytes, void* stream, Block** block);
  Block* new_block(char* data, int64_t bytes, void* stream);
  void drop_block(Block* block);
  void insert_free(Block* block);
  void erase_free(Block* block);
  void put_back(Block* block);
  void collect_pending(bool wait);
  void give_back_segments();

  const Backend& backend_;
  const int device_;
  const bool plain_;
  mutable std::mutex mutex_;
  FreeBlocks free_;
  BlocksByData out_;
  std::vector<std::unique_ptr<Block>> spare_blocks_;
  std::vector<Pending> pending_;
  std::vector<void*> spare_events_;
  Statistics statistics_;
};

}  // namespace wick
