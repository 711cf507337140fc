#include "base/parallel.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>
#include <thread>

#include "base/environment.h"
#include "wick/base/error.h"
#if defined(WICK_USE_OPENMP)
#include <omp.h>
#endif

namespace wick {
namespace {

constexpr int kMaxThreads = 4096;

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
  if (const auto set = environment_integer("WICK_THREADS", 1, kMaxThreads)) return int(*set);
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
/// those threads, and would wait for them forever.
std::atomic<bool> orphaned{false};

/// Whether a region is open: there is one team of threads, which serves one region at a time.
std::atomic<bool> is_open{false};

bool may_open_region() {
  if (inside) return false;
  static const int watched = pthread_atfork(nullptr, nullptr, [] { orphaned = true; });
  (void)watched;
  return !orphaned.load(std::memory_order_relaxed) && !is_open.load(std::memory_order_relaxed);
}

/// How long a thread looks for news before it sleeps: longer than the gaps between the regions of a
/// model's step.
constexpr std::chrono::microseconds kSpin(150);

inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// Returns the value of x once it differs from `old`. Spins first, since waking takes longer than a
/// small region, and lets others run at times: one of them may be the thread that it waits for.
/// OpenMP's threads spin for milliseconds, which makes steps 10 times slower on a busy machine.
int next_value(const std::atomic<int>& x, int old) {
  constexpr int kLooksPerTurn = 32;
  const auto end = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int i = 0; i < kLooksPerTurn; i++) {
      if (const int value = x.load(std::memory_order_acquire); value != old) return value;
      pause();
    }
    sched_yield();
  } while (std::chrono::steady_clock::now() < end);
  x.wait(old, std::memory_order_acquire);
  return x.load(std::memory_order_acquire);
}

/// The threads beside those that open regions. They are started when a region first needs them, and wait for
/// the next until the process ends.
class Team {
 public:
  /// Calls part(context, i) for each i in [0, parts), each on another thread if the system has
  /// as many.
  void run(int parts, void (*part)(void* context, int i), void* context) {
    while (size_ < parts - 1 && start_one()) {
    }
    const int helpers = std::min(size_, parts - 1);
    part_ = part;
    context_ = context;
    busy_.store(helpers, std::memory_order_relaxed);
    for (int i = 0; i < helpers; i++) {
      members_[size_t(i)]->regions.fetch_add(1, std::memory_order_release);
      members_[size_t(i)]->regions.notify_one();
    }
    part(context, 0);
    for (int i = helpers + 1; i < parts; i++) part(context, i);
    for (int busy = busy_.load(std::memory_order_acquire); busy != 0;)
      busy = next_value(busy_, busy);
  }

 private:
  struct alignas(64) Member {
    std::atomic<int> regions{0};  // the number of regions that it was called to
  };

  /// Returns false if the system starts no more threads.
  bool start_one() {
    auto member = std::make_unique<Member>();
    try {
      std::thread([this, own = member.get(), i = size_ + 1] { serve(*own, i); }).detach();
    } catch (const std::system_error&) {
      return false;
    }
    members_[size_t(size_++)] = std::move(member);
    return true;
  }

  void serve(Member& own, int i) {
    const SequentialLibraries sequential;
    for (int seen = 0;;) {
      seen = next_value(own.regions, seen);
      part_(context_, i);
      if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) busy_.notify_one();
    }
  }

  std::array<std::unique_ptr<Member>, kMaxThreads> members_;
  int size_ = 0;
  // Written before a member's `regions`, read after it.
  void (*part_)(void* context, int i) = nullptr;
  void* context_ = nullptr;
  alignas(64) std::atomic<int> busy_{0};  // members that have not finished the region
};

Team& team() {
  static Team* const only = new Team;  // never destroyed: its threads outlive the statics
  return *only;
}

}  // namespace

int num_threads() { return threads().load(std::memory_order_relaxed); }

void set_num_threads(int n) {
  check(n >= 1 && n <= kMaxThreads, ErrorCode::kInvalidArgument, "set_num_threads",
        "threads: expected 1 to ", kMaxThreads, ", got ", n);
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
  if (parts <= 1 || !may_open_region() || is_open.exchange(true, std::memory_order_acquire))
    return body(self, 0, count);
  const auto part = [&](int i) {
    inside = true;
    body(self, count * i / parts, count * (i + 1) / parts);
    inside = false;
  };
  team().run(
      int(parts), [](void* context, int i) { (*static_cast<decltype(part)*>(context))(i); },
      const_cast<void*>(static_cast<const void*>(&part)));
  is_open.store(false, std::memory_order_release);
}

}  // namespace detail
}  // namespace wick
