// Text of files and models that is safe to print on a terminal.
#pragma once
#include <string>
#include <string_view>

#include "wick/base/settings.h"

namespace wick::cli {

/// Writes control characters (controls.h), newlines and tabs as in JSON ("\n", "\u001b"), and bytes
/// that are not UTF-8 as U+FFFD.
std::string printable(std::string_view text);

/// A value in a few words: strings are quoted and cut, lists show their first values and their
/// length.
std::string shown(const Setting& value);
/// The value with lists of more than 8 values replaced by {"length", "first"}.
Setting shortened(const Setting& value);

}  // namespace wick::cli
