// The state-space layer of Mamba 2: blocks of rows of the heads' states run in parallel.
#pragma once
#include "dispatch/token_rows.h"
#include "wick/abi/backend.h"
#include "wick/abi/ops/ssd.h"

namespace wick::cpu {

inline constexpr int64 kMaxStateSize = 1024;  // N

/// A block of rows of one head's state, over all tokens. R is the dtype of the state.
struct SsdRows {
  TokenRows x, b, c, y, dt;
  bool is_wide;                 // dt: R, else x's dtype
  const void *a, *d, *dt_bias;  // one R each; d and dt_bias: nullptr if there is none
  const void* before;           // R [rows, N]; nullptr: zeros
  void* state;                  // R [rows, N]
  int64 read, tokens;           // tokens that enter the state, and all
  int64 rows, n;
  double least_step, greatest_step;
};

/// Kernel::data.
struct Ssd {
  static constexpr Op kOp = kSsd;
  static const char* accepts(const Kernel* kernel, const Call* call, const DeviceInfo* device);
  static Status run(const Kernel* kernel, const Call* call);
  void (*rows)(const SsdRows& of);
};

}  // namespace wick::cpu
