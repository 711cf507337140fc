// Shared by the kernels of sdpa and its gradient: a call's shape, and vectors of D elements held by
// lanes. Query heads that read one key head are processed together: the rows of key head g are its
// H / G query heads times T queries, row t H / G + h, so neighbouring rows have the same position.
#pragma once
#include "kernels/row_groups.h"
#include "wick/abi/ops/attention.h"

namespace wick::gpu {

inline constexpr int kMaxHeadDim = 256;

/// [B, H or G, T or S, D], inner stride 1.
struct HeadStrides {
  int64 batch, head, row;
  static HeadStrides of(const View& x) { return {x.strides[0], x.strides[1], x.strides[2]}; }
};

/// The keys [first, end) that a query attends to.
struct SeenKeys {
  int32 first, end;
  WICK_HD bool has(int32 s) const { return first <= s && s < end; }
  WICK_HD void raise_first(int64 to) {
    if (to > first) first = to < end ? int32(to) : end;
  }
  WICK_HD static SeenKeys none() { return {0, 0}; }
};

/// Where the keys of a sequence lie, if they do in blocks of a pool.
struct KeyBlocks {
  const int64* table;  // [B, N]; nullptr: key s is row s
  int64 strides[2];
  int32 count, shift;  // N; a block has 2^shift keys
  uint32 pool;         // blocks

  /// The rows from a key's number to its place; the same for all of its block. Kernels ask for it a
  /// step before they need it, since they would wait for the table.
  WICK_DEVICE int32 moved(int32 b, int32 key) const {
    if (!table) return 0;
    int32 at = key >> shift;
    if (at >= count) at = count - 1;
    const int64 id = table[b * strides[0] + at * strides[1]];
    const int32 block = uint64(id) < pool ? int32(id) : 0;
    return (block - at) * (int32(1) << shift);
  }
  /// The first of `keys` keys, a power of two of at most a block, one of which is `key`.
  WICK_DEVICE int32 first_of(int32 key, int32 keys) const { return table ? key & -keys : key; }
};

/// The shape of a call.
struct AttentionShape {
  FastDivide heads;  // H / G
  FastDivide key_heads;
  int32 batch, queries, keys, head_dim;
  int64 position_strides[2];
  int64 window;  // in keys; without one, more than there are positions
  bool causal;
  const int64* first_keys;  // [B, T]; nullptr: all 0
  int64 first_key_strides[2];
  int32 value_dim;  // Dv, of v and y; q and k have head_dim
  KeyBlocks blocks;

  WICK_HD int32 larger_dim() const { return head_dim > value_dim ? head_dim : value_dim; }
  WICK_HD int32 rows() const { return queries * int32(heads.divisor); }
  WICK_DEVICE SeenKeys seen(const int64* positions, int32 b, int32 t) const {
    SeenKeys seen{0, keys};
    if (causal) {
      const int64 position = positions[b * position_strides[0] + t * position_strides[1]];
      if (position < 0) return SeenKeys::none();
      if (position < keys) seen.end = int32(position) + 1;
      if (position >= window) seen.raise_first(position - window + 1);
    }
    if (first_keys)
      seen.raise_first(first_keys[b * first_key_strides[0] + t * first_key_strides[1]]);
    return seen;
  }
};

/// A score from scale q k: capped, if cap > 0.
template <class C>
struct CappedScore {
  C value, slope;  // slope: its derivative
  static WICK_DEVICE CappedScore of(C product, C cap) {
    if (!(cap > C(0))) return {product, C(1)};
    const C t = tanh(product / cap);
    return {cap * t, C(1) - t * t};
  }
};

/// A row of a key head: its query, and the offsets of its vectors.
struct AttentionRow {
  int32 t, h;  // h: in [0, H)
  static WICK_DEVICE AttentionRow of(const AttentionShape& shape, int32 g, int32 row) {
    const int32 t = int32(shape.heads.quotient(row)), heads = int32(shape.heads.divisor);
    return {t, g * heads + row - t * heads};
  }
  WICK_DEVICE int64 offset(const HeadStrides& strides, int32 b) const {
    return b * strides.batch + h * strides.head + t * strides.row;
  }
  /// The row's index in a tensor [B, H, T].
  WICK_DEVICE int64 index(const AttentionShape& shape, int32 b) const {
    const int64 all_heads = int64(shape.heads.divisor) * shape.key_heads.divisor;
    return (b * all_heads + h) * shape.queries + t;
  }
};

/// A vector of up to `bucket` elements in the registers of kLanes lanes, as packs kLanes packs
/// apart. Elements beyond D are 0.
template <class T, int bucket>
struct HeadVector {
  using C = Compute<T>;
  static constexpr int kPack = kFloatPack<T>;
  static constexpr int kLanes = bucket / kPack < 32 ? bucket / kPack : 32;
  static constexpr int kPacks = bucket / (kLanes * kPack), kElements = kPacks * kPack;

