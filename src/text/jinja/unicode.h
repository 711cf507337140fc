// Code points and texts as methods of Python's str see them. Texts are valid UTF-8.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace wick::jinja {

/// The byte where the code point that ends at byte `end` starts.
size_t start_of_last(std::string_view text, size_t end);

// Classes as Python's str.isX has them, of one code point.
bool is_space(char32_t code);
bool is_alpha(char32_t code);
bool is_decimal(char32_t code);
bool is_digit(char32_t code);
bool is_numeric(char32_t code);
bool is_printable(char32_t code);
bool is_upper(char32_t code);
bool is_lower(char32_t code);
bool is_title(char32_t code);
/// str.islower() and str.isupper() of a text.
bool is_lower_case(std::string_view text);
bool is_upper_case(std::string_view text);
/// Whether a word of a template may start with this, or go on.
bool is_name_start(char32_t code);
bool is_name_part(char32_t code);
/// The value of a decimal digit of any script; is_decimal(code) holds.
int decimal_value(char32_t code);

/// For each byte at which a code point of a text starts, and for its end: the byte of the result at
/// which its replacement starts.
using Places = std::vector<size_t>;

// Case as Python's methods of str change it. places: receives them, unless it is nullptr.
std::string to_upper(std::string_view text, Places* places = nullptr);
std::string to_lower(std::string_view text, Places* places = nullptr);
std::string to_title(std::string_view text, Places* places = nullptr);
std::string to_capitalized(std::string_view text, Places* places = nullptr);
std::string to_swapped_case(std::string_view text, Places* places = nullptr);
std::string to_folded_case(std::string_view text, Places* places = nullptr);

}  // namespace wick::jinja
