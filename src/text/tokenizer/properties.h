// The classes of characters that Oniguruma knows by name, in PCRE2's syntax.
//
// Characters have the classes of the program whose results wick must give, whatever versions the
// libraries have (Debian 12: PCRE2 Unicode 14, utf8proc Unicode 15). By properties.cpp's tables,
// patterns of tokenizer.json follow Unicode 16 and patterns of GGUF files 15.1; by normalizer.cpp's
// tables, normalization follows 9 and lower case 17, as in HuggingFace's tokenizers 0.23.3 and
// llama.cpp.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "text/tokenizer/pattern.h"

namespace wick::tokenization {

/// A set of characters.
struct Property {
  std::string items;        // of a class in brackets
  bool negated = false;     // the set is the complement of the items
  std::string except = {};  // items to remove from the set
};

/// \p{NAME}: a category, a POSIX class, a binary property or a script; a name that is neither of
/// the first three is a script for PCRE2, which refuses unknown ones.
Property property_of(std::string_view name, Unicode unicode);
/// [:NAME:]; nullopt if the name is unknown.
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
