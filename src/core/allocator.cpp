#include "core/allocator.h"

#include <algorithm>
#include <functional>
#include <new>
#include <utility>

#include "scalar/round_up.h"

namespace wick {
namespace {

constexpr int64_t kGranule = 512;             // block sizes are multiples of this
constexpr int64_t kSmall = int64_t{1} << 20;  // such blocks share segments of kSmallSegment
constexpr int64_t kSmallSegment = int64_t{2} << 20;
constexpr int64_t kMedium = int64_t{10} << 20;  // such blocks share segments of kMediumSegment
constexpr int64_t kMediumSegment = int64_t{20} << 20;

const char* const kBeyondLimit = "WICK_MEMORY_LIMIT allows no more";

int64_t segment_bytes(int64_t bytes) {
  if (bytes <= kSmall) return kSmallSegment;
  if (bytes <= kMedium) return kMediumSegment;
  return round_up(bytes, kSmallSegment);
}

// Split a block only if the remainder is useful.
bool worth_splitting(int64_t have, int64_t want) {
  return have - want >= (have <= kSmallSegment ? kGranule : kSmall);
}

/// The pool that a thread's allocations come from.
struct CurrentPool {
  const CachingAllocator* allocator = nullptr;
  void* pool = nullptr;
};
CurrentPool& current_pool() {
  static thread_local CurrentPool current;
  return current;
}

}  // namespace

bool CachingAllocator::BySize::operator()(const Block* a, const Block* b) const {
  if (a->stream != b->stream) return a->stream < b->stream;
  return a->bytes != b->bytes ? a->bytes < b->bytes : a->data < b->data;
}

CachingAllocator::~CachingAllocator() {
  collect_pending(true);
  give_back_segments();
  for (void* event : spare_events_) backend_.event_destroy(device_, event);
}

Status CachingAllocator::allocate(int64_t bytes, void* stream, void** data) {
  *data = nullptr;
  if (bytes == 0) return {};
  if (plain_) return allocate_plain(bytes, data);
  if (bytes > INT64_MAX - kMediumSegment)
    return {StatusCode::kOutOfMemory, "more bytes than there are addresses"};
  bytes = round_up(bytes, kGranule);
  if (current_pool().allocator == this) stream = current_pool().pool;
  const std::lock_guard lock(mutex_);
  collect_pending(false);
  Block* block = take(bytes, stream);
  if (!block) {
    Status status = new_segment(bytes, stream, &block);
    if (status.code == StatusCode::kOutOfMemory) {
      collect_pending(true);
      give_back_segments();
      status = new_segment(bytes, stream, &block);
    }
    if (!status.ok()) return status;
  }
  if (worth_splitting(block->bytes, bytes)) {
    Block* rest = new_block(block->data + bytes, block->bytes - bytes, stream);
    rest->before = block;
    rest->after = block->after;
    if (rest->after) rest->after->before = rest;
    block->after = rest;
    block->bytes = bytes;
    insert_free(rest);
  }
  block->out_node.key() = block->data;
  out_.insert(std::move(block->out_node));
  statistics_.used_bytes += block->bytes;
  statistics_.peak_bytes = std::max(statistics_.peak_bytes, statistics_.used_bytes);
  *data = block->data;
  return {};
}

void CachingAllocator::release(void* data) {
  if (!data) return;
  const std::lock_guard lock(mutex_);
  if (plain_) {
    const auto found = plain_bytes_.find(data);
    statistics_.used_bytes -= found->second;
    statistics_.reserved_bytes -= found->second;
    plain_bytes_.erase(found);
    return backend_.free(device_, data);
  }
  const auto found = out_.find(data);
  Block* block = found->second;
  block->out_node = out_.extract(found);
  statistics_.used_bytes -= block->bytes;
  release_block(block);
}

/// A block that is neither free nor in use.
void CachingAllocator::release_block(Block* block) {
  const bool of_pool = is_pool(block->stream);
  std::vector<void*> streams = std::move(block->used_on);
  block->used_on.clear();
  const auto add = [&](void* stream) {
    if (stream != block->stream &&
        std::find(streams.begin(), streams.end(), stream) == streams.end())
      streams.push_back(stream);
  };
  if (!shared_.empty() && !of_pool) {  // a pool's block waits for these when the pool is dissolved
    add(nullptr);
    for (void* stream : shared_) add(stream);
  }
  const bool forked = recording_ == Recording::kSeveralStreams;
  if (recording_ != Recording::kNothing && (!streams.empty() || (of_pool && forked))) {
    block->used_on = std::move(streams);
    released_while_recording_.push_back(block);
    return;
  }
  put_back_after(block, std::move(streams));
}

/// Makes the block free when the work that is queued on the streams now is done.
void CachingAllocator::put_back_after(Block* block, std::vector<void*> streams) {
  if (streams.empty()) return put_back(block);
  Pending pending{block, {}};
  for (void* stream : streams) {
    void* event = nullptr;
    if (!spare_events_.empty()) {
      event = spare_events_.back();
      spare_events_.pop_back();
    } else if (!backend_.event_create(device_, &event).ok()) {
      continue;
    }
    if (backend_.event_record(device_, event, stream).ok())
      pending.events.push_back(event);
    else
      spare_events_.push_back(event);
  }
  pending_.push_back(std::move(pending));
}

void CachingAllocator::use_on(void* data, void* stream) {
  if (plain_ || !data) return;
  const std::lock_guard lock(mutex_);
  const auto found = out_.find(data);
  if (found == out_.end() || found->second->stream == stream) return;
  auto& streams = found->second->used_on;
  if (std::find(streams.begin(), streams.end(), stream) == streams.end()) streams.push_back(stream);
}

void CachingAllocator::share_with(void* stream) {
  if (plain_ || !stream) return;
  const std::lock_guard lock(mutex_);
  if (std::find(shared_.begin(), shared_.end(), stream) == shared_.end()) shared_.push_back(stream);
}

void CachingAllocator::forget(void* stream) {
  const std::lock_guard lock(mutex_);
  std::erase(shared_, stream);
  for (const auto& [data, block] : out_) std::erase(block->used_on, stream);
  for (Block* block : released_while_recording_) std::erase(block->used_on, stream);
  give_to_default(stream, {});
}

void CachingAllocator::empty_cache() {
  const std::lock_guard lock(mutex_);
  collect_pending(true);
  give_back_segments();
}

void CachingAllocator::begin_pool(void* pool) {
  const std::lock_guard lock(mutex_);
  pools_.insert(pool);
  current_pool() = {this, pool};
  recording_ = Recording::kOneStream;
}

void CachingAllocator::fork_pool() {
  const std::lock_guard lock(mutex_);
  if (current_pool().allocator == this) recording_ = Recording::kSeveralStreams;
}

void CachingAllocator::end_pool() {
  const std::lock_guard lock(mutex_);
  current_pool() = {};
  recording_ = Recording::kNothing;
  for (Block* block : std::exchange(released_while_recording_, {})) release_block(block);
}

void CachingAllocator::dissolve_pool(void* pool) {
  const std::lock_guard lock(mutex_);
  pools_.erase(pool);
  give_to_default(pool, shared_);
}

/// Makes all blocks of the stream or pool the default stream's: the free ones when the work that is
/// queued on the streams `after` now is done.
void CachingAllocator::give_to_default(void* stream, const std::vector<void*>& after) {
  for (const auto& [data, block] : out_)
    if (block->stream == stream) block->stream = nullptr;
  for (const Pending& p : pending_)
    if (p.block->stream == stream) p.block->stream = nullptr;
  for (Block* block : released_while_recording_)
    if (block->stream == stream) block->stream = nullptr;
  std::vector<Block*> blocks;
  for (Block* block : free_)
    if (block->stream == stream) blocks.push_back(block);
  for (Block* block : blocks) {
    erase_free(block);
    block->stream = nullptr;
    if (after.empty())
      insert_free(block);
    else if (recording_ == Recording::kNothing)
      put_back_after(block, after);
    else
      block->used_on = after, released_while_recording_.push_back(block);
  }
}

CachingAllocator::Statistics CachingAllocator::statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

Status CachingAllocator::allocate_plain(int64_t bytes, void** data) {
  const std::lock_guard lock(mutex_);
  if (bytes > limit_ - statistics_.used_bytes) return {StatusCode::kOutOfMemory, kBeyondLimit};
  if (const Status status = backend_.alloc(device_, bytes, data); !status.ok()) return status;
  plain_bytes_[*data] = bytes;
  statistics_.used_bytes += bytes;
  statistics_.reserved_bytes += bytes;
  statistics_.peak_bytes = std::max(statistics_.peak_bytes, statistics_.used_bytes);
  return {};
}

std::vector<int64_t> CachingAllocator::largest(size_t count) const {
  const std::lock_guard lock(mutex_);
  std::vector<int64_t> sizes;
  for (const auto& [data, block] : out_) sizes.push_back(block->bytes);
  for (const auto& [data, bytes] : plain_bytes_) sizes.push_back(bytes);
  count = std::min(count, sizes.size());
  std::partial_sort(sizes.begin(), sizes.begin() + ptrdiff_t(count), sizes.end(), std::greater<>());
  sizes.resize(count);
  return sizes;
}

/// The smallest free block of the stream that fits.
CachingAllocator::Block* CachingAllocator::take(int64_t bytes, void* stream) {
  Block key;
  key.bytes = bytes;
  key.stream = stream;
  const auto found = free_.lower_bound(&key);
  if (found == free_.end() || (*found)->stream != stream) return nullptr;
  Block* block = *found;
  // A small tensor must not pin a large segment: small requests do not take free blocks larger than
  // kSmallSegment.
  if (bytes <= kSmall && block->bytes > kSmallSegment) return nullptr;
  block->free_node = free_.extract(found);
  block->free = false;
  return block;
}

Status CachingAllocator::new_segment(int64_t bytes, void* stream, Block** block) {
  // Near the limit, a segment has no room for further blocks.
  const int64_t room = limit_ - statistics_.reserved_bytes, common = segment_bytes(bytes);
  const int64_t size = common <= room ? common : bytes;
  if (size > room) return {StatusCode::kOutOfMemory, kBeyondLimit};
  void* data = nullptr;
  if (const Status status = backend_.alloc(device_, size, &data); !status.ok()) return status;
  *block = new_block(static_cast<char*>(data), size, stream);
  statistics_.reserved_bytes += size;
  statistics_.segment_allocations++;
  return {};
}

/// Returns a block that is neither free nor in use.
CachingAllocator::Block* CachingAllocator::new_block(char* data, int64_t bytes, void* stream) {
  Block* block = nullptr;
  if (spare_blocks_.empty()) {
    block = new Block;
    block->free_node = FreeBlocks{block}.extract(block);
    block->out_node = BlocksByData{{data, block}}.extract(data);
  } else {
    block = spare_blocks_.back().release();
    spare_blocks_.pop_back();
  }
  block->data = data;
  block->bytes = bytes;
  block->stream = stream;
  block->before = block->after = nullptr;
  return block;
}

void CachingAllocator::drop_block(Block* block) { spare_blocks_.emplace_back(block); }

void CachingAllocator::insert_free(Block* block) {
  block->free = true;
  free_.insert(std::move(block->free_node));
}

void CachingAllocator::erase_free(Block* block) {
  block->free_node = free_.extract(block);
  block->free = false;
}

void CachingAllocator::put_back(Block* block) {
  if (Block* next = block->after; next && next->free) {
    erase_free(next);
    block->bytes += next->bytes;
    block->after = next->after;
    if (block->after) block->after->before = block;
    drop_block(next);
  }
  if (Block* previous = block->before; previous && previous->free) {
    erase_free(previous);
    previous->bytes += block->bytes;
    previous->after = block->after;
    if (previous->after) previous->after->before = previous;
    drop_block(block);
    block = previous;
  }
  insert_free(block);
}

void CachingAllocator::collect_pending(bool wait) {
  if (recording_ != Recording::kNothing) return;
  while (!pending_.empty()) {  // streams run in order, so that the rest waits longer
    Pending& p = pending_.front();
    while (!p.events.empty()) {
      int32_t done = 0;
      // A failed query means that the device has failed, so its memory is no longer in use.
      if (!backend_.event_query(device_, p.events.back(), &done).ok()) done = 1;
      if (!done && !wait) return;
      if (done) {
        spare_events_.push_back(p.events.back());
        p.events.pop_back();
      }
    }
    Block* const block = p.block;
    pending_.pop_front();
    put_back(block);
  }
}

void CachingAllocator::give_back_segments() {
  for (auto it = free_.begin(); it != free_.end();) {
    Block* block = *it;
    if (block->before || block->after || pools_.count(block->stream) > 0) {
      ++it;
      continue;
    }
    ++it;
    erase_free(block);
    statistics_.reserved_bytes -= block->bytes;
    backend_.free(device_, block->data);
    drop_block(block);
  }
}

}  // namespace wick
