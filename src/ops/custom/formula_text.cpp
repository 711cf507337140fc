#include "ops/custom/formula_text.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>

#include "base/identifier.h"
#include "ops/custom/formula_table.h"
#include "scalar/binary.h"
#include "scalar/compare.h"
#include "scalar/unary.h"
#include "wick/base/error.h"

namespace wick {
namespace {

constexpr size_t kMaxLength = 10'000;
constexpr int kMaxDepth = 200;  // of brackets and signs, which the parser handles recursively

struct Constant {
  std::string_view name;
  const char* code;
};
constexpr Constant kConstants[] = {{"pi", "C(kPi)"}, {"inf", "C(kInf)"}, {"nan", "C(kNan)"}};

struct Operator {
  const char* sign;
  const char* op;
};
constexpr Operator kComparisons[] = {{"<=", Le::op.name}, {">=", Ge::op.name}, {"==", Eq::op.name},
                                     {"!=", Ne::op.name}, {"<", Lt::op.name},  {">", Gt::op.name}};
constexpr Operator kSums[] = {{"+", Add::op.name}, {"-", Sub::op.name}};
constexpr Operator kProducts[] = {
    {"*", Mul::op.name}, {"/", Div::op.name}, {"%", Remainder::op.name}};

bool is_letter(char c) { return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return '0' <= c && c <= '9'; }

/// A part of the formula, translated to C++.
struct Value {
  std::string code;
  bool is_bool;
};

class Parser {
 public:
  Parser(const std::string& name, const std::string& text, const std::vector<std::string>& inputs)
      : name_(name), text_(text), inputs_(inputs) {}

  Formula parse() {
    if (text_.size() > kMaxLength)
      fail_here("expected at most 10000 characters, got " + std::to_string(text_.size()));
    const Value value = choice();
    if (!at_end()) fail_expected("an operator or the end");
    if (reals_ && !of_integers_.empty()) {
      begin_ = of_integers_at_;
      fail_here("'" + of_integers_ + "' takes only integers, but the formula computes in floats");
    }
    return {value.code, value.is_bool, reals_, of_integers_};
  }

 private:
  [[noreturn]] void fail_here(const std::string& what) const {
    const std::string shown = text_.size() <= 200 ? text_ : text_.substr(0, 200) + "...";
    std::string line;  // control characters become spaces: an error is one line
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
  /// Consumes `sign` if it comes next. Callers try longer signs first.
  bool take(std::string_view sign) {
    skip_space();
    if (text_.compare(at_, sign.size(), sign) != 0) return false;
    at_ += sign.size();
    return true;
  }
  /// Consumes the next operator if it is one of these and returns its op, else nullptr.
  template <size_t n>
  const char* take_operator(const Operator (&operators)[n]) {
    for (const Operator& o : operators)
      if (take(o.sign)) return o.op;
    return nullptr;
  }
  void need(std::string_view sign) {
    if (!take(sign)) fail_expected("'" + std::string(sign) + "'");
  }

  static std::string number(const Value& v) {
    return v.is_bool ? "number<S>(" + v.code + ")" : v.code;
  }
  std::string truth(const Value& v) {
    return v.is_bool ? v.code : call_op(Ne::op.name, {v, {"C(0)", false}}).code;
  }
  Value call(const FormulaFunction& function, const std::vector<Value>& arguments) {
    reals_ = reals_ || function.rule == DTypeRule::kFloats;
    std::string code = "call<" + std::string(function.type) + ">(";
    for (size_t i = 0; i < arguments.size(); i++) code += (i ? ", " : "") + number(arguments[i]);
    return {code + ")", function.is_bool};
  }
  Value call_op(const char* op, const std::vector<Value>& arguments) {
    return call(*find_formula_function(op), arguments);
  }

  Value choice() {
    const Value condition = either();
    if (!take("?")) return condition;
    const Deeper deeper(*this);
    const Value yes = choice();
    need(":");
    const Value no = choice();
    const bool is_bool = yes.is_bool && no.is_bool;
    return {(is_bool ? "choose(" + truth(condition) + ", " + yes.code + ", " + no.code
                     : "select(" + truth(condition) + ", " + number(yes) + ", " + number(no)) +
                ")",
            is_bool};
  }
  Value either() {
    Value left = both();
    while (take("||")) left = {"either(" + truth(left) + ", " + truth(both()) + ")", true};
    return left;
  }
  Value both() {
    Value left = comparison();
    while (take("&&")) left = {"both(" + truth(left) + ", " + truth(comparison()) + ")", true};
    return left;
  }
  Value comparison() {
    Value left = sum();
    if (const char* op = take_operator(kComparisons)) {
      left = call_op(op, {left, sum()});
      skip_space();
      if (at_ < text_.size() && (text_[at_] == '<' || text_[at_] == '>' || text_[at_] == '='))
        fail_here("chained comparisons need parentheses");
    }
    return left;
  }
  Value sum() {
    Value left = product();
    while (const char* op = take_operator(kSums)) left = call_op(op, {left, product()});
    return left;
  }
  Value product() {
    Value left = signed_value();
    while (const char* op = take_operator(kProducts)) left = call_op(op, {left, signed_value()});
    return left;
  }
  Value signed_value() {
    const Deeper deeper(*this);
    if (take("-")) return call_op(Neg::op.name, {signed_value()});
    if (take("+")) return {number(signed_value()), false};
    if (take("!")) return {"is_not(" + truth(signed_value()) + ")", true};
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
      if (error != std::errc()) fail_here("the number is out of range of f64");
      reals_ = true;
      return {"C(" + digits_of + ")", false};
    }
    int64_t value = 0;
    const auto [end, error] =
        std::from_chars(digits_of.data(), digits_of.data() + digits_of.size(), value);
    if (error != std::errc()) fail_here("the number is out of range of i64");
    return {"C(" + std::to_string(value) + "LL)", false};  // no leading zeros: octal
  }

