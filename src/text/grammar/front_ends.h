// The notations of grammars.
#pragma once
#include <string_view>

#include "text/grammar/syntax.h"

namespace wick::grammars {

/// The rule "root" of a text in llama.cpp's GBNF. Errors: as Grammar.
Syntax::Rule read_gbnf(std::string_view text, Syntax& syntax);

/// The texts that match a regular expression as a whole. Errors: as Grammar.
Syntax::Expr read_regex(std::string_view text, Syntax& syntax);

/// The values of JSON.
class JsonValues {
 public:
  explicit JsonValues(Syntax& syntax);

  /// Between two parts of a value: nothing, a space, or a newline and an indent.
  Syntax::Expr space() const { return space_; }
  /// Nothing or a space.
  Syntax::Expr space_before_text() const { return space_before_text_; }
  Syntax::Expr string() const { return syntax_->call(string_); }
  Syntax::Expr number() const { return number_; }
  Syntax::Expr object() const { return syntax_->call(object_); }
  Syntax::Expr any() const { return syntax_->call(any_); }
  /// open, the items with commas between them, close.
  Syntax::Expr bracketed(char open, Syntax::Expr item, char close);

 private:
  Syntax* syntax_;
  Syntax::Expr space_, space_before_text_, number_;
  Syntax::Rule string_, object_, any_;
};

}  // namespace wick::grammars
