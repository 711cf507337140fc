#include "device/emulator.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "scalar/round_up.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WICK_ADDRESS_SANITIZER
#endif
#if __has_feature(thread_sanitizer)
#define WICK_THREAD_SANITIZER
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define WICK_ADDRESS_SANITIZER
#endif
#if defined(__SANITIZE_THREAD__)
#define WICK_THREAD_SANITIZER
#endif

#if defined(WICK_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(WICK_THREAD_SANITIZER)
#include <sanitizer/tsan_interface.h>
#endif

#if !defined(__x86_64__) && !defined(WICK_UCONTEXT)
#define WICK_UCONTEXT
#endif
#if defined(WICK_UCONTEXT)
#include <ucontext.h>
#else
extern "C" {
/// Keeps this stack's registers below its top and the top in *from; goes on with the stack whose
/// top is *to.
void wick_emulator_swap(void** from, void* const* to);
/// Where a new stack begins: calls r13(r12), which does not return.
extern char wick_emulator_start[];
}
// The registers that a function must keep (System V ABI); the caller of swap takes care of the
// others.
asm(R"(.text
.local wick_emulator_swap
.local wick_emulator_start
wick_emulator_swap:
  push %rbp
  push %rbx
  push %r12
  push %r13
  push %r14
  push %r15
  mov %rsp, (%rdi)
  mov (%rsi), %rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbx
  pop %rbp
  ret
wick_emulator_start:
  mov %r12, %rdi
  call *%r13
)");
#endif

namespace wick::gpu::emu {
namespace {

constexpr size_t kPage = 4096;
#if defined(WICK_ADDRESS_SANITIZER) || defined(WICK_THREAD_SANITIZER)
constexpr size_t kStackBytes = 256 << 10;  // instrumented frames are large
#else
constexpr size_t kStackBytes = 64 << 10;
#endif
// Each stack is two mappings, and Linux gives a process 65,530: 16 blocks of 1,024 threads fit.
constexpr int kMaxWorkers = 16;

std::atomic<int64> total_switches{0};

/// Nothing can be unwound where a stack is missing.
[[noreturn]] void out_of_mappings() {
  perror("wick emulator: no memory for the stack of a GPU thread");
  abort();
}

/// Memory with an inaccessible page on both sides. Lives as long as the process: owners are pooled.
char* map_guarded(size_t bytes) {
  void* const all = mmap(nullptr, bytes + 2 * kPage, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) out_of_mappings();
  char* const inner = static_cast<char*>(all) + kPage;
  if (mprotect(inner, bytes, PROT_READ | PROT_WRITE) != 0) out_of_mappings();
  return inner;
}

// Notifies the sanitizers of stack switches.
#if defined(WICK_ADDRESS_SANITIZER)
/// A stack that was left for good still carries its last owner's poison.
void forget_poison(const void* stack) { __asan_unpoison_memory_region(stack, kStackBytes); }
void departing(void** mine, const void* to, size_t bytes) {
  __sanitizer_start_switch_fiber(mine, to, bytes);
}
void arrived(void* mine, const void** from, size_t* bytes) {
  __sanitizer_finish_switch_fiber(mine, from, bytes);
}
#else
void forget_poison(const void*) {}
void departing(void**, const void*, size_t) {}
void arrived(void*, const void**, size_t*) {}
#endif
#if defined(WICK_THREAD_SANITIZER)
void* current_shadow() { return __tsan_get_current_fiber(); }
/// What a fiber left for good had called stays in its shadow, which has room for 64 K calls; making
/// one takes 0.1 ms.
void renew_shadow(void*& shadow, int starts) {
  if (starts % 256 != 0) return;
  if (shadow) __tsan_destroy_fiber(shadow);
  shadow = __tsan_create_fiber(0);
}
/// Flags 0: what a fiber did happens before what the next does, so that only blocks can race.
void switch_shadow(void* to) { __tsan_switch_to_fiber(to, 0); }
#else
void* current_shadow() { return nullptr; }
void renew_shadow(void*&, int) {}
void switch_shadow(void*) {}
#endif

/// A fiber that stands still.
#if defined(WICK_UCONTEXT)
using Suspended = ucontext_t;
void swap_to(Suspended* from, const Suspended* to) { swapcontext(from, to); }
#else
using Suspended = void*;  // its stack's top, where its registers are
void swap_to(Suspended* from, const Suspended* to) { wick_emulator_swap(from, to); }
#endif

struct Stack {
  char* bottom;
  void* shadow = nullptr;  // the thread sanitizer's
  int starts = 0;
};

bool same(SourceLine a, SourceLine b) {
  return a.line == b.line && (a.file == b.file || (a.file && b.file && !strcmp(a.file, b.file)));
}

std::string text_of(SourceLine at) {
  const char* const slash = strrchr(at.file, '/');
  return std::string(slash ? slash + 1 : at.file) + ":" + std::to_string(at.line);
}
std::string text_of(int thread) { return "thread " + std::to_string(thread); }

/// Shared memory of a block, its end at a page's end. The zones before and after hold the poison;
/// beyond them nothing is accessible.
class SharedMemory {
 public:
  SharedMemory() : end_(map_guarded(kZone + kMaxSharedBytes + kZone) + kZone + kMaxSharedBytes) {}

