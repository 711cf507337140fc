// The gated delta rule: blocks of columns of the heads' states run in parallel.
#pragma once
#include "dispatch/token_rows.h"
#include "wick/abi/backend.h"
#include "wick/abi/ops/delta_rule.h"

namespace wick::cpu {

inline constexpr int64 kMaxKeySize = 512;  // K

/// A block of columns of one head's state, over all tokens. R is the dtype of the state.
struct DeltaRuleColumns {
  TokenRows q, k, v, y;
  TokenRows decay, beta;
  bool is_wide;                 // decay and beta: R, else the dtype of q
  const void *a_log, *dt_bias;  // one R each; nullptr: decay as it is
  const void* before;           // R [K, columns]; nullptr: zeros
  void* state;                  // R [K, columns]
  int64 row;                    // elements between rows of both
  int64 read, tokens;           // tokens that enter the state, and all
  int64 keys, columns;
  double scale, eps;  // eps: of the norms of q and k; 0 for none
  bool has_sigmoid;   // of beta
};

/// Kernel::data.
struct DeltaRule {
  static constexpr Op kOp = kGatedDeltaRule;
  static const char* accepts(const Kernel* kernel, const Call* call, const DeviceInfo* device);
  static Status run(const Kernel* kernel, const Call* call);
  int64 width;  // of a block
  void (*columns)(const DeltaRuleColumns& of);
};

}  // namespace wick::cpu
