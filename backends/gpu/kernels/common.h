// Shared by all kernel families: exact division by multiplication, 16-byte accesses, strided
// operands, and splitting a call into launches whose indices fit into 32 bits.
#pragma once
#include "device/bytes.h"
#include "runtime/kernel_list.h"
#include "scalar/bits.h"
#include "scalar/math.h"
#include "scalar/round_up.h"
#include "wick/abi/merge.h"

namespace wick::gpu {

/// The most elements of one launch, and the largest offset within a view in it, in elements: device
/// code computes indices and offsets in 32 bits, signed or not.
inline constexpr int64 kLaunchLimit = int64(1) << 30;

/// n elements that one access reads or writes, where the hardware can.
template <class T, int n>
struct alignas(n * sizeof(T) < 16 ? n * sizeof(T) : 16) Pack {
  T v[n];
};
/// x as it was loaded, of whole words. The compiler would else take its elements apart, and wait
/// for them, where they are loaded, or wait for it only where it is used, in a loop.
template <class Ctx, class X>
WICK_DEVICE void keep_whole(const Ctx& ctx, X& x) {
  constexpr int kWords = sizeof(X) / 4;
  static_assert(kWords * 4 == sizeof(X));
  int words[kWords];
  __builtin_memcpy(words, &x, sizeof(X));
  WICK_UNROLL
  for (int w = 0; w < kWords; w++) words[w] = ctx.opaque(words[w]);
  __builtin_memcpy(&x, words, sizeof(X));
}
/// The number of elements in 16 bytes.
template <class T>
inline constexpr int kPackSize = 16 / sizeof(T);

template <int n, class T>
WICK_DEVICE Pack<T, n> load_pack(const T* p) {
  return *reinterpret_cast<const Pack<T, n>*>(p);
}
template <int n, class T>
WICK_DEVICE void store_pack(T* p, const Pack<T, n>& pack) {
  *reinterpret_cast<Pack<T, n>*>(p) = pack;
}

inline bool is_aligned(const void* p, int bytes = 16) {
  return reinterpret_cast<uint64>(p) % uint64(bytes) == 0;
}

template <bool condition, class A, class B>
struct EitherOf {
  using type = A;
};
template <class A, class B>
struct EitherOf<false, A, B> {
  using type = B;
};
template <bool condition, class A, class B>
using Either = typename EitherOf<condition, A, B>::type;

/// n / divisor for 0 <= n < 2^31 and 1 <= divisor < 2^31, by a multiplication: with 2^(s-1) <
/// divisor <= 2^s and m = floor(2^(31+s) / divisor) + 1 = (2^(31+s) + e) / divisor, 0 < e <=
/// divisor <= 2^s, the error of n m / 2^(31+s) is n e / (divisor 2^(31+s)) < 1 / divisor, so that
/// its floor is exact.
struct FastDivide {
  uint32 divisor;
  uint32 multiplier;
  uint32 shift;

  static FastDivide by(int64 divisor) {
    uint32 shift = 0;
    while ((int64(1) << shift) < divisor) shift++;
    return {uint32(divisor), uint32((uint64(1) << (31 + shift)) / uint64(divisor) + 1), shift};
  }
  WICK_HD uint32 quotient(uint32 n) const {
    return uint32(uint64(2 * n) * multiplier >> 32) >> shift;
  }
};

/// Maps an element's index to its offset in each of `operands` views of one shape, within a launch.
template <int operands, class Offset = uint32>
struct Indexer {
  int32 rank;  // at least 1
  FastDivide shape[kMaxRank];
  Offset strides[kMaxRank][operands];

  /// Writes offset[o], the offset of element `index` (row-major) of operand o.
  WICK_DEVICE void locate(uint32 index, Offset (&offset)[operands]) const {
    for (int o = 0; o < operands; o++) offset[o] = 0;
    for (int d = rank - 1; d > 0; d--) {
      const uint32 outer = shape[d].quotient(index), here = index - outer * shape[d].divisor;
      for (int o = 0; o < operands; o++) offset[o] += here * strides[d][o];
      index = outer;
    }
    for (int o = 0; o < operands; o++) offset[o] += index * strides[0][o];
  }
};

/// Operands of one shape, on the host.
template <int operands>
struct Operands {
  int rank = 0;
  int64 shape[kMaxRank] = {};
  int64 strides[operands][kMaxRank] = {};
  char* data[operands] = {};
  int64 begin[operands] = {};  // offset of this part from the call's data, in elements
  int element_bytes[operands] = {};

