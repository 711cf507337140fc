// Regular expressions, in the syntax that ECMAScript and Python have in common.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "text/grammar/front_ends.h"
#include "text/grammar/text_reader.h"

namespace wick::grammars {
namespace {

using Expr = Syntax::Expr;

CodePoints digits() { return {{'0', '9'}}; }
CodePoints word_characters() { return {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}; }
CodePoints ascii_spaces() { return {{'\t', '\r'}, {' ', ' '}}; }
// ECMAScript's WhiteSpace and LineTerminator.
CodePoints ecma_spaces() {
  return ascii_spaces().with({{0xa0, 0xa0},
                              {0x1680, 0x1680},
                              {0x2000, 0x200a},
                              {0x2028, 0x2029},
                              {0x202f, 0x202f},
                              {0x205f, 0x205f},
                              {0x3000, 0x3000},
                              {0xfeff, 0xfeff}});
}
CodePoints ecma_line_ends() { return {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}; }

class Regex {
 public:
  /// searches: the texts have a match in them, by ECMAScript's rules.
  Regex(std::string_view text, Syntax& syntax, const std::string& where, bool searches)
      : in_(text, where), syntax_(syntax), searches_(searches) {}

  Expr read() {
    const Expr all = read_choice(0);
    if (!in_.at_end()) in_.fail_format("no \"(\" stands before \")\"");
    return all;
  }

 private:
  [[noreturn]] void fail_unsupported(size_t begin, std::string_view name) {
    in_.fail_at(begin, ErrorCode::kUnsupported, name, " (", in_.since(begin), ") is not supported");
  }
  [[noreturn]] void fail_anchor(size_t at) {
    in_.fail_at(
        at, ErrorCode::kUnsupported,
        "\"^\" is supported at the start of an outermost choice alone, and \"$\" at its end");
  }

  Expr read_choice(int nesting) {
    std::vector<Expr> choices = {read_sequence(nesting)};
    while (in_.take("|")) choices.push_back(read_sequence(nesting));
    return syntax_.choice(std::move(choices));
  }

  Expr read_sequence(int nesting) {
    std::vector<Expr> parts;
    const bool has_begin = nesting == 0 && in_.take("^");
    bool has_end = false;
    if (nesting == 0 && searches_ && !has_begin) parts.push_back(any_text());
    while (!in_.at_end() && in_.peek() != '|' && in_.peek() != ')') {
      const size_t begin = in_.at();
      if (nesting == 0 && in_.take("$")) {
        if (!in_.at_end() && in_.peek() != '|') fail_anchor(begin);
        has_end = true;
        break;
      }
      const Expr part = read_part(nesting);
      const std::optional<Counts> counts = read_quantifier();
      parts.push_back(counts ? syntax_.repeat(part, counts->min, counts->max) : part);
    }
    if (nesting == 0 && searches_ && !has_end) parts.push_back(any_text());
    return syntax_.sequence(std::move(parts));
  }
  Expr any_text() { return syntax_.repeat(syntax_.characters(CodePoints::all()), 0, kUnbounded); }
  CodePoints spaces() const { return searches_ ? ecma_spaces() : ascii_spaces(); }
  CodePoints line_ends() const { return searches_ ? ecma_line_ends() : CodePoints{{'\n', '\n'}}; }

  struct Counts {
    uint32_t min, max;
  };
  std::optional<Counts> read_quantifier() {
    const size_t begin = in_.at();
    Counts counts = {0, kUnbounded};
    if (in_.take("+")) {
      counts.min = 1;
    } else if (in_.take("?")) {
      counts.max = 1;
    } else if (in_.take("{")) {
      if (!in_.next_is_digit()) {
        in_.go_to(begin);  // "{" is a character, as is "{,n}" in ECMAScript
        if (in_.peek(1) == ',')
          in_.fail_at(begin, ErrorCode::kUnsupported,
                      "a quantifier without a lower limit is not supported");
        return {};
      }
      counts.min = counts.max = in_.take_count();
      if (in_.take(",")) counts.max = in_.next_is_digit() ? in_.take_count() : kUnbounded;
      if (!in_.take("}")) in_.fail_expected("\"}\"");
      if (counts.min > counts.max)
        in_.fail_at(begin, ErrorCode::kFormat, "the quantifier \"", in_.since(begin),
                    "\" is empty");
    } else if (!in_.take("*")) {
      return {};
    }
    in_.take("?");  // lazy: the same texts
    if (in_.take("+")) fail_unsupported(begin, "a possessive quantifier");
    if (in_.peek() == '*' || in_.peek() == '?' ||
        (in_.peek() == '{' && in_.peek(1) >= '0' && in_.peek(1) <= '9'))
      in_.fail_format("a quantifier stands before \"", std::string(1, in_.peek()), "\"");
    return counts;
  }

  Expr read_part(int nesting) {
    const size_t begin = in_.at();
    switch (in_.peek()) {
      case '(':
        return read_group(nesting);
      case '[':
        return syntax_.characters(read_class());
      case '.':
        in_.take(".");
        return syntax_.characters(line_ends().complement());
      case '\\':
        return syntax_.characters(read_escape(false));
      case '*':
      case '+':
      case '?':
        in_.fail_format("nothing stands before \"", std::string(1, in_.peek()), "\"");
      case '^':
      case '$':
        fail_anchor(begin);
      default:
        break;
    }
    std::string text;
    append_code_point(text, in_.take_character());
    return syntax_.text(std::move(text));
  }

