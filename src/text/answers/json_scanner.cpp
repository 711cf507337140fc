#include "text/answers/json_scanner.h"

#include "base/utf8.h"

namespace wick::answers {
namespace {

constexpr size_t kMaxDepth = 256;

bool is_digit(char c) { return '0' <= c && c <= '9'; }
bool is_white(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
/// -1 for other characters.
int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  const char lower = char(c | 0x20);
  return 'a' <= lower && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/// The four hexadecimal digits at the start of the text.
char32_t hex_code(std::string_view text) {
  char32_t code = 0;
  for (size_t i = 0; i < 4; i++) code = code * 16 + char32_t(hex_value(text[i]));
  return code;
}

}  // namespace

JsonScanner::Result JsonScanner::fail() {
  has_failed_ = true;
  return Result::kFailed;
}

JsonScanner::Result JsonScanner::next(char c) {
  event_ = Event::kNothing;
  return has_failed_ ? Result::kFailed : step(c);
}

JsonScanner::Result JsonScanner::step(char c) {
  switch (state_) {
    case State::kString:
    case State::kEscape:
    case State::kHex:
      return in_string(c);
    case State::kWord:
      if (c != word_.front()) return fail();
      word_.remove_prefix(1);
      if (word_.empty()) state_ = State::kAfter;
      return Result::kMore;
    case State::kMinus:
    case State::kZero:
    case State::kInteger:
    case State::kPoint:
    case State::kFraction:
    case State::kExponent:
    case State::kExponentSign:
    case State::kExponentDigits:
      return in_number(c);
    default:
      break;
  }
  if (is_white(c)) return Result::kMore;
  switch (state_) {
    case State::kValueOrEnd:
      if (c == ']') return end_value();
      return begin_value(c);
    case State::kValue:
      return begin_value(c);
    case State::kKeyOrEnd:
      if (c == '}') return end_value();
      [[fallthrough]];
    case State::kKey:
      if (c != '"') return fail();
      state_ = State::kString;
      is_key_ = true;
      event_ = Event::kKeyBegin;
      return Result::kMore;
    case State::kColon:
      if (c != ':') return fail();
      state_ = State::kValue;
      return Result::kMore;
    default:
      return after(c);
  }
}

JsonScanner::Result JsonScanner::begin_value(char c) {
  switch (c) {
    case '{':
    case '[':
      if (stack_.size() == kMaxDepth) return fail();
      stack_ += c;
      state_ = c == '{' ? State::kKeyOrEnd : State::kValueOrEnd;
      event_ = Event::kValueBegin;
      return Result::kMore;
    case '"':
      state_ = State::kString;
      is_key_ = false;
      event_ = Event::kValueBegin;
      return Result::kMore;
    case 't':
    case 'f':
    case 'n':
      state_ = State::kWord;
      word_ = c == 't' ? "rue" : c == 'f' ? "alse" : "ull";
      return Result::kMore;
    case '-':
      state_ = State::kMinus;
      return Result::kMore;
    default:
      if (!is_digit(c)) return fail();
      state_ = c == '0' ? State::kZero : State::kInteger;
      return Result::kMore;
  }
}

/// Ends a list or object.
JsonScanner::Result JsonScanner::end_value() {
  stack_.pop_back();
  state_ = State::kAfter;
  event_ = Event::kValueEnd;
  return stack_.empty() ? Result::kDone : Result::kMore;
}

JsonScanner::Result JsonScanner::in_string(char c) {
  if (state_ == State::kEscape) {
    if (std::string_view("\"\\/bfnrtu").find(c) == std::string_view::npos) return fail();
    hex_digits_ = 4;
    state_ = c == 'u' ? State::kHex : State::kString;
  } else if (state_ == State::kHex) {
    if (hex_value(c) < 0) return fail();
    if (--hex_digits_ == 0) state_ = State::kString;
  } else if (c == '\\') {
    state_ = State::kEscape;
  } else if (c == '"') {
    state_ = is_key_ ? State::kColon : State::kAfter;
    event_ = is_key_ ? Event::kKeyEnd : Event::kValueEnd;
    if (!is_key_ && stack_.empty()) return Result::kDone;
  } else if (uint8_t(c) < 0x20) {
    return fail();
  }
  return Result::kMore;
}

JsonScanner::Result JsonScanner::in_number(char c) {
  const bool digit = is_digit(c), exponent = c == 'e' || c == 'E';
  const auto go = [&](State state) {
    state_ = state;
    return Result::kMore;
  };
  switch (state_) {
    case State::kMinus:
      return digit ? go(c == '0' ? State::kZero : State::kInteger) : fail();
    case State::kPoint:
      return digit ? go(State::kFraction) : fail();
    case State::kExponent:
      if (c == '+' || c == '-') return go(State::kExponentSign);
      [[fallthrough]];
    case State::kExponentSign:
      return digit ? go(State::kExponentDigits) : fail();
    case State::kInteger:
      if (digit) return Result::kMore;
      [[fallthrough]];
    case State::kZero:
      if (c == '.') return go(State::kPoint);
      if (exponent) return go(State::kExponent);
      break;
    case State::kFraction:
      if (digit) return Result::kMore;
      if (exponent) return go(State::kExponent);
      break;
    default:
      if (digit) return Result::kMore;
      break;
  }
  state_ = State::kAfter;  // the number has ended before this byte
  return step(c);
}

JsonScanner::Result JsonScanner::after(char c) {
  if (stack_.empty()) return fail();
  const bool is_object = stack_.back() == '{';
  if (c == ',') {
    state_ = is_object ? State::kKey : State::kValue;
    return Result::kMore;
  }
  return c == (is_object ? '}' : ']') ? end_value() : fail();
}

bool is_json(std::string_view text) {
  JsonScanner scanner;
  for (size_t i = 0; i < text.size(); i++) {
    const JsonScanner::Result result = scanner.next(text[i]);
    if (result == JsonScanner::Result::kFailed) return false;
    if (result == JsonScanner::Result::kDone)
      return text.find_first_not_of(" \n\r\t", i + 1) == text.npos;
  }
  scanner.next(' ');  // ends a number
  return scanner.may_end();
}

std::string unquoted(std::string_view json) {
  json = json.substr(1, json.size() - 2);
  std::string text;
  for (size_t i = 0; i < json.size(); i++) {
    if (json[i] != '\\') {
      text += json[i];
      continue;
    }
    const char kind = json[++i];
    if (kind != 'u') {
      const size_t at = std::string_view("bfnrt").find(kind);
      text += at == std::string_view::npos ? kind : "\b\f\n\r\t"[at];
      continue;
    }
    char32_t code = hex_code(json.substr(i + 1));
    i += 4;
    const std::string_view rest = json.substr(i + 1);
    if (0xd800 <= code && code < 0xdc00 && rest.starts_with("\\u")) {
      const char32_t low = hex_code(rest.substr(2));
      if (0xdc00 <= low && low < 0xe000) {
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        i += 6;
      }
    }
    append_code_point(text, 0xd800 <= code && code < 0xe000 ? U'\uFFFD' : code);
  }
  return text;
}

}  // namespace wick::answers
