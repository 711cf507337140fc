#include "runtime/watch_emulated.h"

#include <cstring>

namespace wick::gpu::emu {

Watch::Thread Watch::now(const SourceThread& t) {
  const int64 block =
      (int64(t.block_index[2]) * t.grid_size[1] + t.block_index[1]) * t.grid_size[0] +
      t.block_index[0];
  const Progress& progress = progress_[block][t.thread];
  return {block, t.thread, t.thread / t.wave, progress.barriers, progress.wave_operations};
}

bool Watch::ordered(const Update& first, const Thread& then) const {
  const Thread& by = first.by;
  if (by.block == then.block && by.thread == then.thread) return true;
  if (by.block == then.block && by.barriers != then.barriers) return true;
  if (by.block == then.block && by.wave == then.wave && by.wave_operations != then.wave_operations)
    return true;
  return progress_.at(by.block).at(by.thread).published > first.time;
}

/// The write that the last access announced has happened: was it an update, and a lost one?
void Watch::finish_write() {
  const Pending write = pending_;
  pending_.at = nullptr;
  if (!write.at || memcmp(write.at, write.before, size_t(write.bytes)) == 0) return;
  const auto read = reads_.find(write.at);
  if (read == reads_.end() || !(read->second == write.by)) return;
  const auto found = updates_.find(write.at);
  const bool lost = found != updates_.end() &&
                    !(write.place->of_block && found->second.by.block != write.by.block) &&
                    !ordered(found->second, write.by);
  if (lost && complaint_.empty()) {
    const auto name = [](const Thread& t) {
      return "thread " + std::to_string(t.thread) + " of block " + std::to_string(t.block);
    };
    const auto from = write.at - write.place->begin;
    complaint_ = name(found->second.by) + " and " + name(write.by) + " add to, or change, bytes " +
                 std::to_string(from) + " to " + std::to_string(from + write.bytes - 1) + " of " +
                 write.place->name + " with no barrier or atomic operation between them";
  }
  updates_[write.at] = {write.by, time_};
}

void Watch::add_shared(const void* data, int64 bytes, const char* name) {
  finish_write();
  const auto* const begin = static_cast<const char*>(data);
  for (const Region& place : regions_)
    if (place.begin == begin) return;
  regions_.push_back({begin, begin + bytes, name, true});
}

void Watch::access(const SourceThread& t, const void* data, int bytes, bool writes) {
  finish_write();
  const auto* const at = static_cast<const char*>(data);
  for (const Region& place : regions_) {
    if (at < place.begin || at + bytes > place.end) continue;
    time_++;
    if (!writes) {
      reads_[at] = now(t);
    } else if (bytes <= int(sizeof pending_.before)) {
      pending_.at = at, pending_.bytes = bytes, pending_.by = now(t), pending_.place = &place;
      memcpy(pending_.before, at, size_t(bytes));
    }
    return;
  }
}

void Watch::order(const SourceThread& t, char how) {
  finish_write();
  const Thread thread = now(t);
  Progress& progress = progress_[thread.block][thread.thread];
  if (how == 'b') progress.barriers++;
  if (how == 'w') progress.wave_operations++;
  if (how == 'a') progress.published = ++time_;
}

std::string Watch::complaint() {
  finish_write();
  return complaint_;
}

}  // namespace wick::gpu::emu
