// Regular expressions of tokenizer files, and fixed strings, found in a text.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer/pieces.h"

namespace wick::tokenization {

/// The version whose categories \p{...} and the like have: HuggingFace's is 16, llama.cpp's 15.1.
enum class Unicode { k15, k16 };

/// A compiled pattern, shared by its copies; several threads may use it.
class Pattern {
 public:
  /// A regular expression in the syntax of HuggingFace's tokenizers (Oniguruma's for Ruby). where:
  /// the prefix of errors. Errors: kUnsupported, with the expression, if it is wrong or uses syntax
  /// that PCRE2 lacks.
  static Pattern regex(std::string_view expression, const std::string& where,
                       Unicode unicode = Unicode::k16);
  /// Matches the text itself; nothing if it is empty.
  static Pattern literal(std::string text);

  /// Appends the matches, which do not overlap, from left to right. Errors: kUnsupported if the
  /// expression needs too many steps or too much memory on this text.
  void find(std::string_view text, std::vector<Span>& matches) const;

 private:
  struct Code;
  std::shared_ptr<const Code> code_;  // of a regular expression
  std::string literal_;
};

/// The expression in PCRE2's syntax.
std::string pcre_syntax(std::string_view expression, const std::string& where, Unicode unicode);

}  // namespace wick::tokenization
