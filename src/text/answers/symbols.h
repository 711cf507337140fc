// An answer as symbols: bytes of its text, and tokens that are markers.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wick::answers {

/// Symbols below 256 are bytes; 256 + i is marker i of the format.
using Symbol = char16_t;
using Symbols = std::u16string;
using SymbolView = std::u16string_view;

inline constexpr Symbol kFirstMark = 256;
inline bool is_mark(Symbol symbol) { return symbol >= kFirstMark; }
inline bool is_space(Symbol symbol) {
  return symbol == ' ' || symbol == '\n' || symbol == '\r' || symbol == '\t';
}

/// A marker that is one token of the vocabulary.
struct Mark {
  int64_t id = 0;
  std::string spelling;
  bool is_special = false;
};

inline Symbols symbols_of(std::string_view text) {
  Symbols symbols;
  for (const char c : text) symbols += Symbol(uint8_t(c));
  return symbols;
}

}  // namespace wick::answers
