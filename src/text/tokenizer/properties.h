// The classes of characters that Oniguruma knows by name, in PCRE2's syntax.
//
// Characters have the classes of the program whose results must be met, whatever versions the
// libraries have (Debian 12: PCRE2 Unicode 14, utf8proc Unicode 15): patterns of tokenizer.json those
// of Unicode 16, patterns of GGUF files those of 15.1, by the tables of properties.cpp; normalization
// those of 9 and lower case those of 17, by the tables of normalizer.cpp, as HuggingFace's tokenizers
// 0.23.3 and llama.cpp have them.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "text/tokenizer/pattern.h"

namespace wick::tokenization {

/// A set of characters.
struct Property {
  std::string items;        // of a class in brackets
  bool negated = false;     // the set is what the items leave
  std::string except = {};  // items of the set's characters that are none of it
};

/// \p{NAME}: a category, a POSIX class, a binary property or a script; a name that is neither of the
/// first three is a script for PCRE2, which refuses what it does not know.
Property property_of(std::string_view name, Unicode unicode);
/// [:NAME:]; nullopt if there is none.
std::optional<Property> posix_class(std::string_view name, Unicode unicode);
/// The items of \w in brackets. Outside it has kOtherWord too: some numbers of Latin-1.
std::string word_items(Unicode unicode);
inline constexpr std::string_view kOtherWord = R"(\xb2\xb3\xb9\xbc-\xbe)";
/// The items of \s: White_Space.
inline constexpr std::string_view kSpaces =
    R"(\x09-\x0d\x20\x85\xa0\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";

/// An expression for one character of the property, or for one that is not of it.
std::string expression_of(const Property& property, bool negated);

}  // namespace wick::tokenization