  /// The index in the vector of element e of the lane.
  static WICK_DEVICE int place(int lane, int e) {
    return (e / kPack * kLanes + lane) * kPack + e % kPack;
  }
  static WICK_DEVICE void load(const T* from, int lane, int size, bool aligned, C (&x)[kElements]) {
    for (int p = 0; p < kPacks; p++) {
      C pack[kPack];
      load_part(from, uint32((p * kLanes + lane) * kPack), uint32(size), aligned, C(0), pack);
      for (int e = 0; e < kPack; e++) x[p * kPack + e] = pack[e];
    }
  }
  static WICK_DEVICE C dot(const C (&a)[kElements], const C (&b)[kElements]) {
    C sum = 0;
    for (int e = 0; e < kElements; e++) sum = fma(a[e], b[e], sum);
    return sum;
  }
};

/// Sums over groups of `lanes` lanes; every lane gets its group's sums.
template <int lanes, int n, class Ctx, class C>
WICK_DEVICE void add_lanes(const Ctx& ctx, C (&x)[n]) {
  masks_down<lanes / 2, 1>([&]<int mask>() {
    for (int i = 0; i < n; i++) x[i] += ctx.template shuffle_xor<mask>(x[i]);
  });
}

inline bool heads_are_aligned(const View& x) {
  bool aligned = is_aligned(x.data);
  for (int d = 0; d < 3; d++)
    aligned = aligned && (x.shape[d] == 1 || bytes_of(x.dtype, x.strides[d]) % 16 == 0);
  return aligned;
}

/// A call of sdpa or its gradient, on the host.
struct AttentionCall {
  const View &q, &k, &v, &positions, &first_keys;
  SdpaAttributes attributes;

