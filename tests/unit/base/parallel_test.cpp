#include "base/parallel.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "../expect.h"

namespace wick {
namespace {

class Parallel : public testing::Test {
 protected:
  ~Parallel() override { set_num_threads(before_); }

 private:
  int before_ = num_threads();
};

/// How often each index of [0, count) was visited.
std::vector<int> visits(int64_t count, int64_t grain) {
  std::vector<std::atomic<int>> counts(static_cast<size_t>(count));
  parallel_for(count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) counts[size_t(i)]++;
  });
  return {counts.begin(), counts.end()};
}

TEST_F(Parallel, VisitsEachIndexOnce) {
  for (const int threads : {1, 2, 3, 7}) {
    set_num_threads(threads);
    for (const int64_t count : {0, 1, 7, 1000})
      for (const int64_t grain : {1, 3, 1000, 5000})
        EXPECT_EQ(visits(count, grain), std::vector<int>(size_t(count), 1))
            << threads << " " << count << " " << grain;
  }
}

TEST_F(Parallel, ThreadsThatSpinAndThreadsThatSleepHearOfEachRegion) {
  std::atomic<int64_t> sum = 0;
  for (int region = 0; region < 3000; region++) {
    set_num_threads(2 + region % 3);
    if (region % 100 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    parallel_for(4, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
  }
  EXPECT_EQ(sum, 4 * 3000);
}

TEST_F(Parallel, TakesAsManyThreadsAsThereAreGrains) {
  set_num_threads(4);
  std::atomic<int> parts = 0;
  const auto count_parts = [&](int64_t count, int64_t grain) {
    parts = 0;
    parallel_for(count, grain, [&](int64_t, int64_t) { parts++; });
    return parts.load();
  };
  EXPECT_EQ(count_parts(100, 1), 4);
  EXPECT_EQ(count_parts(100, 50), 2);
  EXPECT_EQ(count_parts(100, 100), 1);
  EXPECT_EQ(count_parts(0, 1), 0);
}

TEST_F(Parallel, NestedCallsStayInTheirThread) {
  set_num_threads(4);
  std::atomic<int> wrong = 0;
  parallel_for(4, 1, [&](int64_t, int64_t) {
    const auto thread = std::this_thread::get_id();
    parallel_for(100, 1, [&](int64_t begin, int64_t end) {
      wrong += std::this_thread::get_id() != thread || begin != 0 || end != 100;
    });
  });
  EXPECT_EQ(wrong, 0);
}

TEST_F(Parallel, AForkedChildWorksAlone) {
  set_num_threads(3);
  visits(1000, 1);  // the parent has threads now, which the child lacks
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);  // hanging is failing
    std::atomic<int> parts = 0;
    parallel_for(1000, 1, [&](int64_t, int64_t) { parts++; });
    _exit(parts == 1 && threads_here() == 1 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(threads_here(), 3);
}

TEST_F(Parallel, EachThreadTakesTheTeamUnlessAnotherOneHasIt) {
  set_num_threads(4);
  const auto parts_of_thread = [] {
    std::atomic<int> parts = 0;
    std::thread([&] { parallel_for(100, 1, [&](int64_t, int64_t) { parts++; }); }).join();
    return parts.load();
  };
  EXPECT_EQ(parts_of_thread(), 4);
  std::atomic<int> beside = 0;
  parallel_for(4, 1, [&](int64_t begin, int64_t) {
    if (begin == 0) beside = parts_of_thread();
  });
  EXPECT_EQ(beside, 1);
  EXPECT_EQ(parts_of_thread(), 4);
}

TEST_F(Parallel, ThreadsThatCallAtOnceVisitAllOfTheirOwn) {
  set_num_threads(3);
  std::vector<std::thread> threads;
  std::atomic<int64_t> sum = 0;
  for (int t = 0; t < 4; t++)
    threads.emplace_back([&] {
      for (int i = 0; i < 500; i++)
        parallel_for(64, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum, 4 * 500 * 64);
}

TEST_F(Parallel, ThereIsAlwaysAThreadAndNeverAMillion) {
  set_num_threads(2);
  for (const int n : {0, -3, 4097, 1'000'000})
    EXPECT_ERROR(set_num_threads(n), kInvalidArgument,
                 "set_num_threads: threads: expected 1 to 4096, got " + std::to_string(n));
  EXPECT_EQ(num_threads(), 2);
}

}  // namespace
}  // namespace wick
