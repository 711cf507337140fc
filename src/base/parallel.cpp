#include "base/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/environment.h"
#include "wick/base/error.h"
#if defined(WICK_USE_OPENMP)
#include <omp.h>
#endif

namespace wick {
namespace {

constexpr int kMostThreads = 4096;

/// Cores allowed by the cgroup's CPU quota; 0: no quota.
int cgroup_cores() {
  std::ifstream v2("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (v2 >> quota >> period && quota != "max" && period > 0)
    return std::max(1, int(std::stod(quota) / period + 0.5));
  std::ifstream v1_quota("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"),
      v1_period("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  double micros = 0;
  if (v1_quota >> micros && v1_period >> period && micros > 0 && period > 0)
    return std::max(1, int(micros / period + 0.5));
  return 0;
}

int default_threads() {
  if (const auto set = environment_integer("WICK_THREADS", 1, kMostThreads)) return int(*set);
  cpu_set_t set;
  int cores = sched_getaffinity(0, sizeof set, &set) == 0
                  ? CPU_COUNT(&set)
                  : int(std::thread::hardware_concurrency());
  if (const int paid = cgroup_cores()) cores = std::min(cores, paid);
  return std::max(1, cores);
}

std::atomic<int>& threads() {
  static std::atomic<int> n{default_threads()};
  return n;
}

thread_local bool inside = false;

/// Whether this process was forked from one that had opened parallel regions. It does not have
/// those threads, and OpenMP would wait for them forever.
std::atomic<bool> orphaned{false};

// OpenMP keeps a thread team for each thread that opens a region, so only the main thread may open
// one.
bool may_open_region() {
  if (inside || gettid() != getpid()) return false;
  static const int watched = pthread_atfork(nullptr, nullptr, [] { orphaned = true; });
  (void)watched;
  return !orphaned.load(std::memory_order_relaxed);
}

}  // namespace

int num_threads() { return threads().load(std::memory_order_relaxed); }

void set_num_threads(int n) {
  check(n >= 1 && n <= kMostThreads, ErrorCode::kInvalidArgument, "set_num_threads",
        "threads: expected 1 to ", kMostThreads, ", got ", n);
  threads().store(n, std::memory_order_relaxed);
}

int threads_here() { return may_open_region() ? num_threads() : 1; }

#if defined(WICK_USE_OPENMP)
SequentialLibraries::SequentialLibraries() : before_(omp_get_max_threads()) {
  omp_set_num_threads(1);
}
SequentialLibraries::~SequentialLibraries() { omp_set_num_threads(before_); }
#else
SequentialLibraries::SequentialLibraries() = default;
SequentialLibraries::~SequentialLibraries() = default;
#endif

namespace detail {

void parallel_run(int64_t count, int64_t grain, void (*body)(void*, int64_t, int64_t), void* self) {
  const int64_t parts =
      std::min<int64_t>(num_threads(), (count + grain - 1) / std::max<int64_t>(grain, 1));
  if (parts <= 1 || !may_open_region()) return body(self, 0, count);
  const auto part = [&](int64_t i) {
    inside = true;
    body(self, count * i / parts, count * (i + 1) / parts);
    inside = false;
  };
#if defined(WICK_USE_OPENMP)
#pragma omp parallel for num_threads(int(parts)) schedule(static, 1)
  for (int64_t i = 0; i < parts; i++) part(i);
#else  // under the thread sanitizer, which does not understand OpenMP's barriers
  std::vector<std::thread> others;
  for (int64_t i = 1; i < parts; i++) others.emplace_back(part, i);
  part(0);
  for (std::thread& t : others) t.join();
#endif
}

}  // namespace detail
}  // namespace wick
