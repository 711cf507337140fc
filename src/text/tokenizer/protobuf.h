// The wire format of protocol buffers: a message is a list of numbered fields.
// Source: protobuf.dev, Encoding.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace wick::tokenization {

/// Reads the fields of one message in the order of the file.
class MessageReader {
 public:
  /// where: the beginning of errors.
  MessageReader(std::string_view bytes, std::string where)
      : rest_(bytes), where_(std::move(where)) {}

  /// Moves to the next field; false at the end. Errors: kFormat if the field is cut off or has a
  /// type that messages no longer use.
  bool next();
  uint64_t field() const { return field_; }

  // The value of the field. Errors: kFormat if it has another type.
  uint64_t integer() const;
  float real() const;
  std::string_view bytes() const;

 private:
  enum class Wire : uint8_t { kInteger = 0, kEightBytes = 1, kBytes = 2, kFourBytes = 5 };
  uint64_t take_integer();
  std::string_view take(uint64_t bytes);
  void expect(Wire wire, const char* expected) const;

  std::string_view rest_;
  std::string where_;
  uint64_t field_ = 0, integer_ = 0;
  Wire wire_ = Wire::kInteger;
  std::string_view bytes_;
};

}  // namespace wick::tokenization
