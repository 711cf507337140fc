// Number ranges for command-line options; anything else is bad input.
#pragma once
#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>

namespace wick::cli {

/// Maximum of any count: steps, sequences, bytes of a sequence, tokens.
constexpr int64_t kMaxCounted = std::numeric_limits<int32_t>::max();

/// Accepts decimal integers from lowest to highest.
CLI::Validator integer_from(int64_t lowest, int64_t highest = kMaxCounted);
/// Accepts a seed: 0 to 2^64 - 1.
CLI::Validator seed_range();
/// Finite numbers from lowest to highest; either bound can be excluded.
struct RealRange {
  double lowest = 0, highest = std::numeric_limits<double>::max();
  bool above_lowest = false, below_highest = false;
};
CLI::Validator real_from(RealRange range);

}  // namespace wick::cli
