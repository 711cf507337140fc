#include "text/jinja/lexer.h"

#include <algorithm>

#include "base/utf8.h"
#include "text/jinja/literal.h"
#include "text/jinja/text.h"
#include "text/jinja/unicode.h"

namespace wick::jinja {
namespace {

struct Operator {
  std::string_view symbol;
  TokenKind kind;
};
/// Longer symbols stand before their beginnings.
constexpr Operator kOperators[] = {
    {"//", TokenKind::kFloorDivide},  {"**", TokenKind::kPower},
    {"==", TokenKind::kEqual},        {"!=", TokenKind::kNotEqual},
    {">=", TokenKind::kGreaterEqual}, {"<=", TokenKind::kLessEqual},
    {"+", TokenKind::kAdd},           {"-", TokenKind::kSubtract},
    {"/", TokenKind::kDivide},        {"*", TokenKind::kMultiply},
    {"%", TokenKind::kRemainder},     {"~", TokenKind::kTilde},
    {"[", TokenKind::kLeftBracket},   {"]", TokenKind::kRightBracket},
    {"(", TokenKind::kLeftParen},     {")", TokenKind::kRightParen},
    {"{", TokenKind::kLeftBrace},     {"}", TokenKind::kRightBrace},
    {">", TokenKind::kGreater},       {"<", TokenKind::kLess},
    {"=", TokenKind::kAssign},        {".", TokenKind::kDot},
    {":", TokenKind::kColon},         {"|", TokenKind::kPipe},
    {",", TokenKind::kComma},         {";", TokenKind::kSemicolon},
};

/// The source with "\n" for each newline and without the last one.
std::string with_plain_newlines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); i++) {
    if (source[i] == '\r') {
      out += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') i++;
    } else
      out += source[i];
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

class Lexer {
 public:
  Lexer(std::string_view source, const std::string& where)
      : owned_(with_plain_newlines(source)), source_(owned_), where_(where) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) read_data();
    add(TokenKind::kEnd, at_);
    return std::move(tokens_);
  }

 private:
  /// Line and column of a byte offset. Offsets must not decrease between calls.
  SourcePosition place_at(size_t offset) {
    for (; counted_ < offset; counted_++) {
      const char c = source_[counted_];
      if (c == '\n')
        place_ = {place_.line + 1, 1};
      else if (starts_character(c))
        place_.column++;
    }
    return place_;
  }

  template <class... Parts>
  [[noreturn]] void fail_at(size_t offset, const Parts&... parts) {
    fail(ErrorCode::kFormat, where_, place_at(offset), ": ", parts...);
  }

  Token& add(TokenKind kind, size_t offset) {
    tokens_.push_back({});
    tokens_.back().kind = kind;
    tokens_.back().place = place_at(offset);
    return tokens_.back();
  }

  bool starts_with(size_t at, std::string_view text) const {
    return source_.substr(std::min(at, source_.size()), text.size()) == text;
  }

  size_t skip_spaces(size_t at) const {
    while (at < source_.size()) {
      size_t next = at;
      if (!is_space(next_code_point(source_, next))) break;
      at = next;
    }
    return at;
  }

  /// The byte after "%}", "+%}" or "-%}" and the white space that it takes; npos elsewhere.
  size_t end_of_block(size_t at, std::string_view end = "%}") const {
    if (starts_with(at, "-") && starts_with(at + 1, end)) return skip_spaces(at + 1 + end.size());
    if (starts_with(at, "+") && starts_with(at + 1, end)) return at + 1 + end.size();
    if (!starts_with(at, end)) return std::string::npos;
    return at + end.size() + (starts_with(at + end.size(), "\n") ? 1 : 0);
  }

  /// The sign after "{%", "{#" or "{{": "-", "+" or 0.
  char sign_at(size_t at) const {
    return starts_with(at, "-") || starts_with(at, "+") ? source_[at] : 0;
  }

  /// The byte after `{% WORD %}` and its opening's sign, if `at` starts one.
  size_t end_of_word_block(size_t at, std::string_view word, bool trims) const {
    size_t i = at + 2;
    if (sign_at(i)) i++;
    i = skip_spaces(i);
    if (!starts_with(i, word)) return std::string::npos;
    i = skip_spaces(i + word.size());
    if (trims) return end_of_block(i);
    if (starts_with(i, "-%}")) return skip_spaces(i + 3);
    return starts_with(i, "%}") ? i + 2 : std::string::npos;
  }

  void add_data(size_t from, size_t to) {
    if (from < to) add(TokenKind::kData, from).text = source_.substr(from, to - from);
  }

  /// Data up to a tag at `tag`, less the white space that the tag takes.
  void add_data_before(size_t tag, bool is_variable) {
    const std::string_view text = source_.substr(at_, tag - at_);
    size_t end = text.size();
    const char sign = sign_at(tag + 2);
    if (sign == '-')
      end = strip_spaces_right(text).size();
    else if (sign != '+' && !is_variable) {
      const size_t newline = text.rfind('\n');
      const size_t line = newline == text.npos ? 0 : newline + 1;
      if ((line > 0 || at_line_start_) && strip_spaces(text.substr(line)).empty()) end = line;
    }
    add_data(at_, at_ + end);
  }

  void set_at(size_t at) {
    at_line_start_ = at > 0 && source_[at - 1] == '\n';
    at_ = at;
  }

  void read_data() {
    size_t tag = at_;
    for (;; tag++) {
      tag = source_.find('{', tag);
      if (tag == source_.npos || tag + 1 == source_.size()) {
        add_data(at_, source_.size());
        at_ = source_.size();
        return;
      }
      if (const char c = source_[tag + 1]; c == '{' || c == '%' || c == '#') break;
    }
    const char kind = source_[tag + 1];
    add_data_before(tag, kind == '{');
    if (kind == '#') return read_comment(tag);
    const size_t raw = kind == '%' ? end_of_word_block(tag, "raw", false) : std::string::npos;
    if (raw != std::string::npos) return read_raw(tag, raw);
    read_tag(tag, kind == '{');
  }

  void read_comment(size_t tag) {
    const size_t begin = tag + 2 + (sign_at(tag + 2) ? 1 : 0);
    for (size_t i = begin; i < source_.size(); i++) {
      const size_t end = end_of_block(i, "#}");
      if (end != std::string::npos) return set_at(end);
    }
    if (begin == source_.size()) return set_at(begin);  // as in jinja2
    fail_at(tag, "the comment has no end");
  }

  void read_raw(size_t tag, size_t begin) {
    set_at(begin);
    for (size_t i = begin; (i = source_.find("{%", i)) != source_.npos; i++) {
      const size_t end = end_of_word_block(i, "endraw", true);
      if (end == std::string::npos) continue;
      add_data_before(i, false);
      return set_at(end);
    }
    if (begin == source_.size()) return;  // as in jinja2
    fail_at(tag, "the raw block has no end");
  }

  void read_tag(size_t tag, bool is_variable) {
    add(is_variable ? TokenKind::kVariableBegin : TokenKind::kBlockBegin, tag);
    size_t at = tag + 2 + (sign_at(tag + 2) ? 1 : 0);
    std::string brackets;  // the closing ones of those that are open
    while ((at = skip_spaces(at)) < source_.size()) {
      if (brackets.empty()) {
        const size_t end = is_variable ? end_of_variable(at) : end_of_block(at);
        if (end != std::string::npos) {
          add(is_variable ? TokenKind::kVariableEnd : TokenKind::kBlockEnd, at);
          return set_at(end);
        }
      }
      at = read_word(at, brackets);
    }
    at_ = at;
  }

  size_t end_of_variable(size_t at) const {
    if (starts_with(at, "-}}")) return skip_spaces(at + 3);
    return starts_with(at, "}}") ? at + 2 : std::string::npos;
  }

  /// Reads the token at `at`; returns the byte after it.
  size_t read_word(size_t at, std::string& brackets) {
    const char c = source_[at];
    if ('0' <= c && c <= '9') return read_number(at);
    if (c == '"' || c == '\'') return read_string(at);
    size_t next = at;
    if (const char32_t code = next_code_point(source_, next);
        is_name_part(code) || is_numeric(code))
      return read_name(at);
    for (const Operator& op : kOperators) {
      if (!starts_with(at, op.symbol)) continue;
      balance(at, brackets);
      add(op.kind, at);
      return at + op.symbol.size();
    }
    fail_at(at, "unexpected character ", source_.substr(at, next - at));
  }

  void balance(size_t at, std::string& brackets) {
    const char c = source_[at];
    if (c == '(') brackets += ')';
    if (c == '[') brackets += ']';
    if (c == '{') brackets += '}';
    if (c != ')' && c != ']' && c != '}') return;
    if (brackets.empty()) fail_at(at, "unexpected '", std::string(1, c), "'");
    if (brackets.back() != c)
      fail_at(at, "expected '", std::string(1, brackets.back()), "', got '", std::string(1, c),
              "'");
    brackets.pop_back();
  }

  size_t read_name(size_t at) {
    size_t end = at, next = at;
    bool valid = is_name_start(next_code_point(source_, next));
    while (end < source_.size()) {
      next = end;
      const char32_t code = next_code_point(source_, next);
      if (!is_name_part(code) && !is_numeric(code)) break;
      valid &= is_name_part(code);
      end = next;
    }
    if (!valid) fail_at(at, "invalid character in a name");
    add(TokenKind::kName, at).text = source_.substr(at, end - at);
    return end;
  }

  size_t read_string(size_t at) {
    size_t end = at + 1;
    while (end < source_.size() && source_[end] != source_[at]) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) fail_at(at, "the string has no end");
    Token& token = add(TokenKind::kString, at);
    token.text = unescape(source_.substr(at + 1, end - at - 1), where_, token.place);
    return end + 1;
  }

  size_t read_number(size_t at) {
    const bool after_dot = at > 0 && source_[at - 1] == '.';
    const NumberLiteral literal = number_literal(source_.substr(at), after_dot);
    Token& token = add(literal.is_real ? TokenKind::kFloat : TokenKind::kInteger, at);
    check(literal.fits, ErrorCode::kUnsupported, where_, token.place,
          ": the integer exceeds 64 bits");
    token.integer = literal.integer;
    token.real = literal.real;
    return at + literal.size;
  }

  const std::string owned_;
  const std::string_view source_;
  const std::string& where_;
  std::vector<Token> tokens_;
  size_t at_ = 0, counted_ = 0;
  SourcePosition place_;
  bool at_line_start_ = true;
};

}  // namespace

std::string describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::kEnd:
      return "the end of the template";
    case TokenKind::kData:
      return "text";
    case TokenKind::kBlockBegin:
      return "'{%'";
    case TokenKind::kBlockEnd:
      return "'%}'";
    case TokenKind::kVariableBegin:
      return "'{{'";
    case TokenKind::kVariableEnd:
      return "'}}'";
    case TokenKind::kName:
      return "'" + token.text + "'";
    case TokenKind::kString:
      return "a string";
    case TokenKind::kInteger:
    case TokenKind::kFloat:
      return "a number";
    default:
      for (const Operator& op : kOperators)
        if (op.kind == token.kind) return "'" + std::string(op.symbol) + "'";
      return "a token";
  }
}

std::vector<Token> tokenize(std::string_view source, const std::string& where) {
  check(is_utf8(source), ErrorCode::kFormat, where, "the template is not UTF-8");
  return Lexer(source, where).run();
}

}  // namespace wick::jinja