  void begin_launch(int64 bytes, uint8 poison) {
    bytes_ = bytes, poison_ = poison;
    memset(begin() - kZone, poison, kZone);
    memset(end_, poison, kZone);
  }
  void* begin_block() {
    memset(begin(), poison_, size_t(bytes_));
    return begin();
  }
  /// "" or which byte outside was written.
  std::string overrun() const {
    const char* const front = begin() - kZone;
    if (is_poison(front) && is_poison(end_)) return {};
    for (size_t i = 0; i < kZone; i++)
      if (uint8(end_[i]) != poison_)
        return "writes byte " + std::to_string(i) + " past the end of its shared memory of " +
               std::to_string(bytes_) + " bytes";
    size_t i = kZone - 1;
    while (uint8(front[i]) == poison_) i--;
    return "writes byte " + std::to_string(kZone - i) + " before its shared memory";
  }

 private:
  static constexpr size_t kZone = kPage;
  char* begin() const { return end_ - bytes_; }
  bool is_poison(const char* zone) const {
    return uint8(zone[0]) == poison_ && memcmp(zone, zone + 1, kZone - 1) == 0;
  }
  char* const end_;
  int64 bytes_ = 0;
  uint8 poison_ = 0;
};

/// Runs one block after another in the calling thread.
class Scheduler final : public Block {
 public:
  void begin_launch(const BoundKernel&, const RunConditions&);
  /// Returns the first complaint, or "".
  std::string run_block(int64 index);

  void barrier(int thread, SourceLine at);
  void meet(int thread, void* mine, void (*together)(void** lanes), SourceLine at);
  void meet_some(int thread, uint64 which, void* mine,
                 void (*together)(void** lanes, unsigned long long which), SourceLine at);
  uint64 lanes_of(int thread) const { return all_lanes(thread >> wave_shift_); }
  [[noreturn]] void refuse(int thread, const char* what, SourceLine at);

 private:
  enum class Stage : char { kNew, kStarted, kReturned };
  enum class Operation : char { kNone, kBarrier, kWave };
  struct Thread {
    Stage stage;
    Operation waits;  // for the others of its block or wave
    SourceLine at;
    int stack;  // index in stacks_
    Suspended suspended;
  };
  struct Wave {
    uint64 ready;  // lanes that may go on
    int arrived;   // lanes at the wave operation
    SourceLine at;
    void (*together)(void** lanes);
    void* lanes[64];
    // Of meet_some: the lanes that wait, and what each waits with and for.
    uint64 apart;
    uint64 group[64];
    void (*group_together[64])(void** lanes, unsigned long long which);
  };

  [[noreturn]] static void fiber_main(Scheduler*);
  /// The lanes that a wave has.
  uint64 all_lanes(int wave) const {
    const int left = kernel_->threads - (wave << wave_shift_);
    return ~uint64(0) >> (64 - std::min(left, kernel_->wave));
  }
  void release_block() {
    for (size_t i = 0; i < waves_.size(); i++) waves_[i].ready = all_lanes(int(i));
  }
  uint64 bit_of(int thread) const { return uint64(1) << (thread & (kernel_->wave - 1)); }
  Wave& wave_of(int thread) { return waves_[size_t(thread >> wave_shift_)]; }
  uint32 draw() { return random_ = random_ * 1664525 + 1013904223, random_ >> 8; }

