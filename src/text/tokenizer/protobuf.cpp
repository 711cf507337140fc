#include "text/tokenizer/protobuf.h"

#include <bit>

#include "wick/base/error.h"

namespace wick::tokenization {

bool MessageReader::next() {
  if (rest_.empty()) return false;
  const uint64_t tag = take_integer();
  field_ = tag >> 3;
  const uint64_t wire = tag & 7;
  const bool known = wire <= 2 || wire == 5;
  check(known && field_ > 0, ErrorCode::kFormat, where_, "field ", field_, " has the type ", wire,
        ", expected 0, 1, 2 or 5");
  wire_ = Wire(wire);
  integer_ = wire_ == Wire::kInteger || wire_ == Wire::kBytes ? take_integer() : 0;
  switch (wire_) {
    case Wire::kInteger:
      bytes_ = {};
      break;
    case Wire::kEightBytes:
      bytes_ = take(8);
      break;
    case Wire::kBytes:
      bytes_ = take(integer_);
      break;
    case Wire::kFourBytes:
      bytes_ = take(4);
      break;
  }
  return true;
}

uint64_t MessageReader::integer() const {
  expect(Wire::kInteger, "an integer");
  return integer_;
}

float MessageReader::real() const {
  expect(Wire::kFourBytes, "a number of 4 bytes");
  uint32_t bits = 0;
  for (int i = 3; i >= 0; i--) bits = bits << 8 | uint8_t(bytes_[size_t(i)]);
  return std::bit_cast<float>(bits);
}

std::string_view MessageReader::bytes() const {
  expect(Wire::kBytes, "bytes");
  return bytes_;
}

uint64_t MessageReader::take_integer() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const uint8_t byte = uint8_t(take(1)[0]);
    value |= uint64_t(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  fail(ErrorCode::kFormat, where_, "an integer has more than 10 bytes");
}

std::string_view MessageReader::take(uint64_t bytes) {
  check(bytes <= rest_.size(), ErrorCode::kFormat, where_, "field ", field_,
        " is cut off: expected ", bytes, " bytes, got ", rest_.size());
  const std::string_view taken = rest_.substr(0, bytes);
  rest_.remove_prefix(bytes);
  return taken;
}

void MessageReader::expect(Wire wire, const char* expected) const {
  check(wire_ == wire, ErrorCode::kFormat, where_, "field ", field_, ": expected ", expected,
        ", got the type ", int(wire_));
}

}  // namespace wick::tokenization
