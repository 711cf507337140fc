// Elements of a given size as plain bits, for code that only moves or orders them.
#pragma once
#include "wick/abi/marks.h"

namespace wick {

template <int bytes>
struct BitsOf;
template <>
struct BitsOf<1> {
  using type = uint8;
};
template <>
struct BitsOf<2> {
  using type = uint16;
};
template <>
struct BitsOf<4> {
  using type = uint32;
};
template <>
struct BitsOf<8> {
  using type = uint64;
};
/// Wider than any integer type.
template <>
struct BitsOf<16> {
  struct alignas(16) type {
    uint32 parts[4];
  };
};
template <int bytes>
using Bits = typename BitsOf<bytes>::type;

}  // namespace wick
