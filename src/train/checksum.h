// Checksums of texts and of training states.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "wick/base/hash.h"

namespace wick {

/// The FNV-1a hash of texts and numbers, in their order.
class Checksum {
 public:
  void add(const void* bytes, size_t count) { hash_.add(static_cast<const char*>(bytes), count); }
  /// The bytes and their count.
  void add(std::string_view text) {
    add(text.data(), text.size());
    add(int64_t(text.size()));
  }
  /// Little-endian.
  void add(int64_t number) {
    for (int i = 0; i < 8; i++) hash_.mix(uint8_t(uint64_t(number) >> (8 * i)));
  }
  uint64_t value() const { return hash_.value(); }

 private:
  Fnv1a hash_;
};

}  // namespace wick