  int64 numel() const {
    int64 n = 1;
    for (int d = 0; d < rank; d++) n *= shape[d];
    return n;
  }
  /// Whether every operand is one row. Requires merged dims.
  bool contiguous() const {
    if (rank > 1) return false;
    for (int o = 0; o < operands && rank == 1; o++)
      if (strides[o][0] != 1) return false;
    return true;
  }
  /// The indexer over the first `dims` dims. Requires numel below 2^31.
  template <class Offset = uint32>
  Indexer<operands, Offset> indexer(int dims) const {
    Indexer<operands, Offset> at{};
    at.rank = dims > 0 ? dims : 1;
    for (int d = 0; d < dims; d++) {
      at.shape[d] = FastDivide::by(shape[d]);
      for (int o = 0; o < operands; o++) at.strides[d][o] = Offset(strides[o][d]);
    }
    return at;
  }
  /// The indexer of one operand, over all dims.
  Indexer<1> indexer_of(int operand) const {
    Operands<1> one;
    for (one.rank = 0; one.rank < rank; one.rank++) {
      one.shape[one.rank] = shape[one.rank];
      one.strides[0][one.rank] = strides[operand][one.rank];
    }
    return one.indexer(rank);
  }
  /// Appends an inner dim as it is.
  void push_dim(int64 size, const int64 (&stride)[operands]) {
    shape[rank] = size;
    for (int o = 0; o < operands; o++) strides[o][rank] = stride[o];
    rank++;
  }
  /// Appends an inner dim, merged with the last one if both lie as one in every operand; drops one
  /// of size 1.
  void add_dim(int64 size, const int64 (&stride)[operands]) {
    rank = append_dim(
        shape, rank, size, operands, [&](int o) { return strides[o]; },
        [&](int o) { return stride[o]; });
  }
  /// The same with dims merged, for operands whose dims the core has not collapsed.
  Operands merged() const {
    Operands all = *this;
    all.rank = 0;
    for (int d = 0; d < rank; d++) {
      int64 stride[operands];
      for (int o = 0; o < operands; o++) stride[o] = strides[o][d];
      all.add_dim(shape[d], stride);
    }
    return all;
  }
};

/// The output, then the inputs, of an elementwise op, whose dims the core has collapsed.
template <int arity>
Operands<arity + 1> operands_of(const Call& call) {
  Operands<arity + 1> all;
  all.rank = call.out[0].rank;
  for (int d = 0; d < all.rank; d++) all.shape[d] = call.out[0].shape[d];
  for (int o = 0; o <= arity; o++) {
    const View& view = o == 0 ? call.out[0] : call.in[o - 1];
    all.data[o] = static_cast<char*>(view.data);
    all.element_bytes[o] = dtype_size(view.dtype);
    for (int d = 0; d < all.rank; d++) all.strides[o][d] = view.strides[d];
  }
  return all;
}

/// Limits of one launch: its elements, and the largest offset within an operand.
struct LaunchLimits {
  int64 numel = kLaunchLimit;
  int64 reach = kLaunchLimit;
};

/// Calls launch(part) for parts within the limits; not at all if there are no elements. Halves the
/// dim with the largest extent in memory, usually the outermost.
template <int operands, class Launch>
Status for_each_part(const Operands<operands>& all, const Launch& launch,
                     const LaunchLimits& limits = {}) {
  if (all.numel() == 0) return {};
  int widest = -1;
  int64 farthest = 0;
  bool fits = all.numel() <= limits.numel;
  for (int o = 0; o < operands; o++) {
    int64 reach = 0;
    for (int d = 0; d < all.rank; d++) {
      const int64 here = (all.shape[d] - 1) * all.strides[o][d];
      reach += here;
      if (here > farthest) farthest = here, widest = d;
    }
    fits = fits && reach <= limits.reach;
  }
  if (fits) return launch(all);
  for (int d = 0; widest < 0; d++)  // only broadcast dims
    if (all.shape[d] > 1) widest = d;

  int64 first = all.shape[widest] / 2;
  if (first >= 64) first -= first % 64;  // keeps alignment
  Operands<operands> half = all;
  half.shape[widest] = first;
  if (const Status status = for_each_part(half, launch, limits); !status.ok()) return status;
  half.shape[widest] = all.shape[widest] - first;
  for (int o = 0; o < operands; o++) {
    half.begin[o] += first * all.strides[o][widest];
    half.data[o] += first * all.strides[o][widest] * all.element_bytes[o];
  }
  return for_each_part(half, launch, limits);
}

/// How threads share rows of `length` accesses: 2^log_lanes neighbouring threads work on a row, and
/// a block on one or several rows.
struct RowSplit {
  int32 log_lanes;
  int32 rows_per_block;
  int32 steps;        // the most accesses per thread
  FastDivide pieces;  // pieces of a row, one block each
  int32 blocks;
  static RowSplit of(int64 rows, int64 length, int threads) {
    constexpr int kSteps = 4;
    RowSplit split{};
    while ((2 << split.log_lanes) < length && (1 << split.log_lanes) < threads) split.log_lanes++;
    const int64 lanes = 1 << split.log_lanes;
    split.rows_per_block = int32(threads / lanes);
    split.steps = int32(ceil_div(length, lanes) < kSteps ? ceil_div(length, lanes) : kSteps);
    const int64 pieces = ceil_div(length, lanes * split.steps);
    split.pieces = FastDivide::by(pieces);
    split.blocks = int32(ceil_div<int64>(rows, split.rows_per_block) * pieces);
    return split;
  }
  struct Accesses {
    uint32 row, first, step;  // accesses first, first + step ... `steps` of them
  };
  WICK_DEVICE Accesses place(int block, int thread) const {
    const uint32 group = pieces.quotient(block), piece = block - group * pieces.divisor;
    return {group * rows_per_block + (uint32(thread) >> log_lanes),
            (piece * steps << log_lanes) + (thread & ((1u << log_lanes) - 1)), 1u << log_lanes};
  }
};

/// shuffle_xor of a trivially copyable value of up to 8 bytes.
template <int mask, class Ctx, class T>
WICK_DEVICE T exchange(const Ctx& ctx, T v) {
  if constexpr (sizeof(T) >= 4)
    return ctx.template shuffle_xor<mask>(v);
  else
    return T(ctx.template shuffle_xor<mask>(uint32(v)));
}

}  // namespace wick::gpu
