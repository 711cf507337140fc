// Scaled dot-product attention and its gradient. attention.cpp loops over batch, heads and tokens;
// kernels/ multiplies a block of queries by a block of keys.
#pragma once
#include <algorithm>

#include "dispatch/chunk.h"
#include "wick/abi/backend.h"
#include "wick/abi/ops/attention.h"

namespace wick::cpu {

inline constexpr int64 kMaxQueries = 128;  // per call of a forward kernel
inline constexpr int64 kFewQueries = 4;    // up to this many, keys are read in place
inline constexpr int64 kGradientQueries = 32;

/// Scales of one head's keys or values in i8, one for kScaleGroup elements; nullptr: they have none.
struct Scales {
  const void* data = nullptr;  // f16
  int64 stride = 0;            // between keys, in elements
};
/// Keys and values of one head. Strides in elements.
struct Keys {
  const void* k;
  const void* v;
  int64 k_stride, v_stride;
  Scales k_scales = {}, v_scales = {};
  const int64* table = nullptr;  // of blocks of `block` keys; nullptr: key s is row s
  int64 table_stride = 0, block = 0, pool = 0;  // pool: blocks

  int64 row(int64 key) const {
    if (!table) return key;
    const int64 id = table[key / block * table_stride];
    return (id >= 0 && id < pool ? id : 0) * block + key % block;
  }
  /// Of `most` keys from this one on, those whose rows follow one another.
  int64 together(int64 key, int64 most) const {
    return table ? std::min(most, block - key % block) : most;
  }
};

/// From the dot product of q and k to the score: x = scale · product, capped if soft_cap > 0.
struct Scoring {
  double scale, soft_cap;
};

/// Queries that share one key head, forward.
struct Queries {
  int64 count;
  const void* q[kMaxQueries];
  void* y[kMaxQueries];
  void* l[kMaxQueries];
  int64 unseen[kMaxQueries], seen[kMaxQueries];  // attends to the keys [unseen, seen)
  bool biased;
  const void* bias[kMaxQueries];  // if biased: what is added to the scores, in the compute type
  int64 bias_stride;              // between keys
  const void* sink[kMaxQueries];  // a score without a value, in the compute type; nullptr: none
};

/// Keys whose gradients one thread computes, from all queries that attend to them.
struct GradientKeys {
  Keys keys;
  int64 count;
  void* gk;
  void* gv;
  int64 gk_stride, gv_stride;
  int64 D, Dv;
  Scoring scoring;
  void* buffer;  // of AttentionParts::gradient_bytes bytes
};
struct GradientQueries {
  int64 count;
  const void* gy[kGradientQueries];
  const void* q[kGradientQueries];
  const void* y[kGradientQueries];
  const void* l[kGradientQueries];
  int64 unseen[kGradientQueries], seen[kGradientQueries];  // among these keys
  void* gq[kGradientQueries];
  bool partial;  // gq holds the part from these keys alone, in the compute type
  bool biased;
  const void* bias[kGradientQueries];  // if biased: from the first of these keys on
  int64 bias_stride;                   // between keys
};

/// The kernels of one dtype and instruction set (Kernel::data).
struct AttentionParts {
  Access in, out;
  Access keys, scales;  // of k and v, and of their scales
  int64 lanes;          // queries per SIMD register
  int64 (*forward_bytes)(int64 queries, int64 D, int64 Dv);
  /// Writes y and l of these queries. buffer: forward_bytes bytes.
  void (*forward)(const AttentionParts&, const Queries&, const Keys&, int64 D, int64 Dv, Scoring,
                  void* buffer);
  int64 (*few_bytes)(int64 D, int64 Dv);
  /// Writes y and l of at most kFewQueries queries. buffer: few_bytes bytes.
  void (*few)(const AttentionParts&, const Queries&, const Keys&, int64 D, int64 Dv, Scoring,
              void* buffer);
  int64 (*gradient_bytes)(int64 keys, int64 D, int64 Dv);
  /// Call gradient_begin, then gradient_queries for each block of queries (writes gq), then
  /// gradient_end (writes gk and gv).
  void (*gradient_begin)(const AttentionParts&, const GradientKeys&);
  void (*gradient_queries)(const AttentionParts&, const GradientKeys&, const GradientQueries&);
  void (*gradient_end)(const AttentionParts&, const GradientKeys&);
  /// y = the sum of `count` rows of the compute type, `stride` elements apart, added in order.
  void (*add_up)(const AttentionParts&, const void* rows, int64 stride, int64 count, int64 D,
                 void* y);
};

Status run_sdpa(const Kernel* kernel, const Call* call);  // and sdpa_masked, sdpa_mixed
const char* accepts_sdpa_masked(const Kernel* kernel, const Call* call, const DeviceInfo* device);
const char* accepts_sdpa_mixed(const Kernel* kernel, const Call* call, const DeviceInfo* device);
int64 sdpa_scratch(const Kernel* kernel, const Call* call, const DeviceInfo* device);
Status run_sdpa_gradient(const Kernel* kernel, const Call* call);
const char* accepts_sdpa_masked_gradient(const Kernel* kernel, const Call* call,
                                         const DeviceInfo* device);
Status run_sdpa_masked_gradient(const Kernel* kernel, const Call* call);
int64 sdpa_gradient_scratch(const Kernel* kernel, const Call* call, const DeviceInfo* device);

}  // namespace wick::cpu
