#include "core/peer_copies.h"

#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/log.h"
#include "core/device_state.h"
#include "core/graph.h"
#include "core/work_gate.h"
#include "wick/core/backend.h"

namespace wick {
namespace {

// Small and large copies may take different ways; neither size is whole pages.
constexpr int64_t kSizes[] = {260, (int64_t{4} << 20) + 4};

/// A test's memory on a device, beside the allocator.
class Memory {
 public:
  Memory(const DeviceState& state, int64_t bytes) : state_(state) {
    status = state.backend.alloc(state.device(), bytes, &data);
  }
  ~Memory() {
    if (data) state_.backend.free(state_.device(), data);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  void* data = nullptr;
  Status status;

 private:
  const DeviceState& state_;
};

std::vector<uint32_t> pattern(int64_t bytes) {
  std::vector<uint32_t> words(size_t(bytes) / sizeof(uint32_t));
  uint32_t word = 1;
  for (uint32_t& w : words) w = word = word * 1664525 + 1013904223;  // a congruential generator
  return words;
}

/// The first failure of a copy of so many bytes, "" if they arrive.
std::string test(const DeviceState& from, const DeviceState& to, int64_t bytes) {
  const Backend& backend = from.backend;
  const std::vector<uint32_t> sent = pattern(bytes);
  std::vector<uint32_t> received(sent.size());
  const Memory source(from, bytes), target(to, bytes);
  std::string failure;
  const auto require = [&](const Status& status) {
    if (!status.ok() && failure.empty()) failure = status.text ? status.text : "no reason given";
    return failure.empty();
  };
  ErrorRecord record{};
  const auto wait = [&](const DeviceState& state) {
    return require(backend.stream_synchronize(state.device(), nullptr, &record));
  };
  if (!require(source.status) || !require(target.status)) return failure;
  require(backend.copy(from.device(), source.data, sent.data(), bytes, CopyKind::kHostToDevice,
                       nullptr)) &&
      wait(from) && require(backend.fill(to.device(), target.data, 0xff, bytes, nullptr)) &&
      require(backend.copy_peer(to.device(), target.data, from.device(), source.data, bytes,
                                nullptr)) &&
      wait(to) &&
      require(backend.copy(to.device(), received.data(), target.data, bytes,
                           CopyKind::kDeviceToHost, nullptr)) &&
      wait(to);
  if (!failure.empty()) return failure;
  return received == sent ? "" : "a test copy of " + std::to_string(bytes) + " bytes arrived wrong";
}

struct Pairs {
  std::mutex mutex;
  std::map<std::pair<const DeviceState*, const DeviceState*>, std::unique_ptr<std::string>> all;
};

}  // namespace

const std::string& peer_copy_failure(const DeviceState& from, const DeviceState& to) {
  static Pairs& pairs = *new Pairs;  // never destroyed: tensors may be copied at the exit
  const QueueScope of_from(from), of_to(to);
  const std::lock_guard lock(pairs.mutex);
  std::unique_ptr<std::string>& failure = pairs.all[{&from, &to}];
  if (failure) return *failure;
  failure = std::make_unique<std::string>();
  for (const int64_t bytes : kSizes)
    if (failure->empty()) *failure = test(from, to, bytes);
  if (!failure->empty())
    note("copies from ", to_string(from.location), " to ", to_string(to.location),
         " go through host memory: ", *failure);
  return *failure;
}

bool copies_directly(const Device& from, const Device& to) {
  const DeviceState &a = from.state(), &b = to.state();
  if (&a.backend != &b.backend || !b.backend.copy_peer) return false;
  // A graph cannot record the test. Its function has run before, so the pair has been tested.
  return &a == &b || is_capturing(from) || is_capturing(to) || peer_copy_failure(a, b).empty();
}

std::optional<std::string> copy_failure(const Device& from, const Device& to) {
  const DeviceState &a = from.state(), &b = to.state();
  if (&a == &b || &a.backend != &b.backend || !a.backend.copy_peer) return std::nullopt;
  return peer_copy_failure(a, b);
}

}  // namespace wick
