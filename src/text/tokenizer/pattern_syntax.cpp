#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "text/tokenizer/characters.h"
#include "text/tokenizer/pattern.h"
#include "text/tokenizer/properties.h"
#include "wick/base/error.h"

namespace wick::tokenization {
namespace {

/// Reads an expression from left to right and writes it in PCRE2's syntax.
class Translator {
 public:
  Translator(std::string_view expression, const std::string& where, Unicode unicode)
      : in_(expression), where_(where), unicode_(unicode) {}

  std::string run() {
    std::vector<size_t> groups;  // where they start in out_
    size_t atom = 0;             // where a quantifier's operand starts
    while (at_ < in_.size()) {
      const char c = in_[at_];
      const size_t start = out_.size();
      if (c == '\\') {
        atom = start;
        escape();
      } else if (c == '[') {
        atom = start;
        out_ += bracket(0);
      } else if (c == '(') {
        groups.push_back(start);
        open_group(groups);
      } else if (c == ')') {
        if (!groups.empty()) {
          atom = groups.back();
          groups.pop_back();
        }
        out_ += in_[at_++];
      } else if (c == '{') {
        interval(atom);
      } else {
        const bool quantifier = c == '*' || c == '+' || c == '?';
        if (!quantifier) atom = start;
        do out_ += in_[at_++];
        while (at_ < in_.size() && !starts_character(in_[at_]));
      }
    }
    return std::move(out_);
  }

 private:
  static constexpr int kDeepest = 32;

  [[noreturn]] void fail_on(std::string_view construct) const {
    fail(ErrorCode::kUnsupported, where_, "pattern ", in_quotes(in_), ": wick does not have ",
         construct);
  }

  char peek(size_t ahead = 0) const { return at_ + ahead < in_.size() ? in_[at_ + ahead] : 0; }

  /// \p{...} or \P{...} at at_, and whether it is negated.
  std::pair<Property, bool> property() {
    bool negated = in_[at_ + 1] == 'P';
    const size_t end = in_.find('}', at_);
    if (peek(2) != '{' || end == in_.npos) fail_on("\\p without {NAME}");
    std::string_view name = in_.substr(at_ + 3, end - at_ - 3);
    if (name.starts_with('^')) {
      negated = !negated;
      name.remove_prefix(1);
    }
    at_ = end + 1;
    return {property_of(name, unicode_), negated};
  }

  std::string digits() const { return property_of("Nd", unicode_).items; }
  /// The items of \w outside brackets.
  std::string word() const { return word_items(unicode_) + std::string(kOtherWord); }

  void escape() {
    const char c = peek(1);
    const auto set = [&](bool negated, std::string_view items) {
      ((out_ += negated ? "[^" : "[") += items) += ']';
      at_ += 2;
    };
    switch (c) {
      case 's':
      case 'S':
        return set(c == 'S', kSpaces);
      case 'd':
      case 'D':
        return set(c == 'D', digits());
      case 'w':
      case 'W':
        return set(c == 'W', word());
      case 'h':
      case 'H':
        return set(c == 'H', "0-9a-fA-F");
      case 'b':
      case 'B': {
        const std::string in = "[" + word() + "]";
        out_ += c == 'b' ? "(?:(?<=" + in + ")(?!" + in + ")|(?<!" + in + ")(?=" + in + "))"
                         : "(?:(?<=" + in + ")(?=" + in + ")|(?<!" + in + ")(?!" + in + "))";
        at_ += 2;
        return;
      }
      case 'p':
      case 'P': {
        const auto [found, negated] = property();
        out_ += expression_of(found, negated);
        return;
      }
      default:
        out_ += character();
    }
  }

  /// An escape at at_ that both syntaxes read alike, within a class and outside.
  std::string character() {
    const char c = peek(1);
    if (at_ + 1 == in_.size()) fail_on("\\ at the end");
    if (c == 'u') {
      const std::string_view digits = in_.substr(at_ + 2, 4);
      at_ += 2 + digits.size();
      return "\\x{" + std::string(digits) + "}";
    }
    if (c == 'x' && peek(2) == '{') {
      const size_t end = std::min(in_.find('}', at_), in_.size() - 1);
      const std::string_view escaped = in_.substr(at_, end + 1 - at_);
      at_ = end + 1;
      return std::string(escaped);
    }
    at_ += 2;
    if (c == 'v') return "\\x0b";
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (letter && std::string_view("ntrfaexRXAzZG").find(c) == std::string_view::npos)
      fail_on(std::string("\\") + c);
    return std::string("\\") + c;
  }

