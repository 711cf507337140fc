// The vectors of one head, token after token, for the ops that keep a state; and how many tokens of a
// sequence are read.
#pragma once
#include <algorithm>

#include "wick/abi/call.h"

namespace wick::cpu {

/// One vector per token, its elements neighbours in memory.
struct TokenRows {
  char* data;
  int64 stride;  // in bytes

  /// Of x [B, T, H, D]: of head h, from element d on.
  static TokenRows of(const View& x, int64 b, int64 h, int64 d = 0) {
    return {x.as<char>() + bytes_of(x.dtype, b * x.strides[0] + h * x.strides[2] + d),
            bytes_of(x.dtype, x.strides[1])};
  }
  /// Of x [B, T, H]: one element per token.
  static TokenRows of_elements(const View& x, int64 b, int64 h) { return of(x, b, h); }
};

/// How many tokens of sequence b enter the state.
inline int64 tokens_of(const View& lengths, bool has_lengths, int64 b, int64 tokens) {
  if (!has_lengths) return tokens;
  return std::clamp<int64>(lengths.as<int64>()[b * lengths.strides[0]], 0, tokens);
}

}  // namespace wick::cpu