  int pick_wave();
  int pick();  // the thread to go on; -1: none can
  std::string stuck() const;
  void wait(int thread, Operation, SourceLine);
  void yield(int thread);
  void start(int thread);
  void resume(Suspended* from, int thread, bool for_good = false);
  [[noreturn]] void leave();  // to run_block, for good

  const BoundKernel* kernel_ = nullptr;
  int wave_shift_ = 0;  // log2 of the wave: a division a thread would show
  RunConditions way_;
  int block_[3] = {};
  SharedMemory shared_memory_;
  void* shared_ = nullptr;
  std::vector<Thread> threads_;
  std::vector<Wave> waves_;
  std::vector<Stack> stacks_;  // kept from launch to launch
  std::vector<int> free_stacks_;
  uint32 random_ = 0;
  int favourite_ = 0;   // the wave that kShuffled lets run ahead
  int64 switches_ = 0;  // in this block
  int current_ = 0, returned_ = 0, at_barrier_ = 0;
  SourceLine barrier_{};
  std::string complaint_;
  Suspended caller_{};
  // The registers of what is left for good. Not on its stack, whose locals may be gone: the address sanitizer
  // keeps them elsewhere and frees them when it is told.
  Suspended left_{};
  void* caller_shadow_ = nullptr;
  const void* caller_stack_ = nullptr;  // for the address sanitizer
  size_t caller_stack_bytes_ = 0;
};

#if defined(WICK_UCONTEXT)
void prepare(Suspended& fiber, char* stack, void (*main)(Scheduler*), Scheduler* self) {
  // makecontext passes ints only; the fiber starts before this thread prepares another.
  static thread_local void (*next_main)(Scheduler*);
  static thread_local Scheduler* next_self;
  next_main = main, next_self = self;
  getcontext(&fiber);
  fiber.uc_stack.ss_sp = stack, fiber.uc_stack.ss_size = kStackBytes;
  makecontext(
      &fiber, [] { next_main(next_self); }, 0);
}
#else
void prepare(Suspended& fiber, char* stack, void (*main)(Scheduler*), Scheduler* self) {
  // As swap pops them: r15 r14 r13 r12 rbx rbp and the return address. Nine words from the top, so
  // that the stack is aligned to 16 where start calls main.
  void* const words[] = {
      nullptr, nullptr, reinterpret_cast<void*>(main), self, nullptr, nullptr, wick_emulator_start};
  fiber = stack + kStackBytes - 9 * sizeof(void*);
  memcpy(fiber, words, sizeof words);
}
#endif

void Scheduler::start(int t) {
  Thread& thread = threads_[size_t(t)];
  thread.stage = Stage::kStarted;
  if (free_stacks_.empty()) {
    free_stacks_.push_back(int(stacks_.size()));
    stacks_.push_back({map_guarded(kStackBytes)});
  }
  thread.stack = free_stacks_.back(), free_stacks_.pop_back();
  Stack& stack = stacks_[size_t(thread.stack)];
  forget_poison(stack.bottom);
  renew_shadow(stack.shadow, stack.starts++);
  prepare(thread.suspended, stack.bottom, fiber_main, this);
}

void Scheduler::resume(Suspended* from, int t, bool for_good) {
  switches_++;
  current_ = t;
  Thread& thread = threads_[size_t(t)];
  if (thread.stage == Stage::kNew) start(t);
  const Stack& stack = stacks_[size_t(thread.stack)];
  void* mine = nullptr;
  departing(for_good ? nullptr : &mine, stack.bottom, kStackBytes);
  switch_shadow(stack.shadow);
  swap_to(from, &thread.suspended);
  arrived(mine, nullptr, nullptr);
}

void Scheduler::leave() {
  departing(nullptr, caller_stack_, caller_stack_bytes_);
  switch_shadow(caller_shadow_);
  swap_to(&left_, &caller_);
  abort();
}

void Scheduler::begin_launch(const BoundKernel& kernel, const RunConditions& way) {
  kernel_ = &kernel, way_ = way;
  wave_shift_ = __builtin_ctz(unsigned(kernel.wave));
  shared_memory_.begin_launch(kernel.shared_bytes, way.poison);
  waves_.resize(size_t(ceil_div(kernel.threads, kernel.wave)));
}

std::string Scheduler::run_block(int64 index) {
  const int64 x = kernel_->grid[0], y = kernel_->grid[1];
  block_[0] = int(index % x), block_[1] = int(index / x % y), block_[2] = int(index / x / y);
  shared_ = shared_memory_.begin_block();
  random_ = (way_.seed + uint32(index)) * 2654435761u;
  returned_ = at_barrier_ = favourite_ = 0;
  switches_ = 0;
  complaint_.clear();
  free_stacks_.resize(stacks_.size());
  std::iota(free_stacks_.rbegin(), free_stacks_.rend(), 0);
  threads_.assign(size_t(kernel_->threads), Thread{});
  for (Wave& wave : waves_) wave.arrived = 0, wave.apart = 0;
  release_block();

  caller_stack_ = nullptr, caller_shadow_ = current_shadow();
  resume(&caller_, pick());
  total_switches.fetch_add(switches_, std::memory_order_relaxed);
  if (complaint_.empty()) complaint_ = shared_memory_.overrun();
  return complaint_;
}

// Threads that meet nobody run here one after the other on one stack, as a plain loop.
void Scheduler::fiber_main(Scheduler* self) {
  const void* from = nullptr;
  size_t bytes = 0;
  arrived(nullptr, &from, &bytes);
  // The block's first fiber comes from run_block.
  if (!self->caller_stack_) self->caller_stack_ = from, self->caller_stack_bytes_ = bytes;
  for (;;) {
    const int t = self->current_;
    self->kernel_->thread(*self->kernel_, self, self->shared_, t, self->block_);
    Thread& thread = self->threads_[size_t(t)];
    thread.stage = Stage::kReturned, self->returned_++;
    self->wave_of(t).ready &= ~self->bit_of(t);
    const int next = self->pick();
    if (next < 0) self->leave();
    Thread& successor = self->threads_[size_t(next)];
    if (successor.stage == Stage::kNew) {
      successor.stage = Stage::kStarted, successor.stack = thread.stack, self->current_ = next;
    } else {
      self->free_stacks_.push_back(thread.stack);
      self->resume(&self->left_, next, true);
    }
  }
}

int Scheduler::pick_wave() {
  const int n = int(waves_.size());
  const auto ready = [&](int wave) { return waves_[size_t(wave)].ready != 0; };
  switch (way_.schedule) {
    case Schedule::kForward:
      for (int wave = 0; wave < n; wave++)
        if (ready(wave)) return wave;
      return -1;
    case Schedule::kReverse:
      for (int wave = n; wave-- > 0;)
        if (ready(wave)) return wave;
      return -1;
    case Schedule::kShuffled:
      if (!ready(favourite_) || draw() % 64 == 0) favourite_ = int(draw() % uint32(n));
      for (int i = 0; i < n; i++)
        if (const int wave = (favourite_ + i) % n; ready(wave)) return wave;
  }
  return -1;
}

int Scheduler::pick() {
  const int wave = pick_wave();
  if (wave < 0) {
    if (returned_ < kernel_->threads) complaint_ = stuck();
    return -1;
  }
  const uint64 ready = waves_[size_t(wave)].ready;
  const int first = wave * kernel_->wave;
  if (way_.schedule == Schedule::kForward) return first + __builtin_ctzll(ready);
  if (way_.schedule == Schedule::kReverse) return first + 63 - __builtin_clzll(ready);
  const int skip = int(draw() % uint32(kernel_->wave));
  const uint64 later = ready >> skip << skip;
  return first + __builtin_ctzll(later ? later : ready);
}

/// Nobody can go on: who waits where, and who is elsewhere.
std::string Scheduler::stuck() const {
  const auto place = [](const Thread& thread) {
    return text_of(thread.at) +
           (thread.waits == Operation::kBarrier ? " (barrier)" : " (wave operation)");
  };
  size_t waiting = 0;
  while (threads_[waiting].waits == Operation::kNone) waiting++;
  const Thread& thread = threads_[waiting];
  size_t other = 0;
  while (threads_[other].waits == thread.waits && same(threads_[other].at, thread.at)) other++;
  return "divergent: " + text_of(int(waiting)) + " waits at " + place(thread) + ", " +
         text_of(int(other)) +
         (threads_[other].stage == Stage::kReturned ? " has returned"
                                                    : " at " + place(threads_[other]));
}

// What a fiber complains of is complete before it leaves: nothing on its stack is destroyed then.

void Scheduler::refuse(int thread, const char* what, SourceLine at) {
  complaint_ = text_of(thread) + ": " + what + " at " + text_of(at);
  leave();
}

void Scheduler::yield(int thread) {
  const int next = pick();
  if (next < 0) leave();
  if (next != thread) resume(&threads_[size_t(thread)].suspended, next);
}

void Scheduler::wait(int t, Operation operation, SourceLine at) {
  threads_[size_t(t)].waits = operation, threads_[size_t(t)].at = at;
  wave_of(t).ready &= ~bit_of(t);
}

void Scheduler::barrier(int t, SourceLine at) {
  if (at_barrier_ > 0 && !same(at, barrier_)) {
    complaint_ = "divergent: " + text_of(t) + " comes to the barrier " + text_of(at) +
                 ", others wait at " + text_of(barrier_);
    leave();
  }
  barrier_ = at;
  wait(t, Operation::kBarrier, at);
  if (++at_barrier_ == kernel_->threads) {
    at_barrier_ = 0;
    favourite_ = int(draw() % uint32(waves_.size()));
    for (Thread& thread : threads_) thread.waits = Operation::kNone;
    release_block();
  }
  yield(t);
}

void Scheduler::meet(int t, void* mine, void (*together)(void**), SourceLine at) {
  Wave& wave = wave_of(t);
  if (wave.arrived > 0 && !(same(at, wave.at) && together == wave.together)) {
    complaint_ = "divergent: " + text_of(t) + " comes to the wave operation " + text_of(at) +
                 ", its wave waits at " + text_of(wave.at);
    leave();
  }
  const int lane = t & (kernel_->wave - 1);
  wave.at = at, wave.together = together, wave.lanes[lane] = mine;
  wait(t, Operation::kWave, at);
  if (++wave.arrived == kernel_->wave) {
    together(wave.lanes);
    wave.arrived = 0, wave.ready = lanes_of(t);
    for (int l = 0; l < kernel_->wave; l++) threads_[size_t(t - lane + l)].waits = Operation::kNone;
  }
  yield(t);
}

void Scheduler::meet_some(int t, uint64 which, void* mine,
                          void (*together)(void**, unsigned long long), SourceLine at) {
  Wave& wave = wave_of(t);
  const int lane = t & (kernel_->wave - 1), first = t - lane;
  which &= lanes_of(t);
  if ((which & bit_of(t)) == 0) refuse(t, "is not in the mask of its own wave operation", at);
  for (uint64 rest = wave.apart & which; rest; rest &= rest - 1) {
    const int l = __builtin_ctzll(rest);
    const Thread& other = threads_[size_t(first + l)];
    if (wave.group[l] == which && wave.group_together[l] == together && same(other.at, at))
      continue;
    complaint_ = "divergent: " + text_of(t) + " comes to the wave operation " + text_of(at) + ", " +
                 text_of(first + l) + " of its mask waits at " + text_of(other.at) +
                 (wave.group[l] == which ? "" : " with another mask");
    leave();
  }
  wave.lanes[lane] = mine, wave.group[lane] = which, wave.group_together[lane] = together;
  wave.apart |= bit_of(t);
  wait(t, Operation::kWave, at);
  if ((wave.apart & which) == which) {
    together(wave.lanes, which);
    wave.apart &= ~which, wave.ready |= which;
    for (uint64 rest = which; rest; rest &= rest - 1)
      threads_[size_t(first + __builtin_ctzll(rest))].waits = Operation::kNone;
  }
  yield(t);
}

/// Schedulers that no launch uses, with their stacks.
class Pool {
 public:
  std::unique_ptr<Scheduler> take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return std::make_unique<Scheduler>();
    auto scheduler = std::move(idle_.back());
    idle_.pop_back();
    return scheduler;
  }
  void give(std::unique_ptr<Scheduler> scheduler) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(scheduler));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Scheduler>> idle_;
};
Pool& pool() {
  static Pool& pool = *new Pool;  // outlives every thread that might launch
  return pool;
}

