#include "ops/custom/formula_text.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>

#include "wick/base/error.h"

namespace wick {
namespace {

constexpr size_t kMaxLength = 10'000;
constexpr int kMaxDepth = 200;  // of brackets and signs: the parser calls itself

struct Function {
  std::string_view name;
  int arguments;
  bool real;  // integers compute it in f32
};
constexpr Function kFunctions[] = {
    {"abs", 1, false},   {"sign", 1, false},   {"relu", 1, false},  {"min", 2, false},
    {"max", 2, false},   {"clamp", 3, false},  {"floor", 1, false}, {"ceil", 1, false},
    {"round", 1, false}, {"trunc", 1, false},  {"exp", 1, true},    {"exp2", 1, true},
    {"expm1", 1, true},  {"log", 1, true},     {"log2", 1, true},   {"log10", 1, true},
    {"log1p", 1, true},  {"sqrt", 1, true},    {"rsqrt", 1, true},  {"sin", 1, true},
    {"cos", 1, true},    {"tan", 1, true},     {"asin", 1, true},   {"acos", 1, true},
    {"atan", 1, true},   {"sinh", 1, true},    {"cosh", 1, true},   {"tanh", 1, true},
    {"erf", 1, true},    {"sigmoid", 1, true}, {"silu", 1, true},   {"pow", 2, true},
    {"atan2", 2, true},  {"fmod", 2, true},    {"hypot", 2, true}};
constexpr std::string_view kConstants[] = {"pi", "inf", "nan"};

bool is_letter(char c) { return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return '0' <= c && c <= '9'; }

/// A part of the formula, as C++.
struct Value {
  std::string code;
  bool is_bool;
};

class Parser {
 public:
  Parser(const std::string& name, const std::string& text, const std::vector<std::string>& inputs)
      : name_(name), text_(text), inputs_(inputs) {}

  Formula parse() {
    if (text_.size() > kMaxLength) fail_here("it has over 10000 characters");
    const Value value = choice();
    if (!at_end()) fail_expected("an operator or the end");
    return {value.code, value.is_bool, reals_};
  }

 private:
  [[noreturn]] void fail_here(const std::string& what) const {
    const std::string shown = text_.size() <= 200 ? text_ : text_.substr(0, 200) + "...";
    std::string line;  // an error is one line
    for (const char c : shown) line += static_cast<unsigned char>(c) < 32 ? ' ' : c;
    fail(ErrorCode::kInvalidArgument, name_, "'", line, "': at ", begin_ + 1, ": ", what);
  }
  [[noreturn]] void fail_expected(const std::string& what) {
    skip_space();
    begin_ = at_;
    const auto c = begin_ < text_.size() ? static_cast<unsigned char>(text_[begin_]) : 0;
    fail_here("expected " + what + ", got " +
              (begin_ >= text_.size() ? "the end"
               : 32 <= c && c < 127   ? "'" + text_.substr(begin_, 1) + "'"
                                      : "byte " + std::to_string(int(c))));
  }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n'))
      at_++;
    begin_ = at_;
  }
  bool at_end() {
    skip_space();
    return at_ == text_.size();
  }
  /// Takes the sign if it comes next. Longer ones must be asked for first.
  bool take(std::string_view sign) {
    skip_space();
    if (text_.compare(at_, sign.size(), sign) != 0) return false;
    at_ += sign.size();
    return true;
  }
  void need(std::string_view sign) {
    if (!take(sign)) fail_expected("'" + std::string(sign) + "'");
  }

  static std::string number(const Value& v) { return v.is_bool ? "C(" + v.code + ")" : v.code; }
  static std::string truth(const Value& v) {
    return v.is_bool ? v.code : "(" + v.code + " != C(0))";
  }
  static Value call(const char* function, const Value& a, const Value& b) {
    return {std::string(function) + "(" + number(a) + ", " + number(b) + ")", false};
  }

  Value choice() {
    const Value condition = either();
    if (!take("?")) return condition;
    const Deeper deeper(*this);
    const Value yes = choice();
    need(":");
    const Value no = choice();
    const bool is_bool = yes.is_bool && no.is_bool;
    return {"(" + truth(condition) + " ? " + (is_bool ? yes.code : number(yes)) + " : " +
                (is_bool ? no.code : number(no)) + ")",
            is_bool};
  }
  Value either() {
    Value left = both();
    while (take("||")) left = {"(" + truth(left) + " | " + truth(both()) + ")", true};
    return left;
  }
  Value both() {
    Value left = comparison();
    while (take("&&")) left = {"(" + truth(left) + " & " + truth(comparison()) + ")", true};
    return left;
  }
  Value comparison() {
    Value left = sum();
    for (const char* sign : {"<=", ">=", "==", "!=", "<", ">"}) {
      if (!take(sign)) continue;
      const Value right = sum();
      left = {"(" + number(left) + " " + sign + " " + number(right) + ")", true};
      skip_space();
      if (at_ < text_.size() && (text_[at_] == '<' || text_[at_] == '>' || text_[at_] == '='))
        fail_here("comparisons in a row need brackets");
      break;
    }
    return left;
  }
  Value sum() {
    Value left = product();
    for (;;) {
      if (take("+"))
        left = call("add", left, product());
      else if (take("-"))
        left = call("sub", left, product());
      else
        return left;
    }
  }
  Value product() {
    Value left = signed_value();
    for (;;) {
      if (take("*")) {
        left = call("mul", left, signed_value());
      } else if (take("/")) {
        reals_ = true;
        left = call("div", left, signed_value());
      } else if (take("%")) {
        left = call("remainder_of", left, signed_value());
      } else {
        return left;
      }
    }
  }
  Value signed_value() {
    const Deeper deeper(*this);
    if (take("-")) return {"neg(" + number(signed_value()) + ")", false};
    if (take("+")) return {number(signed_value()), false};
    if (take("!")) return {"!" + truth(signed_value()), true};
    return value();
  }