  /// size: of the last dim.
  static const char* check_heads(const View& x, const View& like, int64 size) {
    if (x.rank != 4) return "an operand is not of rank 4";
    for (int d = 0; d < 3; d++)
      if (x.shape[d] != like.shape[d]) return "operands differ in shape";
    if (x.shape[3] != size) return "operands differ in D";
    return x.shape[3] <= 1 || x.strides[3] == 1 ? nullptr : "an inner stride is not 1";
  }
  /// most_value_dim: of Dv; 0: as of D.
  /// least_block: the smallest block of keys that the kernel reads; 0: it reads no blocks.
  const char* check(int64 most_head_dim, int64 most_value_dim = 0, int64 least_block = 0) const {
    if (const char* why = check_heads(q, q, q.shape[3])) return why;
    if (const char* why = check_heads(k, k, q.shape[3])) return why;
    if (const char* why = check_heads(v, k, v.shape[3])) return why;
    if (const char* why = has_blocks() ? check_blocks(least_block) : nullptr) return why;
    if (k.shape[0] != (has_blocks() ? 1 : q.shape[0])) return "q and k do not fit";
    if (k.shape[1] == 0 || q.shape[1] % k.shape[1] != 0) return "H is no multiple of G";
    if (positions.rank != 2 || positions.shape[0] != q.shape[0] || positions.shape[1] != q.shape[2])
      return "positions are not [B, T]";
    if (attributes.has_first_keys != 0 &&
        (first_keys.rank != 2 || first_keys.shape[0] != q.shape[0] ||
         first_keys.shape[1] != q.shape[2]))
      return "first keys are not [B, T]";
    if (q.shape[3] == 0 || v.shape[3] == 0) return "D is 0";
    if (q.shape[3] > most_head_dim) return "D is larger than the kernel's";
    if (v.shape[3] > (most_value_dim > 0 ? most_value_dim : most_head_dim))
      return "Dv is larger than the kernel's";
    if (k.shape[2] > kLaunchLimit || q.shape[1] * q.shape[2] > kLaunchLimit ||
        q.shape[0] * q.shape[1] * q.shape[2] > kLaunchLimit ||
        k.shape[0] * k.shape[1] * k.shape[2] > kLaunchLimit)
      return "there is more than a launch covers";
    return nullptr;
  }
  bool has_blocks() const { return attributes.block > 0; }
  const char* check_blocks(int64 least_block) const {
    const int64 block = attributes.block;
    if (least_block == 0) return "keys lie in blocks";
    if ((block & (block - 1)) != 0 || block < least_block) return "blocks are too small";
    if (attributes.has_first_keys != 0) return "there are blocks and first keys";
    if (first_keys.rank != 2 || first_keys.shape[0] != q.shape[0]) return "blocks are not [B, N]";
    if (k.shape[2] < block) return "there is no block in the pool";
    return first_keys.shape[1] > kLaunchLimit / block ? "there is more than a launch covers"
                                                      : nullptr;
  }
  /// S.
  int64 keys() const { return has_blocks() ? first_keys.shape[1] * attributes.block : k.shape[2]; }
  KeyBlocks blocks() const {
    if (!has_blocks()) return {};
    const int32 shift = __builtin_ctz(uint32(attributes.block));
    return {first_keys.as<int64>(),
            {first_keys.strides[0], first_keys.strides[1]},
            int32(first_keys.shape[1]),
            shift,
            uint32(k.shape[2] >> shift)};
  }
  int64 larger_dim() const { return q.shape[3] > v.shape[3] ? q.shape[3] : v.shape[3]; }
  /// The rows of q: B H T.
  int64 rows() const { return q.shape[0] * q.shape[1] * q.shape[2]; }
  const char* check_bias(const View& x) const {
    return x.rank == 4 && x.shape[0] == q.shape[0] && x.shape[1] == q.shape[1] &&
                   x.shape[2] == q.shape[2] && x.shape[3] == keys()
               ? nullptr
               : "the bias is not [B, H, T, S]";
  }
  const char* check_sinks(const View& x) const {
    return attributes.has_sinks != 0 ? check_vector(x, q.shape[1]) : nullptr;
  }
  AttentionShape shape() const {
    const bool has_first_keys = attributes.has_first_keys != 0;
    return {FastDivide::by(q.shape[1] / k.shape[1]),
            FastDivide::by(k.shape[1]),
            int32(q.shape[0]),
            int32(q.shape[2]),
            int32(keys()),
            int32(q.shape[3]),
            {positions.strides[0], positions.strides[1]},
            attributes.window > 0 ? attributes.window : int64(~uint64(0) >> 1),
            attributes.causal != 0,
            has_first_keys ? first_keys.as<int64>() : nullptr,
            {first_keys.strides[0], first_keys.strides[1]},
            int32(v.shape[3]),
            blocks()};
  }
};

/// Adds the kernels of attention_matrix.cpp, a separate file because they compile slowly.
void add_matrix_attention(KernelList&);

}  // namespace wick::gpu
