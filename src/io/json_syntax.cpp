#include "io/json_syntax.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>

#include "base/utf8.h"

namespace wick {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

size_t skip_digits(std::string_view text, size_t at) {
  while (at < text.size() && is_digit(text[at])) at++;
  return at;
}

/// The end of the number at `at`, which starts with '-' or a digit; npos if it is none.
size_t number_end(std::string_view text, size_t at) {
  const auto digits = [&] {
    const size_t begin = at;
    at = skip_digits(text, at);
    return at > begin;
  };
  if (at < text.size() && text[at] == '-') at++;
  if (at < text.size() && text[at] == '0')
    at++;
  else if (!digits())
    return text.npos;
  if (at < text.size() && text[at] == '.') {
    at++;
    if (!digits()) return text.npos;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    at++;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) at++;
    if (!digits()) return text.npos;
  }
  return at;
}

/// The constant of Python at `at`, or "".
std::string_view constant_at(std::string_view text, size_t at) {
  for (const std::string_view constant : {kNan, kInfinity, kMinusInfinity})
    if (text.substr(at).starts_with(constant)) return constant;
  return "";
}

/// The byte after the string at `at`; the text's size if it does not end.
size_t string_end(std::string_view text, size_t at) {
  for (at++; at < text.size() && text[at] != '"'; at++) at += text[at] == '\\';
  return std::min(at + 1, text.size());
}

/// Whether the number, without its sign, is at least 10^308 by the place of its first digit that is
/// not 0.
bool is_large(std::string_view number) {
  int64_t exponent = 0;
  const size_t e = number.find_first_of("eE");
  if (e != number.npos) {
    std::string_view digits = number.substr(e + 1);
    if (digits.starts_with('+')) digits.remove_prefix(1);
    constexpr int64_t kHuge = int64_t{1} << 60;
    if (std::from_chars(digits.data(), digits.data() + digits.size(), exponent).ec != std::errc())
      exponent = digits.starts_with('-') ? -kHuge : kHuge;
    number = number.substr(0, e);
  }
  const size_t dot = std::min(number.find('.'), number.size());
  const size_t first = number.find_first_of("123456789");
  if (first == number.npos) return false;
  const int64_t power =
      first < dot ? int64_t(dot - first) - 1 : -int64_t(first - dot);  // of the first digit
  return exponent >= 308 - power;
}

/// A number as simdjson takes it. Python's integers have no limit, its reals end in infinity.
std::string strict_number(std::string_view number) {
  const bool negative = number.starts_with('-');
  double real;
  if (std::from_chars(number.data(), number.data() + number.size(), real).ec ==
          std::errc::result_out_of_range &&
      is_large(number.substr(negative)))
    return "[\"" + std::string(negative ? kMinusInfinity : kInfinity) + "\"]";
  int64_t integer;
  const auto result = std::from_chars(number.data(), number.data() + number.size(), integer);
  const bool exceeds =
      result.ec == std::errc::result_out_of_range && result.ptr == number.data() + number.size();
  return std::string(number) + (exceeds ? ".0" : "");
}

/// Walks the grammar of RFC 8259 with a stack of its own.
class FaultFinder {
 public:
  explicit FaultFinder(std::string_view text) : text_(text) {}

  std::optional<JsonFault> run() {
    enum { kValue, kFirstItem, kKey, kFirstKey, kColon, kEnd } next = kValue;
    std::string open;  // the brackets around at_
    const auto close = [&] {
      open.pop_back();
      at_++;
      next = kEnd;
    };
    for (;;) {
      at_ = std::min(text_.find_first_not_of(" \t\n\r", at_), text_.size());
      const char c = at_ < text_.size() ? text_[at_] : '\0';
      switch (next) {
        case kColon:
          if (c != ':') return fault("':'");
          at_++;
          next = kValue;
          break;
        case kFirstKey:
        case kKey:
          if (c == '}' && next == kFirstKey) {
            close();
            break;
          }
          if (c != '"') return fault("a key in double quotes");
          if (auto found = string()) return found;
          next = kColon;
          break;
        case kFirstItem:
        case kValue:
          if (c == ']' && next == kFirstItem) {
            close();
          } else if (c == '{' || c == '[') {
            open += c;
            at_++;
            next = c == '{' ? kFirstKey : kFirstItem;
          } else {
            if (auto found = scalar()) return found;
            next = kEnd;
          }
          break;
        case kEnd:
          if (open.empty()) {
            if (at_ == text_.size()) return std::nullopt;
            return fault(kJsonEnd);
          }
          const bool in_object = open.back() == '{';
          if (c == ',') {
            at_++;
            next = in_object ? kKey : kValue;
          } else if (c == (in_object ? '}' : ']')) {
            close();
          } else {
            return fault(in_object ? "',' or '}'" : "',' or ']'");
          }
          break;
      }
    }
  }

