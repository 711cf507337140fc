// Environment variables, read once where they are asked for. A value that makes no sense is an
// Error that names the variable.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace wick {

/// The variable's text; nullopt if it is not set or empty.
std::optional<std::string> environment(const char* name);
/// The variable as an integer in [lowest, highest]; nullopt if unset. Errors: kInvalidArgument.
std::optional<int64_t> environment_integer(const char* name, int64_t lowest, int64_t highest);
/// The variable's index among words; nullopt if unset. Errors: kInvalidArgument, which lists them.
std::optional<int> environment_choice(const char* name,
                                      std::initializer_list<std::string_view> words);

}  // namespace wick