  /// The class at at_ as an expression for one character.
  std::string bracket(int depth) {
    if (depth > kDeepest) fail_on("classes that are nested so deep");
    at_++;
    const bool negated = peek() == '^';
    if (negated) at_++;
    std::string items;                  // of a plain class
    std::vector<std::string> nested;    // other expressions of the union
    std::vector<std::string> operands;  // of &&
    const auto whole = [&] {
      std::string all = items.empty() && !nested.empty() ? "" : "[" + items + "]";
      for (const std::string& part : nested) all += (all.empty() ? "" : "|") + part;
      const bool plain = nested.empty();
      items.clear();
      nested.clear();
      return plain ? all : "(?:" + all + ")";
    };
    for (bool first = true;; first = false) {
      if (at_ >= in_.size()) fail_on("[ without ]");
      const char c = in_[at_];
      if (c == ']' && !first) break;
      if (in_.substr(at_).starts_with("[:")) {
        const size_t end = in_.find(":]", at_);
        if (end == in_.npos) fail_on("[: without :]");
        std::string_view name = in_.substr(at_ + 2, end - at_ - 2);
        const bool without = name.starts_with('^');
        if (without) name.remove_prefix(1);
        const std::optional<Property> found = posix_class(name, unicode_);
        if (!found) fail_on("[:" + std::string(name) + ":]");
        add(*found, without, items, nested);
        at_ = end + 2;
      } else if (c == '[') {
        nested.push_back(bracket(depth + 1));
      } else if (in_.substr(at_).starts_with("&&")) {
        at_ += 2;
        operands.push_back(whole());
      } else if (c == '\\') {
        class_escape(items, nested);
      } else {
        items += in_[at_++];
      }
    }
    at_++;
    if (operands.empty() && nested.empty()) return (negated ? "[^" : "[") + items + "]";
    std::string all;
    for (const std::string& operand : operands) all += "(?=" + operand + ")";
    all += whole();
    return negated ? "(?:(?!" + all + ")[\\x{0}-\\x{10ffff}])" : "(?:" + all + ")";
  }

  /// Adds a property to a class: to its items if they can spell it.
  static void add(const Property& property, bool negated, std::string& items,
                  std::vector<std::string>& nested) {
    if (property.negated == negated && property.except.empty())
      items += property.items;
    else
      nested.push_back(expression_of(property, negated));
  }

  void class_escape(std::string& items, std::vector<std::string>& nested) {
    const char c = peek(1);
    switch (c) {
      case 's':
        items += kSpaces;
        break;
      case 'd':
        items += digits();
        break;
      case 'w':
        items += word_items(unicode_);
        break;
      case 'h':
        items += "0-9a-fA-F";
        break;
      case 'S':
        items += "\\P{White_Space}";
        break;
      case 'D':
      case 'H':
      case 'W':
        nested.push_back(c == 'D'   ? "[^" + digits() + "]"
                         : c == 'H' ? "[^0-9a-fA-F]"
                                    : "[^" + word_items(unicode_) + "]");
        break;
      case 'p':
      case 'P': {
        const auto [found, negated] = property();
        add(found, negated, items, nested);
        return;
      }
      case 'b':
        items += "\\x08";
        break;
      default:
        items += character();
        return;
    }
    at_ += 2;
  }

  /// ( and the prefix with the kind of the group. Flags: m of Oniguruma is s of PCRE2.
  void open_group(std::vector<size_t>& groups) {
    out_ += in_[at_++];
    if (peek() != '?') return;
    out_ += in_[at_++];
    if (peek() == '~') fail_on("(?~");
    if (peek() == '#') {
      const size_t end = std::min(in_.find(')', at_), in_.size() - 1);
      out_.append(in_, at_, end + 1 - at_);
      at_ = end + 1;
      groups.pop_back();
      return;
    }
    if (peek() == '<' && peek(1) != '=' && peek(1) != '!') {
      while (at_ < in_.size() && in_[at_] != '>') out_ += in_[at_++];
      return;
    }
    while (at_ < in_.size() && std::string_view("imxs-").find(in_[at_]) != std::string_view::npos) {
      if (in_[at_] == 'x') fail_on("(?x)");
      out_ += in_[at_] == 'm' ? 's' : in_[at_];
      at_++;
    }
  }

  /// {n,m} at at_, or a brace that stands for itself. Here {n,m}+ repeats {n,m}, and {n}? is an
  /// optional {n}; PCRE2 reads the first as possessive, the second as lazy.
  void interval(size_t atom) {
    size_t end = at_ + 1;
    while (end < in_.size() && ((in_[end] >= '0' && in_[end] <= '9') || in_[end] == ',')) end++;
    const std::string_view inside = in_.substr(at_ + 1, end - at_ - 1);
    if (end >= in_.size() || in_[end] != '}' || inside.empty() || inside == ",") {
      out_ += "\\{";
      at_++;
      return;
    }
    at_ = end + 1;
    out_ += inside[0] == ',' ? "{0" : "{";
    (out_ += inside) += '}';
    const bool exact = inside.find(',') == inside.npos;
    if (peek() == '+' || (exact && peek() == '?')) {
      out_.insert(atom, "(?:");
      out_ += ')';
      out_ += in_[at_++];
    }
  }

  std::string_view in_;
  const std::string& where_;
  Unicode unicode_;
  size_t at_ = 0;
  std::string out_;
};

}  // namespace

std::string pcre_syntax(std::string_view expression, const std::string& where, Unicode unicode) {
  return Translator(expression, where, unicode).run();
}

}  // namespace wick::tokenization
