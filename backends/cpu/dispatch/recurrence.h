// Recurrences along the tokens of rows [B, T, E]: pieces of neighbouring channels, each of which a
// kernel takes along the tokens.
#pragma once
#include "dispatch/chunk.h"
#include "wick/abi/backend.h"
#include "wick/abi/ops/recurrence.h"

namespace wick::cpu {

/// The most channels of a piece, and the most taps that the kernels take.
inline constexpr int64 kPieceChannels = 64, kMaxTaps = 16;

/// Channels of one row. Strides are from token to token, in elements.
struct RecurrencePiece {
  int64 channels;
  int64 tokens, length;  // length: from here on the tokens are padding
  void* y;
  int64 y_stride;
};
struct CausalConv1dPiece : RecurrencePiece {
  int64 first, end;                       // the tokens to compute
  const void *x, *weight, *bias, *state;  // bias and state: or nullptr
  void* new_state;                        // or nullptr: another piece writes it
  int64 x_stride, state_stride, taps;
  bool silu;
};
struct LinearScanPiece : RecurrencePiece {
  const void *decay, *input, *state;  // state: or nullptr
  void* new_state;
  int64 decay_stride, input_stride;
};

/// The functions of the kernels (Kernel::data).
struct CausalConv1d {
  static constexpr Op kOp = kCausalConv1d;
  static const char* accepts(const Kernel* kernel, const Call* call, const DeviceInfo* device);
  static Status run(const Kernel* kernel, const Call* call);
  void (*piece)(const CausalConv1dPiece& piece);
};
struct LinearScan {
  static constexpr Op kOp = kLinearScan;
  static Status run(const Kernel* kernel, const Call* call);
  void (*piece)(const LinearScanPiece& piece);
};

}  // namespace wick::cpu
