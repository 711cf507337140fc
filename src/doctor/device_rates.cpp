#include "wick/doctor/device_rates.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "wick/core/tensor.h"
#include "wick/core/var.h"
#include "wick/ops/autograd.h"
#include "wick/ops/create.h"
#include "wick/ops/matmul.h"
#include "wick/ops/random.h"
#include "wick/ops/reduce.h"

namespace wick {
namespace {

/// Measures calls on a device.
struct Stopwatch {
  const Device& device;
  const BetweenRuns& between;

  /// Seconds of one call: the least of some batches, each long enough for the clock.
  template <class F>
  double seconds_of(const F& f) const {
    using Clock = std::chrono::steady_clock;
    constexpr int kBatches = 3;
    constexpr double kBatchSeconds = 0.02;
    int64_t calls = 1;
    double least = INFINITY;
    for (int batch = 0; batch <= kBatches; batch++) {
      device.synchronize();
      const Clock::time_point start = Clock::now();
      for (int64_t i = 0; i < calls; i++) f();
      device.synchronize();
      const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
      if (batch == 0)  // compiles and allocates
        calls = std::clamp<int64_t>(int64_t(kBatchSeconds / std::max(seconds, 1e-6)), 1, 1000);
      else
        least = std::min(least, seconds / double(calls));
      if (between) between();
    }
    return least;
  }
};

/// The best rate of sizes from `first`, doubled up to `last` or until a call takes 20 ms.
template <class Seconds, class Work>
double best_rate(int64_t first, int64_t last, const Seconds& seconds, const Work& work) {
  double best = 0;
  for (int64_t size = first; size <= last; size *= 2) {
    const double taken = seconds(size);
    best = std::max(best, work(size) / taken);
    if (taken > 0.02) break;
  }
  return best;
}

constexpr int64_t kMinBytes = int64_t{1} << 29, kMaxBytes = int64_t{1} << 31;
constexpr int64_t kEmulatedBytes = int64_t{1} << 24;  // no memory of its own, and slow

/// Bytes of all tensors of a measurement.
int64_t bytes_at_most(const Device& device) {
  if (device.is_emulated()) return kEmulatedBytes;
  const Device::Memory memory = device.memory();
  const double room = std::min(0.2 * double(memory.total_bytes), 0.5 * double(memory.free_bytes));
  return room > 0 ? std::min(int64_t(room), kMaxBytes) : kMinBytes;
}

/// seconds(bytes) of work on so many bytes.
template <class Seconds>
double bytes_rate(const Device& device, const Seconds& seconds) {
  const int64_t last = bytes_at_most(device);
  return best_rate(std::min(kMinBytes, last), last, seconds,
                   [](int64_t bytes) { return double(bytes); });
}

}  // namespace

double read_rate(const Device& device, const BetweenRuns& between) {
  const NoGrad no_grad;
  const Stopwatch watch{device, between};
  return bytes_rate(device, [&](int64_t bytes) {
    const Tensor x = ones({bytes / 4}, {.dtype = DType::kF32, .device = device});
    return watch.seconds_of([&] { sum(x); });
  });
}

double copy_rate(const Device& device, const BetweenRuns& between) {
  const NoGrad no_grad;
  const Stopwatch watch{device, between};
  return bytes_rate(device, [&](int64_t bytes) {
    const TensorOptions options{.dtype = DType::kF32, .device = device};
    const Tensor x = ones({bytes / 8}, options);
    Var y(ones({bytes / 8}, options), false);
    return watch.seconds_of([&] { copy_(y, x); });
  });
}

double product_rate(const Device& device, DType dtype, const BetweenRuns& between) {
  const NoGrad no_grad;
  const Stopwatch watch{device, between};
  const int64_t room = bytes_at_most(device);
  int64_t side = 8192;  // of the largest matrices
  while (side > 256 && 3 * bytes_of(dtype, side * side) > room) side /= 2;
  return best_rate(
      256, side,
      [&](int64_t n) {
        const TensorOptions options{.dtype = dtype, .device = device};
        const Tensor a = randn({n, n}, options), b = randn({n, n}, options);
        return watch.seconds_of([&] { matmul(a, b); });
      },
      [](int64_t n) { return 2 * std::pow(double(n), 3); });
}

}  // namespace wick