/// The order in which blocks are begun.
class Order {
 public:
  Order(int64 blocks, const RunConditions& way)
      : blocks_(blocks), reverse_(way.schedule == Schedule::kReverse) {
    if (way.schedule != Schedule::kShuffled) return;
    shuffled_.resize(size_t(blocks));
    std::iota(shuffled_.begin(), shuffled_.end(), int64{0});
    std::shuffle(shuffled_.begin(), shuffled_.end(), std::minstd_rand(way.seed));
  }
  int64 operator[](int64 i) const {
    if (!shuffled_.empty()) return shuffled_[size_t(i)];
    return reverse_ ? blocks_ - 1 - i : i;
  }

 private:
  int64 blocks_;
  bool reverse_;
  std::vector<int64> shuffled_;
};

/// The complaint of the block that began first.
class FirstComplaint {
 public:
  void add(int64 index, std::string text) {
    const std::lock_guard lock(mutex_);
    if (index < index_) index_ = index, text_ = std::move(text);
    any_ = true;
  }
  bool any() const { return any_; }
  const std::string& text() const { return text_; }

 private:
  std::mutex mutex_;
  std::atomic<bool> any_{false};
  int64 index_ = INT64_MAX;
  std::string text_;
};

/// "" or why no card would start such a grid.
std::string wrong_grid(const int grid[3]) {
  const bool right =
      grid[0] >= 0 && grid[1] >= 0 && grid[2] >= 0 && grid[1] < 65536 && grid[2] < 65536;
  if (right) return {};
  return "grid is " + std::to_string(grid[0]) + " x " + std::to_string(grid[1]) + " x " +
         std::to_string(grid[2]) + " blocks, expected y and z below 65536";
}

}  // namespace