  Value named() {
    const size_t begin = at_;
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) at_++;
    const std::string name = text_.substr(begin, at_ - begin);
    if (std::find(inputs_.begin(), inputs_.end(), name) != inputs_.end())
      return {"in_" + name, false};
    begin_ = begin;
    for (const Constant& constant : kConstants) {
      if (constant.name != name) continue;
      reals_ = true;
      return {constant.code, false};
    }
    const FormulaFunction* function = find_formula_function(name);
    if (!function) fail_here("unknown name '" + name + "'");
    if (of_integers_.empty() &&
        (function->rule == DTypeRule::kBits || function->rule == DTypeRule::kIntegers)) {
      of_integers_ = name;
      of_integers_at_ = begin;
    }
    need("(");
    std::vector<Value> arguments;
    for (int i = 0; i < function->arguments; i++) {
      const bool may_end = i >= function->arguments - function->optional;
      if (i && !(may_end ? take(",") : (need(","), true))) break;
      arguments.push_back(choice());
    }
    need(")");
    arguments.resize(size_t(function->arguments), {"C(0)", false});
    return call(*function, arguments);
  }

  /// Counts the parser's recursion depth.
  struct Deeper {
    explicit Deeper(Parser& p) : parser(p) {
      if (++parser.depth_ > kMaxDepth) parser.fail_here("it is nested more than 200 levels deep");
    }
    ~Deeper() { parser.depth_--; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
    Parser& parser;
  };

  const std::string& name_;
  const std::string& text_;
  const std::vector<std::string>& inputs_;
  size_t at_ = 0, begin_ = 0;  // begin_: start of the current token, for errors
  int depth_ = 0;
  bool reals_ = false;
  std::string of_integers_;  // the first integer-only function
  size_t of_integers_at_ = 0;
};

}  // namespace

Formula parse_formula(const std::string& name, const std::string& formula,
                      const std::vector<std::string>& inputs) {
  for (size_t i = 0; i < inputs.size(); i++) {
    const std::string& input = inputs[i];
    check(is_identifier(input), ErrorCode::kInvalidArgument, name, "input name '", input,
          "' is not an identifier");
    check(std::find(inputs.begin(), inputs.begin() + long(i), input) == inputs.begin() + long(i),
          ErrorCode::kInvalidArgument, name, "two inputs are named '", input, "'");
  }
  return Parser(name, formula, inputs).parse();
}

}  // namespace wick
