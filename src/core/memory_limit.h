// WICK_MEMORY_LIMIT: the most memory that wick takes on a device.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace wick {

inline constexpr int64_t kNoLimit = INT64_MAX;

/// The bytes that the device with this name, such as "cuda:0", is limited to by a text as
/// WICK_MEMORY_LIMIT has it: sizes for all devices or, after NAME=, for one, separated by commas; a
/// name without ":N" is that of device 0. The last entry that applies counts; kNoLimit without one.
/// Errors: kInvalidArgument, naming the variable.
int64_t memory_limit_of(std::string_view text, std::string_view device);

/// The same of the environment's text.
int64_t memory_limit(const std::string& device);

}  // namespace wick
