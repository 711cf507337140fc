// The ranges of numbers on the command line: what lies beyond, or is no such number, is bad input.
#pragma once
#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>

namespace wick::cli {

/// The most of what is counted: steps, sequences, bytes of a sequence, tokens.
constexpr int64_t kMostCounted = std::numeric_limits<int32_t>::max();

/// Integers from lowest to highest, in decimal digits.
CLI::Validator integer_from(int64_t lowest, int64_t highest = kMostCounted);
/// A seed: 0 to 2^64 - 1.
CLI::Validator seed_range();
/// Finite numbers from lowest to highest, of which one end may not be meant.
struct RealRange {
  double lowest = 0, highest = std::numeric_limits<double>::max();
  bool above_lowest = false, below_highest = false;
};
CLI::Validator real_from(RealRange range);

}  // namespace wick::cli
