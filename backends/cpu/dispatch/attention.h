// Scaled dot-product attention and its gradient. The walk over batch, heads and tokens is here and
// in attention.cpp, the products of a block of queries by a block of keys in kernels/.
#pragma once
#include "dispatch/chunk.h"
#include "wick/abi/backend.h"
#include "wick/abi/ops/attention.h"

namespace wick::cpu {

inline constexpr int64 kMaxQueries = 128;  // of one call of a kernel, forward
inline constexpr int64 kFewQueries = 4;    // so few, and keys are read as they lie
inline constexpr int64 kGradientQueries = 32;

/// Keys and values of one head. Strides are in elements.
struct Keys {
  const void* k;
  const void* v;
  int64 k_stride, v_stride;
};

/// Queries of one key head, forward.
struct Queries {
  int64 count;
  const void* q[kMaxQueries];
  void* y[kMaxQueries];
  void* l[kMaxQueries];
  int64 seen[kMaxQueries];  // how many keys: the first ones
};

/// Keys whose gradients one thread takes, with all queries that see them.
struct GradientKeys {
  Keys keys;
  int64 count;
  void* gk;
  void* gv;
  int64 gk_stride, gv_stride;
  int64 D;
  double scale;
  void* buffer;  // as many bytes as AttentionParts::gradient_bytes says
};
struct GradientQueries {
  int64 count;
  const void* gy[kGradientQueries];
  const void* q[kGradientQueries];
  const void* y[kGradientQueries];
  const void* l[kGradientQueries];
  int64 seen[kGradientQueries];
  void* gq[kGradientQueries];
  bool partial;  // gq: of what is computed in, of these keys alone
};

/// The kernels of one dtype and instruction set (Kernel::data).
struct AttentionParts {
  Access in, out;
  int64 lanes;  // queries side by side
  int64 (*forward_bytes)(int64 queries, int64 D);
  /// y and l of these queries. buffer: of forward_bytes.
  void (*forward)(const AttentionParts&, const Queries&, const Keys&, int64 D, double scale,
                  void* buffer);
  int64 (*few_bytes)(int64 D);
  /// y and l of at most kFewQueries queries. buffer: of few_bytes.
  void (*few)(const AttentionParts&, const Queries&, const Keys&, int64 D, double scale,
              void* buffer);
  int64 (*gradient_bytes)(int64 keys, int64 D);
  /// Begin, then the queries block by block, which writes gq, then end, which writes gk and gv.
  void (*gradient_begin)(const AttentionParts&, const GradientKeys&);
  void (*gradient_queries)(const AttentionParts&, const GradientKeys&, const GradientQueries&);
  void (*gradient_end)(const AttentionParts&, const GradientKeys&);
  /// y = the sum of `count` rows of what is computed in, `stride` elements apart, in their order.
  void (*add_up)(const AttentionParts&, const void* rows, int64 stride, int64 count, int64 D,
                 void* y);
};

Status run_sdpa(const Kernel* kernel, const Call* call);
int64 sdpa_scratch(const Kernel* kernel, const Call* call, const DeviceInfo* device);
Status run_sdpa_gradient(const Kernel* kernel, const Call* call);
int64 sdpa_gradient_scratch(const Kernel* kernel, const Call* call, const DeviceInfo* device);

}  // namespace wick::cpu
