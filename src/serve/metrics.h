// Counts of a server, in Prometheus's text format.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "serve/answers.h"

namespace wick::serve {

/// Durations in seconds, counted by upper bounds.
class Histogram {
 public:
  void add(double seconds);
  void write(std::string& to, const std::string& name, const std::string& help) const;

 private:
  static constexpr std::array<double, 14> kBounds = {0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                                     0.5,   1,     2.5,  5,     10,   30,  120};
  std::array<int64_t, kBounds.size() + 1> counts_{};
  double sum_ = 0;
};

/// Any thread may call the functions.
class Metrics {
 public:
  /// path: of a route, so that clients cannot add names.
  void add_request(const std::string& path, int status, double seconds);
  /// From a request's arrival to the first token of a text.
  void add_first_token(double seconds);
  /// Between two pieces of a text.
  void add_between_tokens(double seconds);
  /// The page. stats: of all models; missing if no engine was there. models: that are loaded.
  std::string page(const std::optional<EngineStats>& stats, int64_t models) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, int64_t> requests_;
  Histogram whole_, first_token_, between_tokens_;
};

}  // namespace wick::serve