 private:
  JsonFault fault(std::string_view expected) const { return {at_, std::string(expected)}; }

  std::optional<JsonFault> string() {
    for (at_++; at_ < text_.size() && text_[at_] != '"'; at_++) {
      if (uint8_t(text_[at_]) < 0x20) return fault("an escape for the control character");
      if (text_[at_] != '\\') continue;
      if (++at_ == text_.size()) break;
      if (text_[at_] == 'u') {
        for (int i = 0; i < 4; i++) {
          if (++at_ == text_.size()) break;
          if (std::string_view("0123456789abcdefABCDEF").find(text_[at_]) == text_.npos)
            return fault("four hexadecimal digits");
        }
      } else if (std::string_view("\"\\/bfnrt").find(text_[at_]) == text_.npos) {
        return fault("an escape that JSON has");
      }
    }
    if (at_ >= text_.size()) {
      at_ = text_.size();
      return fault("'\"'");
    }
    at_++;
    return std::nullopt;
  }

  std::optional<JsonFault> scalar() {
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    if (c == '"') return string();
    const std::string_view rest = text_.substr(at_);
    constexpr std::string_view kWords[] = {"true", "false",   "null",
                                           kNan,   kInfinity, kMinusInfinity};
    for (const std::string_view word : kWords) {
      if (rest.starts_with(word)) {
        at_ += word.size();
        return std::nullopt;
      }
      if (rest.size() > 1 && word.starts_with(rest)) {  // the text ends in the word
        at_ = text_.size();
        return fault("a value");
      }
    }
    if (c != '-' && !is_digit(c)) return fault("a value");
    const size_t end = number_end(text_, at_);
    if (end == text_.npos) {
      at_ = std::min(text_.find_first_not_of("0123456789+-.eE", at_), text_.size());
      return fault("a number");
    }
    at_ = end;
    return std::nullopt;
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

std::string marked_json(std::string_view text) {
  std::string result;
  result.reserve(text.size() + text.size() / 8);
  for (size_t i = 0; i < text.size();) {
    const size_t begin = i;
    const std::string_view constant = constant_at(text, i);
    if (!constant.empty()) {
      i += constant.size();
      ((result += "[\"") += constant) += "\"]";
    } else if (text[i] == '"') {
      i = string_end(text, i);
      (result += '"') += kStringMark;
      result += text.substr(begin + 1, i - begin - 1);
    } else if (is_digit(text[i]) || text[i] == '-') {
      const size_t end = number_end(text, i);
      i = end == text.npos ? i + 1 : end;
      result += end == text.npos ? std::string(1, text[begin])
                                 : strict_number(text.substr(begin, i - begin));
    } else {
      result += text[i++];
    }
  }
  return result;
}

std::optional<JsonFault> find_json_fault(std::string_view text) {
  std::optional<JsonFault> fault = FaultFinder(text).run();
  const size_t valid = valid_utf8_bytes(text);
  constexpr size_t kLongestSequence = 4;  // a text may end within one
  if (valid + kLongestSequence <= text.size() && (!fault || valid < fault->at))
    return JsonFault{valid, "UTF-8"};
  return fault;
}

std::string line_and_column(std::string_view text, size_t at) {
  const std::string_view before = text.substr(0, at);
  const size_t line = size_t(std::count(before.begin(), before.end(), '\n')) + 1;
  const size_t begin = before.rfind('\n') + 1;  // npos + 1 is 0
  const size_t column = 1 + size_t(count_code_points(before.substr(begin)));
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

}  // namespace wick
