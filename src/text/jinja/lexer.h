// The tokens of a template: text between tags, and the words inside tags.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/meter.h"

namespace wick::jinja {

enum class TokenKind {
  kEnd,  // of the template
  kData,
  kBlockBegin,
  kBlockEnd,
  kVariableBegin,
  kVariableEnd,
  kName,
  kString,
  kInteger,
  kFloat,
  kAdd,
  kSubtract,
  kDivide,
  kFloorDivide,
  kMultiply,
  kRemainder,
  kPower,
  kTilde,
  kLeftBracket,
  kRightBracket,
  kLeftParen,
  kRightParen,
  kLeftBrace,
  kRightBrace,
  kEqual,
  kNotEqual,
  kGreater,
  kGreaterEqual,
  kLess,
  kLessEqual,
  kAssign,
  kDot,
  kColon,
  kPipe,
  kComma,
  kSemicolon,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;  // of data, a name or a string without its quotes and escapes
  int64_t integer = 0;
  double real = 0;
  SourcePosition place;

  bool is_name(std::string_view name) const { return kind == TokenKind::kName && text == name; }
};

/// A token in error texts: "name", "end of block".
std::string describe(const Token& token);

/// Splits a template as jinja2 does with trim_blocks and lstrip_blocks, and drops comments.
/// where: prefix of error texts. Errors: kFormat with line and column; kUnsupported for an integer
/// beyond 64 bits or a surrogate in a string.
std::vector<Token> tokenize(std::string_view source, const std::string& where);

}  // namespace wick::jinja
