// GBNF. Source: the guide beside llama.cpp's grammars (MIT).
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "text/grammar/front_ends.h"
#include "text/grammar/text_reader.h"

namespace wick::grammars {
namespace {

using Expr = Syntax::Expr;

class Gbnf {
 public:
  Gbnf(std::string_view text, Syntax& syntax) : in_(text, syntax.where()), syntax_(syntax) {}

  Syntax::Rule read() {
    skip_space(true);
    while (!in_.at_end()) read_rule();
    const auto root = rules_.find("root");
    if (root == rules_.end() || !syntax_.is_defined(root->second.rule))
      in_.fail_format("expected a rule \"root\"");
    for (const auto& [name, use] : rules_)
      if (!syntax_.is_defined(use.rule))
        in_.fail_at(use.first, ErrorCode::kFormat, "the rule \"", name, "\" is not defined");
    return root->second.rule;
  }

 private:
  struct Use {
    Syntax::Rule rule;
    size_t first;  // place in the text
  };

  static bool is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  }

  void skip_space(bool lines) {
    while (!in_.at_end()) {
      const char c = in_.peek();
      if (c == '#')
        while (!in_.at_end() && in_.peek() != '\n' && in_.peek() != '\r') in_.take_character();
      else if (c == ' ' || c == '\t' || (lines && (c == '\n' || c == '\r')))
        in_.take_character();
      else
        return;
    }
  }

  std::string take_name() {
    const size_t begin = in_.at();
    while (is_name(in_.peek())) in_.take_character();
    if (in_.at() == begin) in_.fail_expected("the name of a rule");
    return std::string(in_.since(begin));
  }

  Syntax::Rule rule_of(const std::string& name, size_t at) {
    const auto known = rules_.find(name);
    if (known != rules_.end()) return known->second.rule;
    return rules_.emplace(name, Use{syntax_.add_rule(), at}).first->second.rule;
  }

  void read_rule() {
    const size_t begin = in_.at();
    const std::string name = take_name();
    const Syntax::Rule rule = rule_of(name, begin);
    if (syntax_.is_defined(rule))
      in_.fail_at(begin, ErrorCode::kFormat, "the rule \"", name, "\" is defined twice");
    skip_space(false);
    if (!in_.take("::=")) in_.fail_expected("\"::=\"");
    skip_space(true);
    syntax_.define(rule, read_choice(0));
    if (!in_.at_end() && in_.peek() != '\n' && in_.peek() != '\r')
      in_.fail_expected("a part of a rule or the end of the line");
    skip_space(true);
  }

  Expr read_choice(int nesting) {
    std::vector<Expr> choices = {read_sequence(nesting)};
    while (in_.take("|")) {
      skip_space(true);
      choices.push_back(read_sequence(nesting));
    }
    return syntax_.choice(std::move(choices));
  }

  Expr read_sequence(int nesting) {
    const bool lines = nesting > 0;
    std::vector<Expr> parts;
    while (!in_.at_end()) {
      const char c = in_.peek();
      if (c == '"')
        parts.push_back(read_text());
      else if (c == '[')
        parts.push_back(read_class());
      else if (c == '(')
        parts.push_back(read_group(nesting));
      else if (in_.take("."))
        parts.push_back(syntax_.characters(CodePoints::all()));
      else if (c == '<' || c == '!')
        in_.fail_at(in_.at(), ErrorCode::kUnsupported, "tokens (\"<...>\") are not supported");
      else if (is_name(c))
        parts.push_back(read_call());
      else if (c == '*' || c == '+' || c == '?' || c == '{')
        read_repetition(parts);
      else
        break;
      skip_space(lines);
    }
    return syntax_.sequence(std::move(parts));
  }

  Expr read_call() {
    const size_t begin = in_.at();
    return syntax_.call(rule_of(take_name(), begin));
  }

  Expr read_group(int nesting) {
    if (nesting == TextReader::kMaxNesting)
      in_.fail_at(in_.at(), ErrorCode::kUnsupported, "more than ", nesting,
                  " groups in one another");
    in_.take("(");
    skip_space(true);
    const Expr inside = read_choice(nesting + 1);
    if (!in_.take(")")) in_.fail_expected("\")\"");
    return inside;
  }

  char32_t read_character() {
    const size_t begin = in_.at();
    const char32_t c = in_.take_character();
    if (c != '\\') return c;
    const char32_t escape = in_.take_character();
    switch (escape) {
      case 'x':
        return in_.take_hex(2);
      case 'u':
        return in_.take_hex(4);
      case 'U':
        return in_.take_hex(8);
      case 't':
        return '\t';
      case 'r':
        return '\r';
      case 'n':
        return '\n';
      case '\\':
      case '"':
      case '[':
      case ']':
      case '-':
        return escape;
      default:
        in_.fail_at(begin, ErrorCode::kFormat,
                    "expected an escape (\\n \\r \\t \\\\ \\\" \\[ \\] \\- \\xHH \\uHHHH "
                    "\\UHHHHHHHH), got \"",
                    in_.since(begin), "\"");
    }
  }

  Expr read_text() {
    in_.take("\"");
    std::string text;
    while (!in_.take("\"")) {
      if (in_.at_end()) in_.fail_expected("the quote that ends the text");
      append_code_point(text, read_character());
    }
    return syntax_.text(std::move(text));
  }

  Expr read_class() {
    const size_t begin = in_.at();
    in_.take("[");
    const bool negated = in_.take("^");
    std::vector<CodePoints::Range> ranges;
    while (!in_.take("]")) {
      const size_t at = in_.at();
      const char32_t first = read_character();
      char32_t last = first;
      if (in_.peek() == '-' && in_.peek(1) != ']') {
        in_.take("-");
        last = read_character();
      }
      if (first > last)
        in_.fail_at(at, ErrorCode::kFormat, "the range \"", in_.since(at), "\" is empty");
      ranges.push_back({first, last});
    }
    if (ranges.empty()) in_.fail_at(begin, ErrorCode::kFormat, "the brackets have no character");
    const CodePoints set(std::move(ranges));
    return syntax_.characters(negated ? set.complement() : set);
  }

  /// Replaces the last part by its repetition.
  void read_repetition(std::vector<Expr>& parts) {
    const size_t begin = in_.at();
    if (parts.empty())
      in_.fail_at(begin, ErrorCode::kFormat, "nothing stands before \"", std::string(1, in_.peek()),
                  "\"");
    uint32_t min = 0, max = kUnbounded;
    if (in_.take("+")) {
      min = 1;
    } else if (in_.take("?")) {
      max = 1;
    } else if (!in_.take("*")) {
      in_.take("{");
      skip_space(true);
      min = max = in_.take_count();
      skip_space(true);
      if (in_.take(",")) {
        skip_space(true);
        max = in_.next_is_digit() ? in_.take_count() : kUnbounded;
        skip_space(true);
      }
      if (!in_.take("}")) in_.fail_expected("\"}\"");
      if (min > max)
        in_.fail_at(begin, ErrorCode::kFormat, "the repetition \"", in_.since(begin),
                    "\" is empty");
    }
    parts.back() = syntax_.repeat(parts.back(), min, max);
  }

  TextReader in_;
  Syntax& syntax_;
  std::map<std::string, Use> rules_;
};

}  // namespace

Syntax::Rule read_gbnf(std::string_view text, Syntax& syntax) { return Gbnf(text, syntax).read(); }

}  // namespace wick::grammars
