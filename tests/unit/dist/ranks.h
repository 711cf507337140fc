// Groups whose ranks are threads of this process, or processes that it starts.
#pragma once
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "dist/connection.h"
#include "wick/base/error.h"
#include "wick/dist/process_group.h"

namespace wick::test {

inline int free_port() { return dist::Listener("127.0.0.1", 0).port(); }

inline ProcessGroupOptions options_of(int rank, int world_size, int port,
                                      double timeout_seconds = 20) {
  return {.rank = rank,
          .world_size = world_size,
          .local_rank = rank,
          .port = port,
          .timeout_seconds = timeout_seconds};
}

/// Runs f(rank) in a thread for each rank. Returns "" or "CODE: TEXT" of the Error that f throws.
inline std::vector<std::string> run_threads(int count, const std::function<void(int)>& f) {
  std::vector<std::string> failures(static_cast<size_t>(count));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < count; rank++)
    threads.emplace_back([&, rank] {
      try {
        f(rank);
      } catch (const Error& error) {
        failures[size_t(rank)] = std::string(error_code_name(error.code())) + ": " + error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  return failures;
}

/// Runs f(group) in each rank of a group of threads; returns their errors.
inline std::vector<std::string> run_ranks(int count, const std::function<void(ProcessGroup&)>& f,
                                          double timeout_seconds = 20) {
  const int port = free_port();
  return run_threads(count, [&](int rank) {
    ProcessGroup group = ProcessGroup::join(options_of(rank, count, port, timeout_seconds));
    f(group);
  });
}

/// The same, of ranks that must not fail.
inline void expect_ranks(int count, const std::function<void(ProcessGroup&)>& f) {
  const std::vector<std::string> failures = run_ranks(count, f);
  for (size_t rank = 0; rank < failures.size(); rank++)
    EXPECT_EQ(failures[rank], "") << "rank " << rank << " of " << count;
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace wick::test
