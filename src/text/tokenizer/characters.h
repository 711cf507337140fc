// Spaces and quotes: characters as tokenizers and their errors write them.
#pragma once
#include "base/utf8.h"

namespace wick::tokenization {

inline constexpr std::string_view kSpaceMark = "\u2581";  // SentencePiece's space

/// The text in quotes on one line, for errors: cut if it is long, with control characters escaped.
std::string in_quotes(std::string_view text);

/// Unicode's White_Space.
bool is_white_space(char32_t code);

}  // namespace wick::tokenization
