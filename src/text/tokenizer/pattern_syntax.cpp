#include <algorithm>
#include <cstdio>
#include <span>
#include <utility>
#include <vector>

#include "text/tokenizer/pattern.h"
#include "text/tokenizer/utf8.h"
#include "wick/base/error.h"

namespace wick::tokenization {
namespace {

/// Characters with this general category.
struct Range {
  uint32_t first, last;
  std::string_view category;
};

// Characters that PCRE2 before 10.45 does not know. Source: Unicode 16.0.0, DerivedAge and
// DerivedGeneralCategory.
constexpr Range kSince15[] = {
    // Unicode 15.0 and 15.1
    // clang-format off
    {0xcf3, 0xcf3, "Mc"}, {0xece, 0xece, "Mn"}, {0x2ffc, 0x2fff, "So"}, {0x31ef, 0x31ef, "So"},
    {0x10efd, 0x10eff, "Mn"}, {0x1123f, 0x11240, "Lo"}, {0x11241, 0x11241, "Mn"},
    {0x11b00, 0x11b09, "Po"}, {0x11f00, 0x11f01, "Mn"}, {0x11f02, 0x11f02, "Lo"},
    {0x11f03, 0x11f03, "Mc"}, {0x11f04, 0x11f10, "Lo"}, {0x11f12, 0x11f33, "Lo"},
    {0x11f34, 0x11f35, "Mc"}, {0x11f36, 0x11f3a, "Mn"}, {0x11f3e, 0x11f3f, "Mc"},
    {0x11f40, 0x11f40, "Mn"}, {0x11f41, 0x11f41, "Mc"}, {0x11f42, 0x11f42, "Mn"},
    {0x11f43, 0x11f4f, "Po"}, {0x11f50, 0x11f59, "Nd"}, {0x1342f, 0x1342f, "Lo"},
    {0x13439, 0x1343f, "Cf"}, {0x13440, 0x13440, "Mn"}, {0x13441, 0x13446, "Lo"},
    {0x13447, 0x13455, "Mn"}, {0x1b132, 0x1b132, "Lo"}, {0x1b155, 0x1b155, "Lo"},
    {0x1d2c0, 0x1d2d3, "No"}, {0x1df25, 0x1df2a, "Ll"}, {0x1e030, 0x1e06d, "Lm"},
    {0x1e08f, 0x1e08f, "Mn"}, {0x1e4d0, 0x1e4ea, "Lo"}, {0x1e4eb, 0x1e4eb, "Lm"},
    {0x1e4ec, 0x1e4ef, "Mn"}, {0x1e4f0, 0x1e4f9, "Nd"}, {0x1f6dc, 0x1f6dc, "So"},
    {0x1f774, 0x1f776, "So"}, {0x1f77b, 0x1f77f, "So"}, {0x1f7d9, 0x1f7d9, "So"},
    {0x1fa75, 0x1fa77, "So"}, {0x1fa87, 0x1fa88, "So"}, {0x1faad, 0x1faaf, "So"},
    {0x1fabb, 0x1fabd, "So"}, {0x1fabf, 0x1fabf, "So"}, {0x1face, 0x1facf, "So"},
    {0x1fada, 0x1fadb, "So"}, {0x1fae8, 0x1fae8, "So"}, {0x1faf7, 0x1faf8, "So"},
    {0x2b739, 0x2b739, "Lo"}, {0x2ebf0, 0x2ee5d, "Lo"}, {0x31350, 0x323af, "Lo"},
    // clang-format on
};
constexpr Range kSince16[] = {
    // clang-format off
    {0x897, 0x897, "Mn"}, {0x1b4e, 0x1b4f, "Po"}, {0x1b7f, 0x1b7f, "Po"}, {0x1c89, 0x1c89, "Lu"},
    {0x1c8a, 0x1c8a, "Ll"}, {0x2427, 0x2429, "So"}, {0x31e4, 0x31e5, "So"},
    {0xa7cb, 0xa7cc, "Lu"}, {0xa7cd, 0xa7cd, "Ll"}, {0xa7da, 0xa7da, "Lu"},
    {0xa7db, 0xa7db, "Ll"}, {0xa7dc, 0xa7dc, "Lu"}, {0x105c0, 0x105f3, "Lo"},
    {0x10d40, 0x10d49, "Nd"}, {0x10d4a, 0x10d4d, "Lo"}, {0x10d4e, 0x10d4e, "Lm"},
    {0x10d4f, 0x10d4f, "Lo"}, {0x10d50, 0x10d65, "Lu"}, {0x10d69, 0x10d6d, "Mn"},
    {0x10d6e, 0x10d6e, "Pd"}, {0x10d6f, 0x10d6f, "Lm"}, {0x10d70, 0x10d85, "Ll"},
    {0x10d8e, 0x10d8f, "Sm"}, {0x10ec2, 0x10ec4, "Lo"}, {0x10efc, 0x10efc, "Mn"},
    {0x11380, 0x11389, "Lo"}, {0x1138b, 0x1138b, "Lo"}, {0x1138e, 0x1138e, "Lo"},
    {0x11390, 0x113b5, "Lo"}, {0x113b7, 0x113b7, "Lo"}, {0x113b8, 0x113ba, "Mc"},
    {0x113bb, 0x113c0, "Mn"}, {0x113c2, 0x113c2, "Mc"}, {0x113c5, 0x113c5, "Mc"},
    {0x113c7, 0x113ca, "Mc"}, {0x113cc, 0x113cd, "Mc"}, {0x113ce, 0x113ce, "Mn"},
    {0x113cf, 0x113cf, "Mc"}, {0x113d0, 0x113d0, "Mn"}, {0x113d1, 0x113d1, "Lo"},
    {0x113d2, 0x113d2, "Mn"}, {0x113d3, 0x113d3, "Lo"}, {0x113d4, 0x113d5, "Po"},
    {0x113d7, 0x113d8, "Po"}, {0x113e1, 0x113e2, "Mn"}, {0x116d0, 0x116e3, "Nd"},
    {0x11bc0, 0x11be0, "Lo"}, {0x11be1, 0x11be1, "Po"}, {0x11bf0, 0x11bf9, "Nd"},
    {0x11f5a, 0x11f5a, "Mn"}, {0x13460, 0x143fa, "Lo"}, {0x16100, 0x1611d, "Lo"},
    {0x1611e, 0x16129, "Mn"}, {0x1612a, 0x1612c, "Mc"}, {0x1612d, 0x1612f, "Mn"},
    {0x16130, 0x16139, "Nd"}, {0x16d40, 0x16d42, "Lm"}, {0x16d43, 0x16d6a, "Lo"},
    {0x16d6b, 0x16d6c, "Lm"}, {0x16d6d, 0x16d6f, "Po"}, {0x16d70, 0x16d79, "Nd"},
    {0x18cff, 0x18cff, "Lo"}, {0x1cc00, 0x1ccef, "So"}, {0x1ccf0, 0x1ccf9, "Nd"},
    {0x1cd00, 0x1ceb3, "So"}, {0x1e5d0, 0x1e5ed, "Lo"}, {0x1e5ee, 0x1e5ef, "Mn"},
    {0x1e5f0, 0x1e5f0, "Lo"}, {0x1e5f1, 0x1e5fa, "Nd"}, {0x1e5ff, 0x1e5ff, "Po"},
    {0x1f8b2, 0x1f8bb, "So"}, {0x1f8c0, 0x1f8c1, "So"}, {0x1fa89, 0x1fa89, "So"},
    {0x1fa8f, 0x1fa8f, "So"}, {0x1fabe, 0x1fabe, "So"}, {0x1fac6, 0x1fac6, "So"},
    {0x1fadc, 0x1fadc, "So"}, {0x1fadf, 0x1fadf, "So"}, {0x1fae9, 0x1fae9, "So"},
    {0x1fbcb, 0x1fbef, "So"},
    // clang-format on
};

// Of Oniguruma: White_Space; and \w, which has some numbers of Latin-1 and no others.
constexpr std::string_view kSpaces =
    R"(\x09-\x0d\x20\x85\xa0\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
constexpr std::string_view kWord = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\xb2\xb3\xb9\xbc-\xbe)";

struct Name {
  std::string_view long_name, name;
};
constexpr Name kCategories[] = {
    {"Letter", "L"},
    {"Uppercase_Letter", "Lu"},
    {"Lowercase_Letter", "Ll"},
    {"Titlecase_Letter", "Lt"},
    {"Modifier_Letter", "Lm"},
    {"Other_Letter", "Lo"},
    {"Mark", "M"},
    {"Nonspacing_Mark", "Mn"},
    {"Spacing_Mark", "Mc"},
    {"Enclosing_Mark", "Me"},
    {"Number", "N"},
    {"Decimal_Number", "Nd"},
    {"Digit", "Nd"},
    {"Letter_Number", "Nl"},
    {"Other_Number", "No"},
    {"Punctuation", "P"},
    {"Punct", "P"},
    {"Connector_Punctuation", "Pc"},
    {"Dash_Punctuation", "Pd"},
    {"Open_Punctuation", "Ps"},
    {"Close_Punctuation", "Pe"},
    {"Initial_Punctuation", "Pi"},
    {"Final_Punctuation", "Pf"},
    {"Other_Punctuation", "Po"},
    {"Symbol", "S"},
    {"Math_Symbol", "Sm"},
    {"Currency_Symbol", "Sc"},
    {"Modifier_Symbol", "Sk"},
    {"Other_Symbol", "So"},
    {"Separator", "Z"},
    {"Space_Separator", "Zs"},
    {"Line_Separator", "Zl"},
    {"Paragraph_Separator", "Zp"},
    {"Other", "C"},
    {"Control", "Cc"},
    {"Cntrl", "Cc"},
    {"Format", "Cf"},
    {"Private_Use", "Co"},
};

void append_items(std::span<const Range> ranges, std::string_view category, std::string& items) {
  for (const Range& range : ranges) {
    if (!range.category.starts_with(category)) continue;
    char item[40];
    std::snprintf(item, sizeof item, "\\x{%x}-\\x{%x}", range.first, range.last);
    items += item;
  }
}

/// Reads an expression from left to right and writes it in PCRE2's syntax.
class Translator {
 public:
  Translator(std::string_view expression, const std::string& where, Unicode unicode)
      : in_(expression), where_(where), unicode_(unicode) {}

