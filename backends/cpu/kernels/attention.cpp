// Attention as products of small blocks. Forward, queries stand side by side in the lanes, so that
// softmax needs no sum across lanes and keys are read as they lie; of few queries a row is one dot
// product after the other. The gradient, which knows the sum of exponentials, has keys in the
// lanes.
#include "dispatch/attention.h"

#include "kernels/fold.h"
#include "kernels/kernels.h"
#include "scalar/round_up.h"

namespace wick::cpu::WICK_ISA {
namespace {

constexpr int64 kKeys = 64;  // of a block

// Rows of a tile: two registers each. Eight sums or more are in flight, which hides an addition's
// latency.
#if defined(__AVX512F__)
constexpr int kTileRows = 8;
#else
constexpr int kTileRows = 4;
#endif

template <class C>
inline constexpr int64 kPair = 2 * Lanes<C>::kCount;

/// A matrix whose elements are read one by one: a[r, i] = data[r · row + i · k].
template <class C>
struct Left {
  const C* data;
  int64 row, k;
};

/// c[r][0 .. registers) = or += sum over i of a[r, i] · b[i][...]. One register of b holds
/// neighbours in memory.
template <int rows, int registers, class C>
void tile(Left<C> a, const C* b, int64 b_k, int64 k, C* c, int64 c_row, bool adds) {
  using L = Lanes<C>;
  constexpr int step = L::kCount;
  L sum[rows][registers];
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
    for (int j = 0; j < registers; j++) sum[r][j] = L(C(0));
  for (int64 i = 0; i < k; i++, b += b_k, a.data += a.k) {
    L right[registers];
#pragma GCC unroll 2
    for (int j = 0; j < registers; j++) right[j] = L::load(b + j * step);
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
      const L x(a.data[r * a.row]);
#pragma GCC unroll 2
      for (int j = 0; j < registers; j++) sum[r][j] = fma(x, right[j], sum[r][j]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
    for (int j = 0; j < registers; j++) {
      C* const to = c + r * c_row + j * step;
      (adds ? L::load(to) + sum[r][j] : sum[r][j]).store(to);
    }
}

/// Multiplies as tile does where a tile has fewer rows left: `count` of them, at least `rows`.
template <int registers, class C, int rows = 1>
WICK_HD void tile_of_some(int64 count, Left<C> a, const C* b, int64 b_k, int64 k, C* c, int64 c_row,
                          bool adds) {
  if constexpr (rows < kTileRows) {
    if (count > rows)
      return tile_of_some<registers, C, rows + 1>(count, a, b, b_k, k, c, c_row, adds);
  }
  tile<rows, registers>(a, b, b_k, k, c, c_row, adds);
}

/// Multiplies `rows` rows; `width` columns are whole registers.
template <class C>
void multiply(int64 rows, int64 width, Left<C> a, const C* b, int64 b_k, int64 k, C* c, int64 c_row,
              bool adds) {
  for (int64 j = 0; j < width; j += kPair<C>)
    for (int64 r = 0; r < rows; r += kTileRows) {
      const Left<C> from = {a.data + r * a.row, a.row, a.k};
      C* const to = c + r * c_row + j;
      if (width - j >= kPair<C>)
        tile_of_some<2>(rows - r, from, b + j, b_k, k, to, c_row, adds);
      else
        tile_of_some<1>(rows - r, from, b + j, b_k, k, to, c_row, adds);
    }
}

/// Side of the square that is transposed in registers of 128 bits.
template <class C>
inline constexpr int kSide = 16 / int(sizeof(C));

template <class C>
WICK_HD void transpose_square(const C* from, int64 from_stride, C* to, int64 to_stride) {
  const hn::FixedTag<C, kSide<C>> tag;
  const hn::FixedTag<double, 2> pairs;
  const auto a = hn::LoadU(tag, from), b = hn::LoadU(tag, from + from_stride);
  const auto low = hn::InterleaveLower(tag, a, b), high = hn::InterleaveUpper(tag, a, b);
  if constexpr (kSide<C> == 2) {
    hn::StoreU(low, tag, to);
    hn::StoreU(high, tag, to + to_stride);
  } else {
    const auto c = hn::LoadU(tag, from + 2 * from_stride),
               d = hn::LoadU(tag, from + 3 * from_stride);
    const auto low2 = hn::BitCast(pairs, hn::InterleaveLower(tag, c, d)),
               high2 = hn::BitCast(pairs, hn::InterleaveUpper(tag, c, d)),
               low1 = hn::BitCast(pairs, low), high1 = hn::BitCast(pairs, high);
    const auto put = [&](auto row, C* at) __attribute__((always_inline)) {
      hn::StoreU(hn::BitCast(tag, row), tag, at);
    };
    put(hn::InterleaveLower(pairs, low1, low2), to);
    put(hn::InterleaveUpper(pairs, low1, low2), to + to_stride);
    put(hn::InterleaveLower(pairs, high1, high2), to + 2 * to_stride);
    put(hn::InterleaveUpper(pairs, high1, high2), to + 3 * to_stride);
  }
}

/// to[c][r] = from[r][c].
template <class C>
void transpose(const C* from, int64 from_stride, int64 rows, int64 columns, C* to,
               int64 to_stride) {
  constexpr int side = kSide<C>;
  const int64 whole_rows = rows / side * side, whole_columns = columns / side * side;
  for (int64 r = 0; r < whole_rows; r += side)
    for (int64 c = 0; c < whole_columns; c += side)
      transpose_square(from + r * from_stride + c, from_stride, to + c * to_stride + r, to_stride);
  for (int64 r = 0; r < rows; r++)
    for (int64 c = r < whole_rows ? whole_columns : 0; c < columns; c++)
      to[c * to_stride + r] = from[r * from_stride + c];
}

template <class C>
void scale(C factor, int64 n, C* y) {
  each<C>(
      n, [&](auto at) __attribute__((always_inline)) { at.store(at(y) * Lanes<C>(factor), y); });
}

/// Parts of a buffer, one after another; without memory it only counts.
template <class C>
class Carving {
 public:
  explicit Carving(void* buffer) : next_(static_cast<C*>(buffer)) {}
  C* take(int64 n) {
    const int64 size = round_up(n, 64 / int64(sizeof(C)));
    count_ += size;
    if (!next_) return nullptr;
    C* const part = next_;
    next_ += size;
    return part;
  }
  int64 bytes() const { return count_ * int64(sizeof(C)); }

 private:
  C* next_;
  int64 count_ = 0;
};

/// Rows of D elements of k or v in the compute type: used in place if they have that type already.
template <class C>
struct Rows {
  Rows(const AttentionParts& kernel, const void* base, int64 base_stride, const Scales& scales,
       int64 first, int64 count, int64 D, C* buffer) {
    const Access& in = kernel.keys;
    const char* const from = static_cast<const char*>(base) + first * base_stride * in.size;
    data = in.direct ? reinterpret_cast<const C*>(from) : buffer;
    stride = in.direct ? base_stride : D;
    for (int64 i = 0; i < count && !in.direct; i++) {
      in.load(from + i * base_stride * in.size, 1, D, buffer + i * D);
      if (scales.data) apply(kernel.scales, scales, first + i, D, buffer + i * D);
    }
  }
  const C* data;
  int64 stride;

 private:
  static constexpr int64 kTogether = 16;  // groups
  static void apply(const Access& in, const Scales& scales, int64 key, int64 D, C* row) {
    const char* const from = static_cast<const char*>(scales.data) + key * scales.stride * in.size;
    for (int64 g = 0, groups = D / kScaleGroup; g < groups; g += kTogether) {
      alignas(64) float factors[kTogether];
      const int64 n = smaller(kTogether, groups - g);
      in.load(from + g * in.size, 1, n, factors);
      for (int64 i = 0; i < n; i++) scale(C(factors[i]), kScaleGroup, row + (g + i) * kScaleGroup);
    }
  }
};

// ---- forward, queries in the lanes

/// Up to kPair queries, and their state after the keys already seen.
template <class C>
struct Block {
  int64 width;                       // one register of queries or two
  int64 first, end;                  // no query sees keys outside of [first, end)
  int64 all_first, all_end;          // every query sees the keys [all_first, all_end)
  C* q;                              // [D][width], scaled
  C* sums;                           // [Dv][width]: sum of exp(score - largest) v
  C *largest, *sum, *unseen, *seen;  // [width]
};

template <class C>
struct ForwardBuffer {
  ForwardBuffer(void* buffer, int64 queries, int64 D, int64 Dv) : parts(buffer) {
    for (int64 i = 0; i < queries; i += kPair<C>) {
      Block<C>& block = blocks[i / kPair<C>];
      block.q = parts.take(D * kPair<C>);
      block.sums = parts.take(Dv * kPair<C>);
      block.largest = parts.take(kPair<C>);
      block.sum = parts.take(kPair<C>);
      block.unseen = parts.take(kPair<C>);
      block.seen = parts.take(kPair<C>);
    }
    scores = parts.take(kKeys * kPair<C>);
    k = parts.take(kKeys * D);
    v = parts.take(kKeys * Dv);
    rows = parts.take(kSide<C> * (D > Dv ? D : Dv));
  }
  Carving<C> parts;
  Block<C> blocks[kMaxQueries / kPair<C> + 1];
  C *scores, *k, *v, *rows;
};

template <class C>
int64 forward_bytes(int64 queries, int64 D, int64 Dv) {
  return ForwardBuffer<C>(nullptr, queries, D, Dv).parts.bytes();
}

template <class C>
void begin(const Access& in, const Queries& queries, int64 first, int64 D, int64 Dv, C factor,
           C* rows, Block<C>& block) {
  const int64 count = smaller(kPair<C>, queries.count - first);
  block.width = count > Lanes<C>::kCount ? kPair<C> : int64(Lanes<C>::kCount);
  block.first = block.all_first = queries.unseen[first];
  block.all_end = block.end = queries.seen[first];
  for (int64 i = 0; i < count; i++) {
    const int64 unseen = queries.unseen[first + i], seen = queries.seen[first + i];
    block.first = smaller(block.first, unseen);
    if (unseen > block.all_first) block.all_first = unseen;
    block.all_end = smaller(block.all_end, seen);
    if (seen > block.end) block.end = seen;
  }
  if (count < block.width) block.all_end = 0;  // unused slots see no key
  for (int64 i = 0; i < block.width; i += kSide<C>) {
    for (int64 r = 0; r < kSide<C>; r++) {
      C* const row = rows + r * D;
      if (i + r < count)
        in.load(queries.q[first + i + r], 1, D, row);
      else
        memset(row, 0, size_t(D) * sizeof(C));
      scale(factor, D, row);
    }
    transpose(rows, D, kSide<C>, D, block.q + i, block.width);
  }
  memset(block.sums, 0, size_t(Dv * block.width) * sizeof(C));
  for (int64 i = 0; i < block.width; i++) {
    block.largest[i] = lowest<C>();
    block.sum[i] = C(0);
  }
}

/// The number of these `count` keys, from `first` on, that lie before `end`.
WICK_HD int64 keys_before(int64 end, int64 first, int64 count) {
  return end <= first ? 0 : smaller(end - first, count);
}

/// Writes -inf where a query does not see a key of [first, first + count).
template <class C>
void mask(const Queries& queries, int64 first_query, const Block<C>& block, int64 first,
          int64 count, C* scores) {
  using L = Lanes<C>;
  for (int64 i = 0; i < block.width; i++) {  // small numbers, which are exact
    const int64 query = first_query + i;
    const bool is_query = query < queries.count;
    block.unseen[i] = C(is_query ? keys_before(queries.unseen[query], first, count) : 0);
    block.seen[i] = C(is_query ? keys_before(queries.seen[query], first, count) : 0);
  }
  const int64 all_see_from = keys_before(block.all_first, first, count);
  for (int64 s = 0; s < all_see_from; s++)
    for (int64 i = 0; i < block.width; i += L::kCount) {
      C* const at = scores + s * block.width + i;
      select(L(C(s)) < L::load(block.unseen + i), L(lowest<C>()), L::load(at)).store(at);
    }
  for (int64 s = keys_before(block.all_end, first, count); s < count; s++)
    for (int64 i = 0; i < block.width; i += L::kCount) {
      C* const at = scores + s * block.width + i;
      select(L(C(s)) < L::load(block.seen + i), L::load(at), L(lowest<C>())).store(at);
    }
}

/// Scores to c tanh(score / c).
template <class C>
void soften(C soft_cap, int64 n, C* scores) {
  using L = Lanes<C>;
  each<C>(
      n, [&](auto at) __attribute__((always_inline)) {
        at.store(tanh(at(scores) / L(soft_cap)) * L(soft_cap), scores);
      });
}

template <class C>
void add_bias(const Queries& queries, int64 first_query, int64 width, int64 first, int64 count,
              C* scores) {
  const int64 some = smaller(width, queries.count - first_query), stride = queries.bias_stride;
  for (int64 i = 0; i < some; i++) {
    const C* const bias = static_cast<const C*>(queries.bias[first_query + i]) + first * stride;
    for (int64 s = 0; s < count; s++) scores[s * width + i] += bias[s * stride];
  }
}

/// Turns scores into exp(score - largest), and rescales the running sums to match. One register of
/// queries, i.
template <class C>
void exponentials(const Block<C>& block, int64 i, int64 count, int64 Dv, C* scores) {
  using L = Lanes<C>;
  const int64 width = block.width;
  const L before = L::load(block.largest + i);
  L a = before, b = before;
  int64 s = 0;
  for (; s + 2 <= count; s += 2) {
    a = larger(a, L::load(scores + s * width + i));
    b = larger(b, L::load(scores + (s + 1) * width + i));
  }
  if (s < count) a = larger(a, L::load(scores + s * width + i));
  const L now = larger(a, b);
  // A query that has seen no key yet: any finite number takes exp(-inf) to 0.
  const L base = select(now == L(lowest<C>()), L(C(0)), now);
  L sum(C(0));
  for (s = 0; s < count; s++) {
    C* const at = scores + s * width + i;
    const L e = exp(L::load(at) - base);
    e.store(at);
    sum = sum + e;
  }
  now.store(block.largest + i);
  if (hn::AllTrue(typename L::Tag(), before == now)) {
    (L::load(block.sum + i) + sum).store(block.sum + i);
    return;
  }
  const L factor = exp(before - base);
  fma(L::load(block.sum + i), factor, sum).store(block.sum + i);
  for (int64 d = 0; d < Dv; d++) {
    C* const at = block.sums + d * width + i;
    (L::load(at) * factor).store(at);
  }
}

template <class C>
void finish(const Access& out, const Queries& queries, int64 first, int64 Dv, C* rows,
            const Block<C>& block) {
  using L = Lanes<C>;
  const int64 count = smaller(block.width, queries.count - first);
  for (int64 i = 0; i < block.width && queries.sink[first]; i++)
    block.unseen[i] = i < count ? *static_cast<const C*>(queries.sink[first + i]) : lowest<C>();
  for (int64 i = 0; i < block.width; i += L::kCount) {
    L sum = L::load(block.sum + i), largest = L::load(block.largest + i), share(C(1));
    if (queries.sink[first]) {
      const L sink = L::load(block.unseen + i), most = larger(largest, sink);
      const L base = select(most == L(lowest<C>()), L(C(0)), most);
      share = exp(largest - base);
      sum = fma(sum, share, exp(sink - base));
      largest = most;
    }
    const L factor = select(sum == L(C(0)), L(C(0)), share / sum);
    for (int64 d = 0; d < Dv; d++) {
      C* const at = block.sums + d * block.width + i;
      (L::load(at) * factor).store(at);
    }
    (largest + log(sum)).store(block.sum + i);
  }
  for (int64 i = 0; i < count; i += kSide<C>) {
    transpose(block.sums + i, block.width, Dv, kSide<C>, rows, Dv);
    for (int64 r = 0; r < smaller(kSide<C>, count - i); r++) {
      out.store(rows + r * Dv, queries.y[first + i + r], 1, Dv);
      *static_cast<C*>(queries.l[first + i + r]) = block.sum[i + r];
    }
  }
}

template <class C>
void forward(const AttentionParts& kernel, const Queries& queries, const Keys& keys, int64 D,
             int64 Dv, Scoring scoring, void* memory) {
  ForwardBuffer<C> buffer(memory, queries.count, D, Dv);
  int64 least = queries.unseen[0], most = 0;
  for (int64 i = 0; i < queries.count; i += kPair<C>) {
    Block<C>& block = buffer.blocks[i / kPair<C>];
    begin(kernel.in, queries, i, D, Dv, C(scoring.scale), buffer.rows, block);
    least = smaller(least, block.first);
    if (block.end > most) most = block.end;
  }
  for (int64 first = least, n = 0; first < most; first += n) {
    n = keys.together(first, smaller(kKeys, most - first));
    const int64 row = keys.row(first);
    const Rows<C> k(kernel, keys.k, keys.k_stride, keys.k_scales, row, n, D, buffer.k);
    const Rows<C> v(kernel, keys.v, keys.v_stride, keys.v_scales, row, n, Dv, buffer.v);
    for (int64 i = 0; i < queries.count; i += kPair<C>) {
      const Block<C>& block = buffer.blocks[i / kPair<C>];
      const int64 count = smaller(n, block.end - first), width = block.width;
      if (count <= 0 || block.first >= first + count) continue;
      multiply<C>(count, width, {k.data, k.stride, 1}, block.q, width, D, buffer.scores, width,
                  false);
      if (scoring.soft_cap > 0) soften(C(scoring.soft_cap), count * width, buffer.scores);
      if (queries.biased) add_bias(queries, i, width, first, count, buffer.scores);
      if (block.all_end < first + count || block.all_first > first)
        mask(queries, i, block, first, count, buffer.scores);
      for (int64 lane = 0; lane < width; lane += Lanes<C>::kCount)
        exponentials(block, lane, count, Dv, buffer.scores);
      multiply<C>(Dv, width, {v.data, 1, v.stride}, buffer.scores, width, count, block.sums, width,
                  true);
    }
  }
  for (int64 i = 0; i < queries.count; i += kPair<C>)
    finish(kernel.out, queries, i, Dv, buffer.rows, buffer.blocks[i / kPair<C>]);
}

// ---- forward, few queries

/// Dot products of one row by `count` others.
template <int count, class C>
WICK_HD void dots(const C* x, const C* rows, int64 stride, int64 n, C* y) {
  using L = Lanes<C>;
  L sum[count];
#pragma GCC unroll 4
  for (int j = 0; j < count; j++) sum[j] = L(C(0));
  each<C>(
      n, [&](auto at) __attribute__((always_inline)) {
        const L v = at(x);
#pragma GCC unroll 4
        for (int j = 0; j < count; j++) sum[j] = fma(v, at(rows + j * stride), sum[j]);
      });
#pragma GCC unroll 4
  for (int j = 0; j < count; j++) y[j] = sum_across(sum[j]);
}

template <class C>
void scores_of(const C* q, const C* k, int64 stride, int64 count, int64 D, C* scores) {
  int64 s = 0;
  for (; s + 4 <= count; s += 4) dots<4>(q, k + s * stride, stride, D, scores + s);
  for (; s < count; s++) dots<1>(q, k + s * stride, stride, D, scores + s);
}

/// y[0 .. D) += sum over s of p[s] v[s].
template <class C>
void add_weighted(const C* p, const C* v, int64 stride, int64 count, int64 D, C* y) {
  using L = Lanes<C>;
  int64 s = 0;
  for (; s + 4 <= count; s += 4) {
    const L p0(p[s]), p1(p[s + 1]), p2(p[s + 2]), p3(p[s + 3]);
    const C* const v0 = v + s * stride;
    each<C>(
        D, [&](auto at) __attribute__((always_inline)) {
          const L low = fma(p1, at(v0 + stride), p0 * at(v0));
          const L high = fma(p3, at(v0 + 3 * stride), p2 * at(v0 + 2 * stride));
          at.store(at(y) + (low + high), y);
        });
  }
  for (; s < count; s++)
    each<C>(
        D, [&](auto at) __attribute__((always_inline)) {
          at.store(fma(L(p[s]), at(v + s * stride), at(y)), y);
        });
}

template <class C>
struct FewBuffer {
  FewBuffer(void* buffer, int64 D, int64 Dv) : parts(buffer) {
    q = parts.take(kFewQueries * D);
    sums = parts.take(kFewQueries * Dv);
    scores = parts.take(kKeys);
    k = parts.take(kKeys * D);
    v = parts.take(kKeys * Dv);
  }
  Carving<C> parts;
  C *q, *sums, *scores, *k, *v;
};

template <class C>
int64 few_bytes(int64 D, int64 Dv) {
  return FewBuffer<C>(nullptr, D, Dv).parts.bytes();
}

/// Puts exp(score - base) in place of one query's scores; returns their sum.
template <class C>
C exponentials_of(C* scores, int64 count, C base) {
  using L = Lanes<C>;
  return sum_each<C>(
      count, [&](auto at) __attribute__((always_inline)) {
        const L e = exp(at(scores, lowest<C>()) - L(base));
        at.store(e, scores);
        return e;
      });
}
template <class C>
WICK_HD C exp_of(C x) {
  return hn::GetLane(exp(Lanes<C>(x)).v);
}

template <class C>
void few(const AttentionParts& kernel, const Queries& queries, const Keys& keys, int64 D, int64 Dv,
         Scoring scoring, void* memory) {
  const FewBuffer<C> buffer(memory, D, Dv);
  C most[kFewQueries], sum[kFewQueries];
  int64 begin = queries.unseen[0], end = 0;
  for (int64 i = 0; i < queries.count; i++) {
    C* const q = buffer.q + i * D;
    kernel.in.load(queries.q[i], 1, D, q);
    scale(C(scoring.scale), D, q);
    memset(buffer.sums + i * Dv, 0, size_t(Dv) * sizeof(C));
    most[i] = lowest<C>();
    sum[i] = C(0);
    begin = smaller(begin, queries.unseen[i]);
    if (queries.seen[i] > end) end = queries.seen[i];
  }
  for (int64 first = begin, n = 0; first < end; first += n) {
    n = keys.together(first, smaller(kKeys, end - first));
    const int64 row = keys.row(first);
    const Rows<C> k(kernel, keys.k, keys.k_stride, keys.k_scales, row, n, D, buffer.k);
    const Rows<C> v(kernel, keys.v, keys.v_stride, keys.v_scales, row, n, Dv, buffer.v);
    for (int64 i = 0; i < queries.count; i++) {
      const int64 unseen = keys_before(queries.unseen[i], first, n);
      const int64 count = keys_before(queries.seen[i], first, n) - unseen;
      if (count <= 0) continue;
      scores_of(buffer.q + i * D, k.data + unseen * k.stride, k.stride, count, D, buffer.scores);
      if (scoring.soft_cap > 0) soften(C(scoring.soft_cap), count, buffer.scores);
      if (queries.biased) {
        const C* const bias =
            static_cast<const C*>(queries.bias[i]) + (first + unseen) * queries.bias_stride;
        for (int64 s = 0; s < count; s++) buffer.scores[s] += bias[s * queries.bias_stride];
      }
      const C now = largest(buffer.scores, count, most[i]);
      const C base = now == lowest<C>() ? C(0) : now;
      const C added = exponentials_of(buffer.scores, count, base);
      if (now != most[i]) {
        const C old = exp_of(most[i] - base);
        sum[i] *= old;
        scale(old, Dv, buffer.sums + i * Dv);
      }
      most[i] = now;
      sum[i] += added;
      add_weighted(buffer.scores, v.data + unseen * v.stride, v.stride, count, Dv,
                   buffer.sums + i * Dv);
    }
  }
  for (int64 i = 0; i < queries.count; i++) {
    C* const y = buffer.sums + i * Dv;
    C share(1);
    if (queries.sink[i]) {
      const C sink = *static_cast<const C*>(queries.sink[i]);
      const C now = most[i] < sink ? sink : most[i], base = now == lowest<C>() ? C(0) : now;
      share = exp_of(most[i] - base);
      sum[i] = sum[i] * share + exp_of(sink - base);
      most[i] = now;
    }
    scale(sum[i] == C(0) ? C(0) : share / sum[i], Dv, y);
    kernel.out.store(y, queries.y[i], 1, Dv);
    *static_cast<C*>(queries.l[i]) = most[i] + hn::GetLane(log(Lanes<C>(sum[i])).v);
  }
}

// ---- gradient, keys in the lanes

/// Rows of D or Dv elements are `wide` or `wide_v` apart, whole registers, zeros past D or Dv.
template <class C>
struct GradientBuffer {
  GradientBuffer(void* buffer, int64 keys, int64 D, int64 Dv)
      : parts(buffer), wide(round_up(D, Lanes<C>::kCount)), wide_v(round_up(Dv, Lanes<C>::kCount)) {
    const int64 padded = round_up(keys, kKeys);
    k_columns = parts.take(padded * D);
    v_columns = parts.take(padded * Dv);
    k = parts.take(keys * wide);
    gk = parts.take(keys * wide);
    gv = parts.take(keys * wide_v);
    q = parts.take(kGradientQueries * wide);
    gy = parts.take(kGradientQueries * wide_v);
    gq = parts.take(kGradientQueries * wide);
    p = parts.take(kGradientQueries * kKeys);
    gp = parts.take(kGradientQueries * kKeys);
    row = parts.take(wide_v);
  }
  Carving<C> parts;
  int64 wide, wide_v;
  C *k_columns, *v_columns;  // [block of keys][D or Dv][kKeys]
  C *k, *gk, *gv;            // [keys][wide or, of gv, wide_v]
  C *q, *gy, *gq;            // [queries][wide or, of gy, wide_v]; q scaled
  C *p, *gp;                 // [queries][kKeys]: softmax, and the gradient of the scores
  C* row;
};

template <class C>
int64 gradient_bytes(int64 keys, int64 D, int64 Dv) {
  return GradientBuffer<C>(nullptr, keys, D, Dv).parts.bytes();
}

/// Copies a row to the type that is computed in, zeros past D.
template <class C>
void load_row(const Access& in, const void* from, int64 D, int64 wide, C* to) {
  in.load(from, 1, D, to);
  for (int64 d = D; d < wide; d++) to[d] = C(0);
}

/// [rows][stride] to [D][kKeys], zeros past the rows.
template <class C>
void to_columns(const C* from, int64 stride, int64 rows, int64 D, C* to) {
  if (rows < kKeys) memset(to, 0, size_t(D * kKeys) * sizeof(C));
  transpose(from, stride, rows, D, to, kKeys);
}

template <class C>
void gradient_begin(const AttentionParts& kernel, const GradientKeys& keys) {
  const GradientBuffer<C> buffer(keys.buffer, keys.count, keys.D, keys.Dv);
  const int64 D = keys.D, Dv = keys.Dv, size = kernel.in.size;
  const int64 wide = buffer.wide, wide_v = buffer.wide_v;
  const char* const k = static_cast<const char*>(keys.keys.k);
  const char* const v = static_cast<const char*>(keys.keys.v);
  for (int64 s = 0; s < keys.count; s++) {
    load_row(kernel.in, k + s * keys.keys.k_stride * size, D, wide, buffer.k + s * wide);
    load_row(kernel.in, v + s * keys.keys.v_stride * size, Dv, wide_v, buffer.gv + s * wide_v);
  }
  for (int64 first = 0; first < keys.count; first += kKeys) {
    const int64 n = smaller(kKeys, keys.count - first);
    to_columns(buffer.k + first * wide, wide, n, D, buffer.k_columns + first * D);
    to_columns(buffer.gv + first * wide_v, wide_v, n, Dv, buffer.v_columns + first * Dv);
  }
  memset(buffer.gk, 0, size_t(keys.count * wide) * sizeof(C));
  memset(buffer.gv, 0, size_t(keys.count * wide_v) * sizeof(C));
}

/// Turns one query's scores to p = exp(cap(score) + bias - l), and gp to the score's gradient,
/// p (gp - delta) cap'(score); both are 0 at keys outside [unseen, seen). bias: or nullptr.
template <class C>
WICK_HD void softmax_gradient(C l, C delta, C soft_cap, const C* bias, int64 unseen, int64 seen,
                              int64 width, C* p, C* gp) {
  using L = Lanes<C>;
  constexpr int step = L::kCount;
  const L zero(C(0)), one(C(1));
  for (int64 s = 0; s < width; s += step) {
    L score = L::load(p + s), slope = one;
    if (soft_cap > 0) {
      const L t = tanh(score / L(soft_cap));
      score = t * L(soft_cap);
      slope = one - t * t;
    }
    if (bias) score = score + L::load(bias + s);
    L e = exp(score - L(l)), g = e * (L::load(gp + s) - L(delta)) * slope;
    if (unseen > s || seen < s + step) {
      alignas(64) C index[step];
      for (int i = 0; i < step; i++) index[i] = C(i);
      const L at = L::load(index), first(C(keys_before(unseen, s, step))),
              end(C(keys_before(seen, s, step)));
      e = select(at < end, select(at < first, zero, e), zero);
      g = select(at < end, select(at < first, zero, g), zero);
    }
    e.store(p + s);
    g.store(gp + s);
  }
}

/// The biases of one query for `count` keys from `first` on, zeros past them.
template <class C>
void load_biases(const GradientQueries& queries, int64 i, int64 first, int64 count, C* to) {
  const int64 stride = queries.bias_stride;
  const C* const from = static_cast<const C*>(queries.bias[i]) + first * stride;
  for (int64 s = 0; s < kKeys; s++) to[s] = s < count ? from[s * stride] : C(0);
}

template <class C>
void gradient_queries(const AttentionParts& kernel, const GradientKeys& keys,
                      const GradientQueries& queries) {
  const GradientBuffer<C> buffer(keys.buffer, keys.count, keys.D, keys.Dv);
  const int64 D = keys.D, Dv = keys.Dv, n = queries.count;
  const int64 wide = buffer.wide, wide_v = buffer.wide_v;
  C l[kGradientQueries], delta[kGradientQueries];
  int64 begin = queries.unseen[0], end = 0;
  for (int64 i = 0; i < n; i++) {
    C *const q = buffer.q + i * wide, *const gy = buffer.gy + i * wide_v;
    load_row(kernel.in, queries.q[i], D, wide, q);
    scale(C(keys.scoring.scale), D, q);
    load_row(kernel.in, queries.gy[i], Dv, wide_v, gy);
    load_row(kernel.in, queries.y[i], Dv, wide_v, buffer.row);
    dots<1>(gy, buffer.row, 0, wide_v, delta + i);
    l[i] = *static_cast<const C*>(queries.l[i]);
    // Biases hide all keys, whose weights this makes 0.
    if (queries.biased && l[i] == lowest<C>()) l[i] = -lowest<C>();
    const int64 seen = smaller(queries.seen[i], keys.count);
    begin = smaller(begin, queries.unseen[i]);
    if (seen > end) end = seen;
  }
  memset(buffer.gq, 0, size_t(n * wide) * sizeof(C));
  for (int64 first = begin / kKeys * kKeys; first < end; first += kKeys) {
    const int64 count = smaller(kKeys, end - first), width = round_up(count, Lanes<C>::kCount);
    C *const p = buffer.p, *const gp = buffer.gp;
    multiply<C>(n, width, {buffer.q, wide, 1}, buffer.k_columns + first * D, kKeys, D, p, kKeys,
                false);
    multiply<C>(n, width, {buffer.gy, wide_v, 1}, buffer.v_columns + first * Dv, kKeys, Dv, gp,
                kKeys, false);
    for (int64 i = 0; i < n; i++) {
      alignas(64) C bias[kKeys];
      if (queries.biased) load_biases(queries, i, first, count, bias);
      softmax_gradient(l[i], delta[i], C(keys.scoring.soft_cap), queries.biased ? bias : nullptr,
                       queries.unseen[i] - first, queries.seen[i] - first, width, p + i * kKeys,
                       gp + i * kKeys);
    }
    multiply<C>(count, wide_v, {p, 1, kKeys}, buffer.gy, wide_v, n, buffer.gv + first * wide_v,
                wide_v, true);
    multiply<C>(count, wide, {gp, 1, kKeys}, buffer.q, wide, n, buffer.gk + first * wide, wide,
                true);
    multiply<C>(n, wide, {gp, kKeys, 1}, buffer.k + first * wide, wide, count, buffer.gq, wide,
                true);
  }
  for (int64 i = 0; i < n; i++) {
    C* const gq = buffer.gq + i * wide;
    scale(C(keys.scoring.scale), D, gq);
    if (queries.partial)
      memcpy(queries.gq[i], gq, size_t(D) * sizeof(C));
    else
      kernel.out.store(gq, queries.gq[i], 1, D);
  }
}

template <class C>
void gradient_end(const AttentionParts& kernel, const GradientKeys& keys) {
  const GradientBuffer<C> buffer(keys.buffer, keys.count, keys.D, keys.Dv);
  const int64 size = kernel.out.size;
  for (int64 s = 0; s < keys.count; s++) {
    kernel.out.store(buffer.gk + s * buffer.wide,
                     static_cast<char*>(keys.gk) + s * keys.gk_stride * size, 1, keys.D);
    kernel.out.store(buffer.gv + s * buffer.wide_v,
                     static_cast<char*>(keys.gv) + s * keys.gv_stride * size, 1, keys.Dv);
  }
}

template <class C>
void add_up(const AttentionParts& kernel, const void* rows, int64 stride, int64 count, int64 D,
            void* y) {
  const C* const from = static_cast<const C*>(rows);
  C sum[kChunk];
  for (int64 d = 0; d < D; d += kChunk) {
    const int64 n = smaller(kChunk, D - d);
    memcpy(sum, from + d, size_t(n) * sizeof(C));
    for (int64 r = 1; r < count; r++)
      each<C>(
          n, [&](auto at) __attribute__((always_inline)) {
            at.store(at(sum) + at(from + r * stride + d), sum);
          });
    kernel.out.store(sum, static_cast<char*>(y) + d * kernel.out.size, 1, n);
  }
}

/// T: of q; S: of k and v.
template <class T, class S = T, class C = Compute<T>>
constexpr AttentionParts kAttention = {
    reading<T, C>(), writing<T, C>(),   reading<S, C>(),   reading<f16, float>(),
    kPair<C>,        forward_bytes<C>,  forward<C>,        few_bytes<C>,
    few<C>,          gradient_bytes<C>, gradient_begin<C>, gradient_queries<C>,
    gradient_end<C>, add_up<C>};

template <class T, class S>
void add_mixed(Table& table) {
  if constexpr (!kSame<T, S>)
    table.add(kSdpaMixed, kDTypeOf<T>, kDTypeOf<S>,
              {.accepts = accepts_sdpa_mixed,
               .scratch_bytes = sdpa_scratch,
               .run = run_sdpa,
               .data = &kAttention<T, S>});
}

}  // namespace

template <>
void add_family<"attention">(Table& table) {
  for_each(TypeList<float, bf16, f16>{}, [&]<class T>() {
    add_mixed<T, f16>(table);
    add_mixed<T, f8e4m3>(table);
    add_mixed<T, int8>(table);
  });
  for_each(FloatTypes{}, [&]<class T>() {
    constexpr DType t = kDTypeOf<T>;
    table.add(kSdpa, t,
              {.accepts = accepts_unit_strides,
               .scratch_bytes = sdpa_scratch,
               .run = run_sdpa,
               .data = &kAttention<T>});
    table.add(kSdpaMasked, t,
              {.accepts = accepts_sdpa_masked,
               .scratch_bytes = sdpa_scratch,
               .run = run_sdpa,
               .data = &kAttention<T>});
    table.add(kSdpaGradient, t,
              {.accepts = accepts_unit_strides,
               .scratch_bytes = sdpa_gradient_scratch,
               .run = run_sdpa_gradient,
               .data = &kAttention<T>});
    table.add(kSdpaMaskedGradient, t,
              {.accepts = accepts_sdpa_masked_gradient,
               .scratch_bytes = sdpa_gradient_scratch,
               .run = run_sdpa_masked_gradient,
               .data = &kAttention<T>});
  });
}

}  // namespace wick::cpu::WICK_ISA
