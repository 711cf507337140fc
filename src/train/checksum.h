// Checksums of texts and of training states.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace wick {

/// FNV-1a, 64 bits. Every step is a bijection of the state, so one changed byte always changes it.
class Checksum {
 public:
  void add(const void* bytes, size_t count) {
    for (size_t i = 0; i < count; i++)
      value_ = (value_ ^ static_cast<const uint8_t*>(bytes)[i]) * 0x100000001b3;
  }
  /// The bytes and their count.
  void add(std::string_view text) {
    add(text.data(), text.size());
    add(int64_t(text.size()));
  }
  /// Little-endian.
  void add(int64_t number) {
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++) bytes[i] = uint8_t(uint64_t(number) >> (8 * i));
    add(bytes, sizeof bytes);
  }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0xcbf29ce484222325;
};

}  // namespace wick
