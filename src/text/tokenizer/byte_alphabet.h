// GPT-2's alphabet: a visible character for each byte, so that JSON can spell byte sequences.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace wick::tokenization {

/// The character that stands for the byte: itself for printable bytes of Latin-1, else one from
/// U+0100 on, in the order of the bytes. Source: Radford et al. 2019, bytes_to_unicode of GPT-2.
std::string_view letter_of(uint8_t byte);
/// The byte that the code point stands for.
std::optional<uint8_t> byte_of(char32_t letter);

/// The token that stands for the byte where tokens are no bytes: "<0x0A>".
std::string spelling_of_byte(uint8_t byte);

/// The text with each byte replaced by its letter.
std::string to_letters(std::string_view bytes);
/// Appends the bytes that the letters stand for. False, and nothing appended, if a character of the
/// text is no letter of the alphabet.
bool append_bytes(std::string_view letters, std::string& to);

}  // namespace wick::tokenization
