#include "seeds.h"

#include <mutex>
#include <random>
#include <set>
#include <string>

#include "wick/ops/random.h"

namespace wick::python {
namespace {

std::mutex mutex;
std::set<std::string> seeded;  // names of the devices that the program has seeded

bool is_seeded(const Device& device) {
  const std::lock_guard lock(mutex);
  return seeded.contains(to_string(device));
}

}  // namespace

void seed_device(const Device& device, uint64_t seed) {
  device.set_seed(seed);
  const std::lock_guard lock(mutex);
  seeded.insert(to_string(device));
}

uint64_t new_session_seed(const Device& device) {
  // 32 bits: short enough to be typed.
  if (!is_seeded(device)) return std::random_device{}();
  return uint64_t(randint(0, int64_t(1) << 32, {1}, {.device = device}).item<int64_t>());
}

}  // namespace wick::python
