// Shared by oneDNN's products and convolutions: the engine, and a cache of primitives by shape.
#pragma once
#include <array>
#include <dnnl.hpp>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "dispatch/workers.h"
#include "libs/blocked_signals.h"
#include "wick/abi/call.h"
#include "wick/base/hash.h"

namespace wick::cpu::onednn {

/// The CPU engine, limited to the instruction set of WICK_CPU.
const dnnl::engine& engine();
/// User-provided scratchpads, so that several threads can run one primitive; and strict f32 math,
/// whatever the environment sets.
dnnl::primitive_attr attributes();

/// The status of a call that oneDNN failed.
inline StatusCode code_of(const dnnl::error& e) {
  return e.status == dnnl_out_of_memory ? StatusCode::kOutOfMemory : StatusCode::kDeviceError;
}

/// All parameters of a primitive.
struct Key {
  std::array<int64, 3 + 3 * 2 * kMaxRank> numbers{};
  bool operator==(const Key&) const = default;
};
struct KeyHash {
  size_t operator()(const Key& key) const {
    Fnv1a hash;
    for (const int64 n : key.numbers) hash.mix(uint64(n));
    return hash.value() ^ hash.value() >> 29;  // a step moves bits upwards alone
  }
};

/// Calls f(part, buffer) for every part on the workers, with signals blocked. If parts throw
/// dnnl::error, rethrows the first one after all are done: an exception must not leave a worker thread.
template <class F>
void run_parts(const Workers& workers, int64 parts, char* buffers, F&& f) {
  std::mutex mutex;
  std::optional<dnnl::error> failed;
  workers.run(parts, buffers, [&](int64 i, char* buffer) {
    try {
      const BlockedSignals
          blocked;  // for one part, some 0.1 ms or more: signals arrive between parts
      f(i, buffer);
    } catch (const dnnl::error& e) {
      const std::lock_guard lock(mutex);
      if (!failed) failed = e;
    }
  });
  if (failed) throw *failed;
}

/// The most recently used primitives.
template <class Kept>
class Cache {
 public:
  /// The cached primitive of the key, else the result of make().
  template <class Make>
  std::shared_ptr<const Kept> get(const Key& key, Make&& make) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = places_.find(key); found != places_.end()) {
        order_.splice(order_.begin(), order_, found->second);
        return found->second->second;
      }
    }
    std::shared_ptr<const Kept> fresh = make();  // outside the lock: takes 0.2 ms
    const std::lock_guard lock(mutex_);
    if (const auto found = places_.find(key); found != places_.end()) return found->second->second;
    order_.emplace_front(key, fresh);
    places_[key] = order_.begin();
    if (order_.size() > kKept) {
      places_.erase(order_.back().first);
      order_.pop_back();
    }
    return fresh;
  }

 private:
  static constexpr size_t kKept = 512;  // primitives, each about 100 KiB of code
  using Entry = std::pair<Key, std::shared_ptr<const Kept>>;
  std::mutex mutex_;
  std::list<Entry> order_;  // most recently used first
  std::unordered_map<Key, typename std::list<Entry>::iterator, KeyHash> places_;
};

}  // namespace wick::cpu::onednn
