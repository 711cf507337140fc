// Environment variables. An invalid value throws an Error that names the variable.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace wick {

/// The value of the variable; nullopt if unset or empty.
std::optional<std::string> environment(const char* name);
/// The variable as an integer in [lowest, highest]; nullopt if unset. Errors: kInvalidArgument.
std::optional<int64_t> environment_integer(const char* name, int64_t lowest, int64_t highest);
/// The index of the variable's value in `words`; nullopt if unset. Errors: kInvalidArgument,
/// listing the words.
std::optional<int> environment_choice(const char* name,
                                      std::initializer_list<std::string_view> words);

}  // namespace wick
