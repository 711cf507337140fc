// Elements of fewer than 8 bits, packed as in files: a bit stream, lowest bits of each byte first.
#pragma once
#include <cstdint>
#include <optional>

#include "wick/abi/dtype.h"

namespace wick {

/// Bits per element in a file.
constexpr int packed_bits(DType dtype) {
  switch (dtype) {
    case DType::kF4:
      return 4;
    case DType::kF6E2M3:
    case DType::kF6E3M2:
      return 6;
    default:
      return 8 * dtype_size(dtype);
  }
}

/// Bytes of n elements in a file; nullopt if they do not fill the last byte.
constexpr std::optional<int64_t> packed_bytes(DType dtype, int64_t n) {
  const int bits = packed_bits(dtype);
  if (n % 8 * bits % 8 != 0) return std::nullopt;
  return n / 8 * bits + n % 8 * bits / 8;  // n * bits may overflow
}

/// Converts between packed elements, where element i starts at bit i * bits, and one byte per
/// element with the value in its low bits and zeros above. n elements must fill their last byte.
void unpack_bits(const uint8_t* packed, int bits, int64_t n, uint8_t* elements);
void pack_bits(const uint8_t* elements, int bits, int64_t n, uint8_t* packed);

}  // namespace wick
