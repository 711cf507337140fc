// Linear attention: for each row and group of heads a state that a kernel updates token by token.
#pragma once
#include "dispatch/chunk.h"
#include "wick/abi/backend.h"
#include "wick/abi/ops/linear_attention.h"

namespace wick::cpu {

/// The most features and the most elements of a value that the kernel takes: its buffers.
inline constexpr int64 kMaxFeatures = 2048, kMaxValues = 512;

/// A group of one row: `heads` query heads, which read one state. Strides are in elements.
struct LinearAttentionGroup {
  const void *q, *k, *v;
  const void* state;  // or nullptr
  void *y, *new_state;
  int64 q_token, q_head, k_token, v_token, y_token, y_head;
  int64 tokens, length, heads, elements, features, values;
  double eps;
  int32 map;
  bool normalize;
};

/// The function of a kernel (Kernel::data).
struct LinearAttention {
  static constexpr Op kOp = kLinearAttention;
  static const char* accepts(const Kernel* kernel, const Call* call, const DeviceInfo* device);
  static Status run(const Kernel* kernel, const Call* call);
  void (*group)(const LinearAttentionGroup& group);
};

}  // namespace wick::cpu
