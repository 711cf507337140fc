// Normalizers: rewrite a text before it is cut into words. They give each byte that they write the
// origin that HuggingFace's tokenizers gives it.
#pragma once
#include <memory>
#include <string>

#include "text/tokenizer/charsmap.h"
#include "text/tokenizer/pattern.h"
#include "text/tokenizer/pieces.h"

namespace wick::tokenization {

enum class Form { kNfc, kNfd, kNfkc, kNfkd };
/// Follows Unicode 9, like HuggingFace's: newer characters stay as they are.
std::unique_ptr<Step> normalize_to(Form form);
std::unique_ptr<Step> lowercase();
/// Puts the text before each piece.
std::unique_ptr<Step> prepend(std::string text);
std::unique_ptr<Step> replace(Pattern pattern, std::string content);
/// Removes white space at the ends of a piece.
std::unique_ptr<Step> strip(bool left, bool right);
/// Removes combining marks.
std::unique_ptr<Step> strip_accents();
/// Removes control characters, and makes spaces of white space and some format characters.
std::unique_ptr<Step> clean_control();
/// Rewrites each grapheme of up to 5 bytes that the shortest rule at its start matches, else its
/// characters alike; of a grapheme that a rule matches, all characters are replaced.
std::unique_ptr<Step> map_characters(Charsmap rules);
/// Spells each byte in the byte alphabet.
std::unique_ptr<Step> spell_bytes();

}  // namespace wick::tokenization