  Value value() {
    skip_space();
    if (take("(")) {
      Value inner = choice();
      need(")");
      inner.code = "(" + inner.code + ")";
      return inner;
    }
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    if (is_digit(c) || c == '.') return literal();
    if (is_letter(c)) return named();
    fail_expected("a value");
  }

  Value literal() {
    const size_t begin = at_;
    bool real = false;
    const auto digits = [&] {
      const size_t from = at_;
      while (at_ < text_.size() && is_digit(text_[at_])) at_++;
      return at_ > from;
    };
    bool any = digits();
    if (at_ < text_.size() && text_[at_] == '.') {
      real = true;
      at_++;
      any = digits() || any;
    }
    if (!any) fail_here("a number has no digits");
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      real = true;
      at_++;
      if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) at_++;
      if (!digits()) fail_here("a number's exponent has no digits");
    }
    if (at_ < text_.size() && (is_letter(text_[at_]) || text_[at_] == '.'))
      fail_here("a number runs into '" + text_.substr(at_, 1) + "'");
    const std::string digits_of = text_.substr(begin, at_ - begin);
    if (real) {
      double value = 0;
      const auto [end, error] =
          std::from_chars(digits_of.data(), digits_of.data() + digits_of.size(), value);
      if (error != std::errc()) fail_here("f64 does not hold the number");
      reals_ = true;
      return {"C(" + digits_of + ")", false};
    }
    int64_t value = 0;
    const auto [end, error] =
        std::from_chars(digits_of.data(), digits_of.data() + digits_of.size(), value);
    if (error != std::errc()) fail_here("i64 does not hold the number");
    return {"C(" + std::to_string(value) + "LL)", false};  // without leading zeros: no octal
  }

  Value named() {
    const size_t begin = at_;
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) at_++;
    const std::string name = text_.substr(begin, at_ - begin);
    if (std::find(inputs_.begin(), inputs_.end(), name) != inputs_.end())
      return {"in_" + name, false};
    begin_ = begin;
    if (std::find(std::begin(kConstants), std::end(kConstants), name) != std::end(kConstants)) {
      reals_ = true;
      return {"constant_" + name + "<C>()", false};
    }
    const Function* function = std::find_if(std::begin(kFunctions), std::end(kFunctions),
                                            [&](const Function& f) { return f.name == name; });
    if (function == std::end(kFunctions)) fail_here("there is no '" + name + "'");
    reals_ = reals_ || function->real;
    need("(");
    std::string code = "f_" + name + "(";
    for (int i = 0; i < function->arguments; i++) {
      if (i) need(",");
      code += (i ? ", " : "") + number(choice());
    }
    need(")");
    return {code + ")", false};
  }

  /// Counts how deep the parser is in itself.
  struct Deeper {
    explicit Deeper(Parser& p) : parser(p) {
      if (++parser.depth_ > kMaxDepth) parser.fail_here("it is nested over 200 deep");
    }
    ~Deeper() { parser.depth_--; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
    Parser& parser;
  };

  const std::string& name_;
  const std::string& text_;
  const std::vector<std::string>& inputs_;
  size_t at_ = 0, begin_ = 0;  // begin_: of what is looked at, for errors
  int depth_ = 0;
  bool reals_ = false;
};

}  // namespace

bool is_identifier(const std::string& text) {
  return !text.empty() && is_letter(text[0]) &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_letter(c) || is_digit(c); });
}

Formula parse_formula(const std::string& name, const std::string& formula,
                      const std::vector<std::string>& inputs) {
  for (size_t i = 0; i < inputs.size(); i++) {
    const std::string& input = inputs[i];
    check(is_identifier(input), ErrorCode::kInvalidArgument, name, "the input's name '", input,
          "' is no identifier");
    check(std::find(inputs.begin(), inputs.begin() + long(i), input) == inputs.begin() + long(i),
          ErrorCode::kInvalidArgument, name, "two inputs are named '", input, "'");
  }
  return Parser(name, formula, inputs).parse();
}

}  // namespace wick
