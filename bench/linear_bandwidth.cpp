// Products of a few rows with weights too large for a cache: the bytes of weights read in a second,
// beside those that a copy on the same device reads and writes.
//
//   linear-bandwidth [DEVICE] [--rows M] [--megabytes N]   M rows of x (1); N MB of weights in turn (512)
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "wick/wick.h"

using namespace wick;

namespace {

/// Seconds of a call: the median of 9 rounds of `calls` calls.
template <class F>
double seconds_of(const Device& device, int calls, F call) {
  using Clock = std::chrono::steady_clock;
  constexpr int kRounds = 9;
  std::vector<double> seconds;
  for (int round = -1; round < kRounds; round++) {  // the first is not counted
    device.synchronize();
    const auto begin = Clock::now();
    for (int i = 0; i < calls; i++) call(i);
    device.synchronize();
    if (round >= 0)
      seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count() / calls);
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[kRounds / 2];
}

int64_t bytes_of(const Tensor& w) {
  const auto& facts = facts_of(w.dtype());
  return w.numel() / facts.block_elements * facts.block_bytes;
}

/// Weights [n, k]; blocks of arbitrary bits, since their values do not matter here.
Tensor weights(DType dtype, int64_t n, int64_t k, const Device& device) {
  if (!is_block(dtype)) return cast(randn({n, k}, {.device = device}), dtype);
  std::vector<uint8_t> bytes(
      size_t(n * k / facts_of(dtype).block_elements * facts_of(dtype).block_bytes));
  for (size_t i = 0; i < bytes.size(); i++) bytes[i] = uint8_t(i * 2654435761u >> 13) & 0x3f;
  return QTensor::from_data(bytes, dtype, {n, k}, device).tensor();
}

void time_weights(const Device& device, DType x_dtype, DType dtype, int64_t rows, int64_t n,
                  int64_t k, int64_t megabytes, double copy) {
  const Tensor first = weights(dtype, n, k, device);
  std::vector<Tensor> all{first};
  while (int64_t(all.size()) * bytes_of(first) < megabytes * 1000000) all.push_back(clone(first));
  const Tensor x = cast(randn({rows, k}, {.device = device}), x_dtype);
  const int calls = int(std::max<size_t>(all.size(), 16));
  const double seconds =
      seconds_of(device, calls, [&](int i) { linear(x, all[size_t(i) % all.size()]); });
  const double rate = double(bytes_of(first)) / seconds;
  std::printf("%-5s %-7s %3lld x %5lld -> %5lld %9.1f us %8.0f GB/s %5.0f%% of the copy\n",
              dtype_name(x_dtype), dtype_name(dtype), (long long)rows, (long long)k, (long long)n,
              seconds * 1e6, rate * 1e-9, 100 * rate / copy);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) try {
  Device device = Device::best();
  int64_t rows = 1, megabytes = 512;
  for (int i = 1; i < argc; i++) {
    if (!std::strcmp(argv[i], "--rows") && i + 1 < argc)
      rows = std::stoll(argv[++i]);
    else if (!std::strcmp(argv[i], "--megabytes") && i + 1 < argc)
      megabytes = std::stoll(argv[++i]);
    else
      device = Device::parse(argv[i]);
  }
  const Tensor from = randn({megabytes * 1000000 / 4}, {.device = device});
  const double copy =
      2 * double(from.numel()) * 4 / seconds_of(device, 4, [&](int) { clone(from); });
  std::printf("copy of %lld MB: %.0f GB/s read and written\n", (long long)megabytes, copy * 1e-9);
  const DType x = device.is_cpu() ? DType::kF32 : DType::kBf16;
  for (const DType w : {DType::kQ4_K, DType::kQ6_K, DType::kQ8_0, DType::kQ4_0, DType::kQ5_K,
                        DType::kIQ4_XS, DType::kMXFP4, DType::kBf16, DType::kF16})
    for (const auto& [n, k] : {std::pair<int64_t, int64_t>{4096, 14336}, {14336, 4096}})
      time_weights(device, x, w, rows, n, k, megabytes, copy);
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "linear_bandwidth: %s\n", e.what());
  return 2;
}