  Expr read_group(int nesting) {
    const size_t begin = in_.at();
    if (nesting == TextReader::kMaxNesting)
      in_.fail_at(begin, ErrorCode::kUnsupported, "more than ", nesting, " groups in one another");
    in_.take("(");
    if (in_.take("?")) {
      const bool is_python = in_.take("P");
      if (in_.take("=") || in_.take("!"))
        fail_unsupported(begin, is_python ? "a back reference" : "a look-ahead");
      if (in_.take("<=") || in_.take("<!")) fail_unsupported(begin, "a look-behind");
      if (in_.take("<")) {
        const size_t name = in_.at();
        while (!in_.at_end() && in_.peek() != '>') in_.take_character();
        if (in_.at() == name) in_.fail_expected("a name");
        if (!in_.take(">")) in_.fail_expected("\">\"");
      } else if (is_python || !in_.take(":")) {
        in_.take_character();
        fail_unsupported(begin, "a group of this kind");
      }
    }
    const Expr inside = read_choice(nesting + 1);
    if (!in_.take(")")) in_.fail_expected("\")\"");
    return inside;
  }

  CodePoints read_class() {
    const size_t begin = in_.at();
    in_.take("[");
    const bool negated = in_.take("^");
    std::vector<CodePoints::Range> ranges;
    while (!in_.take("]")) {
      if (in_.at_end()) in_.fail_at(begin, ErrorCode::kFormat, "no \"]\" ends the brackets");
      const size_t at = in_.at();
      const CodePoints first = read_class_character();
      if (in_.peek() != '-' || in_.peek(1) == ']') {
        ranges.insert(ranges.end(), first.ranges().begin(), first.ranges().end());
        continue;
      }
      in_.take("-");
      const CodePoints last = read_class_character();
      if (!is_one(first) || !is_one(last))
        in_.fail_at(at, ErrorCode::kFormat, "\"", in_.since(at), "\" is no range of characters");
      const CodePoints::Range range = {first.ranges()[0].first, last.ranges()[0].first};
      if (range.first > range.last)
        in_.fail_at(at, ErrorCode::kFormat, "the range \"", in_.since(at), "\" is empty");
      ranges.push_back(range);
    }
    if (in_.at() == begin + (negated ? 3 : 2))
      in_.fail_at(begin, ErrorCode::kFormat, "the brackets have no character");
    const CodePoints set(std::move(ranges));
    return negated ? set.complement() : set;
  }
  static bool is_one(const CodePoints& set) {
    return set.ranges().size() == 1 && set.ranges()[0].first == set.ranges()[0].last;
  }
  CodePoints read_class_character() {
    if (in_.peek() == '\\') return read_escape(true);
    const char32_t c = in_.take_character();
    return {{c, c}};
  }

  CodePoints read_escape(bool in_class) {
    const size_t begin = in_.at();
    in_.take("\\");
    if (in_.at_end()) in_.fail_expected("a character after \"\\\"");
    const char32_t c = in_.take_character();
    const auto one = [](char32_t code) { return CodePoints{{code, code}}; };
    switch (c) {
      case 'd':
        return digits();
      case 'D':
        return digits().complement();
      case 'w':
        return word_characters();
      case 'W':
        return word_characters().complement();
      case 's':
        return spaces();
      case 'S':
        return spaces().complement();
      case 't':
        return one('\t');
      case 'n':
        return one('\n');
      case 'v':
        return one('\v');
      case 'f':
        return one('\f');
      case 'r':
        return one('\r');
      case '0':
        if (in_.next_is_digit()) fail_unsupported(begin, "an octal escape");
        return one(0);
      case 'x':
        return one(in_.take_hex(2));
      case 'u':
        return one(read_unicode(begin));
      case 'c': {
        const char letter = char(in_.peek() & ~0x20);
        if (letter < 'A' || letter > 'Z') in_.fail_expected("a letter after \"\\c\"");
        return one(in_.take_character() & 0x1f);
      }
      case 'b':
        if (in_class) return one('\b');
        fail_unsupported(begin, "a word boundary");
      case 'p':
      case 'P':
        fail_unsupported(begin, "a property of characters");
      case 'k':
        fail_unsupported(begin, "a back reference");
      default:
        break;
    }
    if (c >= '1' && c <= '9') fail_unsupported(begin, "a back reference");
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) fail_unsupported(begin, "the escape");
    return one(c);
  }

  /// XXXX, two of them for a pair of surrogates, or {X...}.
  char32_t read_unicode(size_t begin) {
    char32_t code = 0;
    if (in_.take("{")) {
      int digits = 0;
      for (; in_.peek() != '}' && digits < 7; digits++) code = code << 4 | in_.take_hex_digits(1);
      if (digits == 0) in_.fail_expected("hexadecimal digits");
      if (!in_.take("}")) in_.fail_expected("\"}\"");
    } else {
      code = in_.take_hex_digits(4);
      if (code >= 0xd800 && code < 0xdc00 && in_.take("\\u")) {
        const char32_t low = in_.take_hex_digits(4);
        if (low < 0xdc00 || low > 0xdfff)
          in_.fail_at(begin, ErrorCode::kFormat, "a surrogate is no character");
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
      }
    }
    in_.check_character(code, begin);
    return code;
  }

  TextReader in_;
  Syntax& syntax_;
  bool searches_;
};

}  // namespace

Syntax::Expr read_regex(std::string_view text, Syntax& syntax) {
  return Regex(text, syntax, syntax.where(), false).read();
}

Syntax::Expr read_regex_search(std::string_view text, Syntax& syntax, const std::string& where) {
  return Regex(text, syntax, where, true).read();
}

}  // namespace wick::grammars
