// A signal handler that runs while a library computes finds the thread's own stack: a handler's frame
// lies below the stack pointer, wherever that points.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>
#include <vector>

#include "base/parallel.h"
#include "rig.h"
#include "wick/abi/ops/matmul.h"

namespace wick::cpu {
namespace {

using test::Array;
using test::Launch;

constexpr int kSignal = SIGUSR1;
thread_local uintptr_t stack_begin = 0, stack_end = 0;
std::atomic<int> on_stack{0}, elsewhere{0};

/// Runs on an alternate stack, so that it harms nothing wherever the stack pointer is.
void look(int, siginfo_t*, void* context) {
  const auto pointer = uintptr_t(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RSP]);
  (pointer >= stack_begin && pointer < stack_end ? on_stack : elsewhere)++;
}

/// Gives the calling thread an alternate stack. Returns the thread's number.
pid_t prepare_thread() {
  thread_local std::array<char, 1 << 16> alternate;
  stack_t stack{};
  stack.ss_sp = alternate.data();
  stack.ss_size = alternate.size();
  sigaltstack(&stack, nullptr);
  pthread_attr_t attributes;
  pthread_getattr_np(pthread_self(), &attributes);
  void* begin = nullptr;
  size_t size = 0;
  pthread_attr_getstack(&attributes, &begin, &size);
  pthread_attr_destroy(&attributes);
  stack_begin = uintptr_t(begin);
  stack_end = stack_begin + size;
  return gettid();
}

void release_thread() {
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, nullptr);
}

/// Sends signals to the threads that compute, while it lives.
class Signals {
 public:
  explicit Signals(int threads) : threads_(size_t(threads)) {
    struct sigaction action {};
    action.sa_sigaction = look;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    sigaction(kSignal, &action, &before_);
    on_each_thread([this](int64 i) { threads_[size_t(i)] = prepare_thread(); });
    sender_ = std::thread([this] {
      while (!done_) {
        for (const pid_t thread : threads_) syscall(SYS_tgkill, getpid(), thread, kSignal);
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
    });
  }
  ~Signals() {
    done_ = true;
    sender_.join();
    on_each_thread([](int64) { release_thread(); });
    sigaction(kSignal, &before_, nullptr);
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

 private:
  template <class F>
  void on_each_thread(F&& f) {
    parallel_for(int64(threads_.size()), 1, [&](int64 begin, int64 end) {
      for (int64 i = begin; i < end; i++) f(i);
    });
  }

  std::vector<pid_t> threads_;
  std::atomic<bool> done_{false};
  std::thread sender_;
  struct sigaction before_ {};
};

/// The signals that the calling thread blocks.
std::vector<int> blocked() {
  sigset_t now;
  pthread_sigmask(SIG_SETMASK, nullptr, &now);
  std::vector<int> signals;
  for (int i = 1; i < NSIG; i++)
    if (sigismember(&now, i) == 1) signals.push_back(i);
  return signals;
}

/// Runs the kernels that accept the product [m, k] @ [k, n], with signals all the while. Other
/// instruction sets: WICK_CPU, in runs of their own.
void expect_own_stack(DType dtype, int64 m, int64 n, int64 k, int64 padding) {
  const auto kernels = test::find(isa(), kMatmul, {dtype, dtype, dtype}, 2);
  const Array a(dtype, {m, k}, {k + padding, 1}), b(dtype, {k, n}, {n + padding, 1}),
      c(dtype, {m, n});
  for (int i = 0; i < kernels.count; i++) {
    const Kernel& kernel = kernels.first[i];
    Launch launch({&a, &b}, c);
    if (launch.declined_by(kernel)) continue;
    for (const int threads : {1, 3}) {
      const wick::test::ThreadsScope scope(threads);
      on_stack = elsewhere = 0;
      const std::vector<int> before = blocked();
      {
        const Signals signals(threads);
        // A busy machine may give the sender no time at first.
        const auto start = std::chrono::steady_clock::now();
        for (std::chrono::duration<double> time{};
             time.count() < 0.1 || (on_stack + elsewhere == 0 && time.count() < 20);
             time = std::chrono::steady_clock::now() - start)
          ASSERT_TRUE(launch.run(kernel).ok());
      }
      EXPECT_EQ(elsewhere, 0) << kernel.name << ", " << threads << " threads";
      EXPECT_GT(on_stack, 0) << kernel.name;
      EXPECT_EQ(blocked(), before) << kernel.name;
    }
  }
}

TEST(MatmulSignals, FindTheThreadsOwnStack) {
  for (const DType dtype : {DType::kF32, DType::kBf16, DType::kF64}) {
    expect_own_stack(dtype, 300, 300, 1500, 0);
    expect_own_stack(dtype, 300, 300, 1500, 64);
    expect_own_stack(dtype, 48, 48, 384, 64);
  }
}

}  // namespace
}  // namespace wick::cpu
