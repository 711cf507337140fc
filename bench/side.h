// One side of a comparison: a program that compare.py talks to by lines. "matmul f32 1024 0.2" asks
// for the time of one call, measured for 0.2 s; the answer is seconds, or "unsupported" and why.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace bench {

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Request {
  std::string name;   // of the case
  std::string dtype;  // "f32"
  int64_t size = 0;   // matmul: of M, N and K; else elements
  double budget = 0;  // seconds to measure for

  /// Seconds of one call: the median of about eight batches, of as many calls as fit. synchronize
  /// waits for the device.
  template <class Call, class Synchronize>
  double time(Call&& call, Synchronize&& synchronize) const {
    const auto batch = [&](int64_t calls) {
      synchronize();
      const double from = now();
      for (int64_t i = 0; i < calls; i++) call();
      synchronize();
      return now() - from;
    };
    batch(1);  // what the first call sets up, and the threads that sleep, are not measured
    int64_t calls = 1;
    while (batch(calls) < budget / 8) calls *= 2;
    std::vector<double> seconds;
    for (const double from = now(); seconds.empty() || now() - from < budget;)
      seconds.push_back(batch(calls) / double(calls));
    std::nth_element(seconds.begin(), seconds.begin() + seconds.size() / 2, seconds.end());
    return seconds[seconds.size() / 2];
  }
};

/// Answers requests until the input ends. answer(request) returns seconds, below zero if the side
/// has no such case.
template <class Answer>
int serve(const std::string& title, Answer&& answer) {
  std::cout << "ready " << title << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    Request request;
    std::istringstream words(line);
    if (!(words >> request.name >> request.dtype >> request.size >> request.budget)) {
      std::cout << "unsupported: \"" << line << "\" is not CASE DTYPE SIZE SECONDS" << std::endl;
      continue;
    }
    try {
      const double seconds = answer(request);
      if (seconds < 0)
        std::cout << "unsupported" << std::endl;
      else
        std::cout << seconds << std::endl;
    } catch (const std::exception& error) {
      std::cout << "unsupported: " << error.what() << std::endl;
    }
  }
  return 0;
}

/// Numbers in [-1, 1) that look random; a product of two such matrices stays small.
inline std::vector<float> values(int64_t n, uint32_t seed) {
  std::vector<float> x(static_cast<size_t>(n));
  for (float& value : x) value = float(int32_t(seed = seed * 1664525u + 1013904223u)) * 0x1p-31f;
  return x;
}

}  // namespace bench
