// The parser of templates.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/lexer.h"
#include "text/jinja/syntax.h"

namespace wick::jinja {

/// Parses a template; its variables have no slots yet (scope.h). where: prefix of error texts.
/// Errors, with line and column: kFormat; kUnsupported for an unknown tag, for too much nesting and
/// as tokenize.
Template parse(std::string_view source, const std::string& where);

/// The tokens of a template, read from front to back.
class TokenStream {
 public:
  TokenStream(std::vector<Token> tokens, const std::string& where)
      : tokens_(std::move(tokens)), where_(where) {}

  const Token& current() const { return tokens_[at_]; }
  const Token& look() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  bool is(TokenKind kind) const { return current().kind == kind; }
  bool is_name(std::string_view name) const { return current().is_name(name); }
  /// The current token; moves to the next one.
  Token next() { return at_ + 1 < tokens_.size() ? std::move(tokens_[at_++]) : tokens_[at_]; }
  bool skip_if(TokenKind kind);
  bool skip_if_name(std::string_view name);
  Token expect(TokenKind kind, const char* what);

  template <class... Parts>
  [[noreturn]] void fail_at(SourcePosition place, const Parts&... parts) const {
    fail(ErrorCode::kFormat, where_, place, ": ", parts...);
  }
  template <class... Parts>
  [[noreturn]] void refuse_at(SourcePosition place, const Parts&... parts) const {
    fail(ErrorCode::kUnsupported, where_, place, ": ", parts...);
  }

 private:
  std::vector<Token> tokens_;
  const std::string& where_;
  size_t at_ = 0;
};

/// The parser of expressions: a method per level of precedence.
class ExpressionParser {
 public:
  explicit ExpressionParser(TokenStream& tokens) : tokens_(tokens) {}

  ExpressionPtr parse_expression(bool with_conditional = true);
  /// An expression, or a tuple without parentheses. end_word: a name that ends it.
  ExpressionPtr parse_tuple(bool with_conditional, std::string_view end_word = {});
  /// A name, or names in a tuple; with_namespace: also NAME.attribute.
  ExpressionPtr parse_target(bool with_namespace, std::string_view end_word = {});
  /// The filters after an input; null input: a block's, whose first filter has no "|".
  ExpressionPtr parse_filters(ExpressionPtr input, bool starts_inline = false);

  /// Guards one level of nesting, of tags too.
  class Nesting {
   public:
    explicit Nesting(ExpressionParser& parser);
    ~Nesting() { parser_.nesting_--; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    ExpressionParser& parser_;
  };

 private:
  ExpressionPtr parse_conditional();
  ExpressionPtr parse_or();
  ExpressionPtr parse_and();
  ExpressionPtr parse_not();
  ExpressionPtr parse_compare();
  ExpressionPtr parse_sum();
  ExpressionPtr parse_concat();
  ExpressionPtr parse_product();
  ExpressionPtr parse_power();
  ExpressionPtr parse_unary(bool with_filters = true);
  ExpressionPtr parse_primary(bool with_namespace = false);
  ExpressionPtr parse_parenthesized();
  ExpressionPtr parse_list();
  ExpressionPtr parse_dict();
  ExpressionPtr parse_postfix(ExpressionPtr object);
  ExpressionPtr parse_filters_and_tests(ExpressionPtr input);
  ExpressionPtr parse_subscript(ExpressionPtr object);
  ExpressionPtr parse_call(ExpressionPtr callee);
  ExpressionPtr parse_test(ExpressionPtr input);
  CallArguments parse_arguments();
  std::string parse_dotted_name(const char* what);
  template <class Parse>
  ExpressionPtr parse_items(const Parse& parse, std::string_view end_word, bool may_be_empty);
  /// A node with these children. Errors: the tree gets too deep.
  template <class... Children>
  ExpressionPtr make(ExpressionKind kind, SourcePosition place, Children... children);
  ExpressionPtr checked(ExpressionPtr node);

  TokenStream& tokens_;
  int nesting_ = 0;
};

}  // namespace wick::jinja
