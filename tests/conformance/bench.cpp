#include "bench.h"
#include "wick/core/backend.h"

#include <algorithm>
#include <chrono>

namespace wick::conformance {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kBatches = 7;
constexpr double kBatchSeconds = 0.02;

double seconds_of(const Device& device, const std::function<void()>& call, int64_t times) {
  device.synchronize();
  const auto begin = Clock::now();
  for (int64_t i = 0; i < times; i++) call();
  device.synchronize();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// The median over batches of a call's time, after one that is not counted.
double median_seconds(const Device& device, const std::function<void()>& call) {
  seconds_of(device, call, 1);
  const double once = seconds_of(device, call, 1);
  const int64_t times =
      std::clamp<int64_t>(int64_t(kBatchSeconds / std::max(once, 1e-9)), 1, 100000);
  std::vector<double> batches;
  for (int i = 0; i < kBatches; i++)
    batches.push_back(seconds_of(device, call, times) / double(times));
  std::nth_element(batches.begin(), batches.begin() + kBatches / 2, batches.end());
  return batches[kBatches / 2];
}

const Geometry& bench_geometry(const Row& row) {
  if (row.bench) return *row.bench;
  return *std::max_element(
      row.geometries.begin(), row.geometries.end(),
      [](const Geometry& a, const Geometry& b) { return elements_of(a) < elements_of(b); });
}

Case plain_case(const Row& row, const std::vector<DType>& dtypes, const Geometry& geometry) {
  Case c{dtypes, geometry, {}, Values::kRandom, CompositeMode::kAuto};
  c.places.assign(row.geometries.front().operands.size(), OperandLayout::kWhole);
  return c;
}

std::string names(const std::vector<DType>& dtypes) {
  std::string result;
  for (const DType d : dtypes) result += std::string(result.empty() ? "" : "+") + dtype_name(d);
  return result;
}

std::vector<Tensor> views_of(const Row& row, const Case& c, const Device& device, uint64_t seed) {
  std::vector<Tensor> views;
  for (const Placement& p : operands_of(row, c, seed))
    views.push_back(p.view(upload_buffer(p, device)));
  return views;
}

/// "K avx2", "K avx2 + ..." where several serve, "L oneDNN", "C", "-".
std::string support_of(const Row& row, const std::vector<DType>& dtypes, const Device& device,
                       const Options& options) {
  std::string own;
  bool all = row.kernels != nullptr;
  if (row.kernels) {
    for (const KernelQuestion& q : row.kernels(dtypes)) {
      const std::vector<KernelSummary> served = kernels_of(device, q.op, q.dtype, q.any);
      if (served.empty())
        all = false;
      else
        own += std::string(own.empty() ? "" : " + ") + (served[0].library ? "L " : "K ") +
               served[0].name;
    }
  }
  if (all) return own;
  const Geometry& smallest = *std::min_element(
      row.geometries.begin(), row.geometries.end(),
      [](const Geometry& a, const Geometry& b) { return elements_of(a) < elements_of(b); });
  try {
    const Case c = plain_case(row, dtypes, smallest);
    row.run(views_of(row, c, device, options.seed), c);
    device.synchronize();
    return "C";
  } catch (const Error&) {
    return "-";
  }
}

}  // namespace

void bench(const Row& row, const Device& device, const Options& options) {
  for (const std::vector<DType>& dtypes : row.dtypes) {
    if (!selects(options, dtypes)) continue;
    const Geometry& geometry = bench_geometry(row);
    if (options.max_elements > 0 && elements_of(geometry) > options.max_elements) continue;
    const Case c = plain_case(row, dtypes, geometry);
    const std::vector<Tensor> views = views_of(row, c, device, options.seed);
    const Tensor y = row.run(views, c);
    int64_t bytes = bytes_of(y.dtype(), y.numel());
    for (const Tensor& x : views) bytes += bytes_of(x.dtype(), x.numel());
    const double seconds = median_seconds(device, [&] { row.run(views, c); });
    std::printf("%-16s %-16s %-24s %-8s %12.0f ns %10.2f GB/s\n", row.op.c_str(),
                names(dtypes).c_str(), to_string(geometry).c_str(), to_string(device).c_str(),
                seconds * 1e9, double(bytes) / seconds * 1e-9);
    std::fflush(stdout);
  }
}

void print_support(const std::vector<Row>& rows, const std::vector<Device>& devices,
                   const Options& options) {
  std::printf("%-16s %-16s", "op", "dtypes");
  for (const Device& device : devices) std::printf(" %-28s", to_string(device).c_str());
  std::printf(
      "\nK: a kernel, and whose; L: a library; C: a composite of other ops; -: not there\n");
  for (const Row& row : rows) {
    for (const std::vector<DType>& dtypes : row.dtypes) {
      if (!selects(options, dtypes)) continue;
      std::printf("%-16s %-16s", row.op.c_str(), names(dtypes).c_str());
      for (const Device& device : devices)
        std::printf(" %-28s", support_of(row, dtypes, device, options).c_str());
      std::printf("\n");
    }
  }
}

}  // namespace wick::conformance