void Block::barrier(int thread, SourceLine at) {
  static_cast<Scheduler*>(this)->barrier(thread, at);
}
void Block::meet(int thread, void* mine, void (*together)(void**), SourceLine at) {
  static_cast<Scheduler*>(this)->meet(thread, mine, together, at);
}
void Block::meet_some(int thread, uint64 which, void* mine,
                      void (*together)(void**, unsigned long long), SourceLine at) {
  static_cast<Scheduler*>(this)->meet_some(thread, which, mine, together, at);
}
uint64 Block::lanes_of(int thread) const {
  return static_cast<const Scheduler*>(this)->lanes_of(thread);
}
void Block::refuse(int thread, const char* what, SourceLine at) {
  static_cast<Scheduler*>(this)->refuse(thread, what, at);
}

int64 switches() { return total_switches.load(std::memory_order_relaxed); }

const char* run(const BoundKernel& kernel, const RunConditions& way) {
  static thread_local std::string text;
  text = wrong_grid(kernel.grid);
  if (!text.empty()) return text.c_str();

  const int64 blocks = int64(kernel.grid[0]) * kernel.grid[1] * kernel.grid[2];
  const Order order(blocks, way);
  FirstComplaint complaint;
  std::atomic<int64> next{0};
  const int64 threads = way.one_by_one ? 1 : num_threads();
  const int64 workers = std::min<int64>({threads, kMaxWorkers, blocks});
  parallel_for(workers, 1, [&](int64, int64) {
    // A worker takes one block after another, whatever range it was given.
    auto scheduler = pool().take();
    scheduler->begin_launch(kernel, way);
    for (int64 i; !complaint.any() && (i = next++) < blocks;) {
      std::string said = scheduler->run_block(order[i]);
      if (!said.empty()) complaint.add(i, std::move(said));
    }
    pool().give(std::move(scheduler));
  });
  text = complaint.text();
  return text.empty() ? nullptr : text.c_str();
}

}  // namespace wick::gpu::emu
