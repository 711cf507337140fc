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
/// An integer in [lowest, highest]. Errors: kInvalidArgument.
std::optional<int64_t> environment_integer(const char* name, int64_t lowest, int64_t highest);
/// One of the words, as its index. Errors: kInvalidArgument, which lists the words.
std::optional<int> environment_choice(const char* name,
                                      std::initializer_list<std::string_view> words);

}  // namespace wick
