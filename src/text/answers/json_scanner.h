// JSON as it grows, byte by byte.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace wick::answers {

/// Checks one JSON value (RFC 8259), at most 256 levels deep.
class JsonScanner {
 public:
  enum class Result { kMore, kDone, kFailed };
  /// Takes the next byte. kDone: it ends the value, a string, list or object. Afterwards and after
  /// kFailed the scanner takes no more.
  Result next(char c);
  /// Whether the value may end here, as numbers and words do before the next byte.
  bool may_end() const { return stack_.empty() && state_ == State::kAfter; }

  /// The lists and objects that are open.
  size_t depth() const { return stack_.size(); }
  /// Whether the byte has begun or ended a key, or a value that is no number or word.
  bool begins_key() const { return event_ == Event::kKeyBegin; }
  bool ends_key() const { return event_ == Event::kKeyEnd; }
  bool begins_value() const { return event_ == Event::kValueBegin; }
  bool ends_value() const { return event_ == Event::kValueEnd; }

 private:
  enum class State : uint8_t {
    kValue,         // before a value
    kValueOrEnd,    // after "["
    kKeyOrEnd,      // after "{"
    kKey,           // after a comma of an object
    kColon,         // after a key
    kAfter,         // after a value
    kString,        // within
    kEscape,        // after "\"
    kHex,           // within \uXXXX
    kWord,          // within true, false or null
    kMinus,         // of a number: after its sign
    kZero,          // after 0
    kInteger,       // within the digits
    kPoint,         // after the point
    kFraction,      // within its digits
    kExponent,      // after "e"
    kExponentSign,  // after its sign
    kExponentDigits,
  };
  enum class Event : uint8_t { kNothing, kKeyBegin, kKeyEnd, kValueBegin, kValueEnd };

  Result fail();
  Result step(char c);
  Result begin_value(char c);
  Result end_value();
  Result in_string(char c);
  Result in_number(char c);
  Result after(char c);

  State state_ = State::kValue;
  Event event_ = Event::kNothing;
  bool is_key_ = false, has_failed_ = false;
  int hex_digits_ = 0;
  std::string_view word_;  // the rest of it
  std::string stack_;      // '{' or '['
};

/// Whether the text is one JSON value, with white space around it.
bool is_json(std::string_view text);
/// The text of a valid JSON string, with its quotes.
std::string unquoted(std::string_view json);

}  // namespace wick::answers