  std::string run() {
    std::vector<size_t> groups;  // where they start in out_
    size_t atom = 0;             // where what a quantifier applies to starts
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
        while (at_ < in_.size() && (uint8_t(in_[at_]) & 0xc0) == 0x80);
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

  /// \p{...} or \P{...} at at_: the category or other property, and whether it is negated.
  std::pair<std::string, bool> property() {
    bool negated = in_[at_ + 1] == 'P';
    const size_t end = in_.find('}', at_);
    if (peek(2) != '{' || end == in_.npos) fail_on("\\p without {NAME}");
    std::string_view name = in_.substr(at_ + 3, end - at_ - 3);
    if (name.starts_with('^')) {
      negated = !negated;
      name.remove_prefix(1);
    }
    at_ = end + 1;
    for (const Name& category : kCategories)
      if (category.long_name == name) name = category.name;
    return {std::string(name), negated};
  }

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
        return set(c == 'D', "\\p{Nd}" + newer("Nd"));
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
        const auto [name, negated] = property();
        out_ += (negated ? "[^\\p{" : "[\\p{") + name + "}" + newer(name) + "]";
        return;
      }
      default:
        out_ += character();
    }
  }

  /// The characters of a category, or of a group of them such as "L", that PCRE2 may not know, as
  /// items of a class.
  std::string newer(std::string_view category) const {
    std::string items;
    append_items(kSince15, category, items);
    if (unicode_ == Unicode::k16) append_items(kSince16, category, items);
    return items;
  }

  std::string word() const {
    return std::string(kWord) + newer("L") + newer("M") + newer("Nd") + newer("Pc");
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
        items += in_.substr(at_, end + 2 - at_);
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

  void class_escape(std::string& items, std::vector<std::string>& nested) {
    const char c = peek(1);
    switch (c) {
      case 's':
        items += kSpaces;
        break;
      case 'd':
        items += "\\p{Nd}" + newer("Nd");
        break;
      case 'w':
        items += word();
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
        nested.push_back(c == 'D'   ? "[^\\p{Nd}" + newer("Nd") + "]"
                         : c == 'H' ? "[^0-9a-fA-F]"
                                    : "[^" + word() + "]");
        break;
      case 'p':
      case 'P': {
        const auto [name, negated] = property();
        if (negated && !newer(name).empty())
          nested.push_back("[^\\p{" + name + "}" + newer(name) + "]");
        else
          items += (negated ? "\\P{" : "\\p{") + name + "}" + newer(name);
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

  /// ( and what says the kind of the group. Flags: m of Oniguruma is s of PCRE2.
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
