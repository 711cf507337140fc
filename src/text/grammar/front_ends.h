// The notations of grammars.
#pragma once
#include <string>
#include <string_view>

#include "text/grammar/syntax.h"
#include "wick/base/settings.h"

namespace wick::grammars {

/// The rule "root" of a text in llama.cpp's GBNF. Errors: as Grammar.
Syntax::Rule read_gbnf(std::string_view text, Syntax& syntax);

/// The texts that match a regular expression as a whole. Errors: as Grammar.
Syntax::Expr read_regex(std::string_view text, Syntax& syntax);
/// The texts in which a regular expression matches some part, as ECMAScript reads it: "." has no
/// end of a line, and \s all spaces of Unicode. Errors: as Grammar; they begin with `where`.
Syntax::Expr read_regex_search(std::string_view text, Syntax& syntax, const std::string& where);

/// The values of JSON that a JSON Schema allows. Errors: as Grammar::json_schema.
Syntax::Rule read_json_schema(const Setting& schema, Syntax& syntax);

/// The values of JSON.
class JsonValues {
 public:
  /// Digits of a number before the point, after it, and in the exponent.
  static constexpr uint32_t kMaxDigits = 19, kMaxDecimals = 17, kMaxExponentDigits = 2;

  explicit JsonValues(Syntax& syntax);

  /// Between two parts of a value: nothing, a space, or a newline and an indent.
  Syntax::Expr space() const { return space_; }
  /// Nothing or a space.
  Syntax::Expr space_before_text() const { return space_before_text_; }
  Syntax::Expr string() const { return syntax_->call(string_); }
  /// A character of a string, in any spelling.
  Syntax::Expr string_character() const { return syntax_->call(string_character_); }
  Syntax::Expr integer() const { return integer_; }
  Syntax::Expr number() const { return number_; }
  Syntax::Expr array() const { return syntax_->call(array_); }
  Syntax::Expr object() const { return syntax_->call(object_); }
  Syntax::Expr any() const { return syntax_->call(any_); }
  /// open, the items with commas between them, close.
  Syntax::Expr bracketed(char open, Syntax::Expr item, char close);

 private:
  Syntax* syntax_;
  Syntax::Expr space_, space_before_text_, integer_, number_;
  Syntax::Rule string_character_, string_, array_, object_, any_;
};

}  // namespace wick::grammars
