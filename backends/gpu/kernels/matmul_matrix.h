// c = a b on matrix units: f16 and bf16 with f32 accumulators.
#pragma once
#include "kernels/matmul_split.h"

namespace wick::gpu {

struct MatrixTile {
  int m, n, k;
  int threads;
  int resident;    // blocks per multiprocessor
  int stages = 3;  // of shared memory, where copies are asynchronous
};
/// A block's part of an operand, `rows` x `depth` elements: loaded from global memory into
/// registers, stored into shared memory, and loaded from there as fragments. Packs are copied into
/// shared memory without registers where that is asynchronous.
///
/// Shared memory holds [row][k], or [k][row] if rows are innermost in memory and fragments load by
/// columns as fast as by rows. If rows are innermost and column loads are slow, a thread transposes
/// 2 x 8 elements in its registers. It stores its 8 rows `rows / 8` slots apart, so that
/// neighbouring threads, which have the next 8 rows, store to neighbouring slots and use all banks.
/// With inner == Inner::kAlongK it also accepts any strides, without packs.
template <class Ctx, class T, Inner inner, int rows, int depth>
struct MatrixOperand {
  using Matrix = typename Ctx::Matrix;
  using Elements = Pack<T, 8>;
  static constexpr bool kByColumns = inner == Inner::kAlongRows && Matrix::kLoadsColumns;
  static constexpr bool kTransposes = inner == Inner::kAlongRows && !Matrix::kLoadsColumns;
  static constexpr bool kCopies = Ctx::kCopiesAsync && !kTransposes;
  static constexpr int kPad = 8;  // spreads rows over the banks; they stay 16-byte aligned
  static constexpr int kStride = (kByColumns ? rows : depth) + kPad;
  static constexpr int kElements = (kByColumns ? depth : rows) * kStride;
  static constexpr int kPacks = rows * depth / 8 / Ctx::kThreads;
  static_assert(kPacks * 8 * Ctx::kThreads == rows * depth);
  static_assert(inner == Inner::kAlongK || kPacks % 2 == 0);

  const T* from[kPacks];
  Steps steps;
  int rows_left, k_left;  // of the operand, from the block's position
  bool packs;
  typename Ctx::Words pack[kCopies ? 1 : kPacks];

  /// The row in a slot of shared memory, which is also its row of the product.
  static WICK_DEVICE int row_of(int slot) {
    if constexpr (kTransposes)
      return slot % (rows / 8) * 8 + slot / (rows / 8);
    else
      return slot;
  }

  /// first: the block's first row.
  WICK_DEVICE void begin(const Ctx& ctx, const T* x, const Steps& x_steps, int first, int all_rows,
                         int all_k, bool in_packs) {
    steps = x_steps, rows_left = all_rows - first, k_left = all_k, packs = in_packs;
    for (int p = 0; p < kPacks; p++) {
      int row = row_in_block(ctx.thread(), p);
      // Rows beyond the last load existing ones; their results are not stored.
      const int last = rows_left - (inner == Inner::kAlongRows ? 8 : 1);
      if (packs && row > last) row = last;
      from[p] = x + int64(first + row) * steps.row + int64(k_in_block(ctx.thread(), p)) * steps.k;
    }
  }
  /// Starts loading the next `depth` of k, which `store` puts into the same stage of shared memory.
  WICK_DEVICE void fetch(const Ctx& ctx, T* shared) {
    if (!whole()) return;
    WICK_UNROLL
    for (int p = 0; p < kPacks; p++) {
      if constexpr (kCopies)
        ctx.copy_async(shared + place(ctx.thread(), p), from[p], true);
      else
        pack[p] = *reinterpret_cast<const typename Ctx::Words*>(from[p]);
    }
    if constexpr (kCopies) ctx.commit_copies();
  }
  /// Stores the packs into shared memory, with zeros beyond the last k.
  WICK_DEVICE void store(const Ctx& ctx, T* shared) {
    if (!whole()) {
      // Elements that do not form packs are loaded here, one by one: early, they would take too
      // many registers.
      for (int p = 0; p < kPacks; p += kTogether) {
        const int row = row_in_block(ctx.thread(), p), k = k_in_block(ctx.thread(), p);
        Elements together[kTogether];
        for (int q = 0; q < kTogether; q++) together[q] = elements(from[p + q], row, k + q);
        put_at(shared, row, k, together);
      }
    } else if constexpr (kCopies) {
      ctx.template wait_copies<0>();
    } else {
      keep_whole(ctx, pack);
      Elements x[kPacks];
      WICK_UNROLL
      for (int p = 0; p < kPacks; p++) x[p] = __builtin_bit_cast(Elements, pack[p]);
      put(ctx, shared, x);
    }
    for (int p = 0; p < kPacks; p++) from[p] += depth * steps.k;
    k_left -= depth;
  }
  /// Stores all packs of a thread.
  static WICK_DEVICE void put(const Ctx& ctx, T* shared, const Pack<T, 8> (&x)[kPacks]) {
    WICK_UNROLL
    for (int p = 0; p < kPacks; p += kTogether)
      put_at(shared, row_in_block(ctx.thread(), p), k_in_block(ctx.thread(), p), x + p);
  }
  /// Where a pack that is not transposed lies.
  static WICK_DEVICE int place(int thread, int p) {
    const int row = row_in_block(thread, p), k = k_in_block(thread, p);
    return kByColumns ? k * kStride + row : row * kStride + k;
  }
  /// Slots 16 i ... of the product, k ... k + 15.
  template <Side side>
  static WICK_DEVICE auto load(const Ctx& ctx, const T* shared, int slot, int k) {
    if constexpr (kByColumns)
      return load_columns<side>(ctx, shared + k * kStride + slot, kStride);
    else
      return load_rows<side>(ctx, shared + slot * kStride + k, kStride);
  }

  static WICK_DEVICE int row_in_block(int thread, int p) {
    if constexpr (inner == Inner::kAlongK)
      return (p * Ctx::kThreads + thread) / (depth / 8);
    else
      return (p / 2 * Ctx::kThreads + thread) % (rows / 8) * 8;
  }
  static WICK_DEVICE int k_in_block(int thread, int p) {
    if constexpr (inner == Inner::kAlongK)
      return (p * Ctx::kThreads + thread) % (depth / 8) * 8;
    else
      return (p / 2 * Ctx::kThreads + thread) / (rows / 8) * 2 + p % 2;
  }

 private:
  static constexpr int kTogether =
      kTransposes ? 2 : 1;  // packs that are transposed with each other

  static WICK_DEVICE void put_at(T* shared, int row, int k, const Pack<T, 8>* x) {
    if constexpr (kTransposes) {
      for (int e = 0; e < 8; e++)
        store_pack(shared + (e * (rows / 8) + row / 8) * kStride + k,
                   Pack<T, 2>{x[0].v[e], x[1].v[e]});
    } else {
      store_pack(shared + (kByColumns ? k * kStride + row : row * kStride + k), x[0]);
    }
  }
  WICK_DEVICE bool whole() const { return packs && k_left >= depth; }
  WICK_DEVICE Pack<T, 8> elements(const T* x, int row, int k) const {
    Pack<T, 8> y;
    for (int e = 0; e < 8; e++) {
      const bool inside = inner == Inner::kAlongK ? k + e < k_left && (packs || row < rows_left)
                                                  : k < k_left && (packs || row + e < rows_left);
      y.v[e] = inside ? x[e * (inner == Inner::kAlongK ? steps.k : steps.row)] : T{};
    }
    return y;
  }
};

/// A stage's fetches are spread over its products of 16 of k, but for the last.
constexpr int fetch_parts(int depth) { return depth > 16 ? depth / 16 - 1 : 1; }

/// A block's part of an operand of which all packs are aligned, and k a multiple of 8 if it is the
/// inner dim. Loads have no branches, and are asynchronous where the device can. Shared memory as
/// of MatrixOperand.
template <class Ctx, class T, Inner inner, int rows, int depth>
struct PackedOperand {
  using Layout = MatrixOperand<Ctx, T, inner, rows, depth>;
  static constexpr bool kAsync = Ctx::kCopiesAsync;
  static constexpr int kElements = Layout::kElements, kPacks = Layout::kPacks;

  // A thread's packs are evenly spaced in shared memory, and in global memory except its last rows.
  static constexpr bool kInOrder =
      Ctx::kThreads % (inner == Inner::kAlongK ? depth / 8 : rows / 8) == 0;
  static constexpr bool kOnePointer = kAsync && kInOrder;

  const T* from[kOnePointer ? 1 : kPacks];
  int64 k_step, stage_step;
  int64 pack_step;  // where packs lie at equal distances
  int k_left;       // from the next fetch on
  bool is_tail;     // the packs on their way end beyond the last k
  uint32 beyond;    // a bit for each pack: its row is beyond the last
  Pack<T, 8> pack[kAsync ? 1 : kPacks];
  static_assert(kPacks <= 32);

  static WICK_DEVICE int row_of(int slot) { return Layout::row_of(slot); }
  template <Side side>
  static WICK_DEVICE auto load(const Ctx& ctx, const T* shared, int slot, int k) {
    return Layout::template load<side>(ctx, shared, slot, k);
  }

  /// first: the block's first row.
  WICK_DEVICE void begin(const Ctx& ctx, const T* x, const Steps& steps, int first, int all_rows,
                         int all_k) {
    k_step = steps.k, stage_step = depth * steps.k, k_left = all_k, is_tail = false, beyond = 0;
    pack_step = inner == Inner::kAlongK ? Ctx::kThreads / (depth / 8) * steps.row
                                        : Ctx::kThreads / (rows / 8) * 2 * steps.k;
    WICK_UNROLL
    for (int p = 0; p < kPacks; p++) {
      // Results of rows beyond the last are not stored. Their copies read nothing: all blocks would
      // else read the last row, many times, from one place of the cache. Loads load existing rows.
      const int last = all_rows - first - (inner == Inner::kAlongRows ? 8 : 1);
      const int row = Layout::row_in_block(ctx.thread(), p);
      if (row > last) beyond |= uint32(1) << p;
      if (kOnePointer && p > 0) continue;
      from[p] = x + int64(first + (row > last && !kOnePointer ? last : row)) * steps.row +
                int64(Layout::k_in_block(ctx.thread(), p)) * steps.k;
    }
  }
  /// Starts loading the next `depth` of k; asynchronous loads go to a stage of shared memory.
  WICK_DEVICE void fetch(const Ctx& ctx, T* shared) {
    WICK_UNROLL
    for (int part = 0; part < kParts; part++) fetch_part(ctx, shared, part);
  }
  /// The same in kParts parts, in order.
  static constexpr int kParts = fetch_parts(depth);
  WICK_DEVICE void fetch_part(const Ctx& ctx, T* shared, int part) {
    const int begin = part * kPacks / kParts, end = (part + 1) * kPacks / kParts;
    if (part == 0) is_tail = k_left < depth;
    WICK_UNROLL
    for (int p = begin; p < end; p++) {
      const int k = Layout::k_in_block(ctx.thread(), p);
      const bool inside = k < k_left;
      if constexpr (kOnePointer) {
        const T* x = from[0];
        if constexpr (inner == Inner::kAlongK)
          x += p * pack_step;
        else
          x += p / 2 * pack_step + p % 2 * k_step;
        ctx.copy_async(shared + Layout::place(ctx.thread(), p), x,
                       inside && (beyond >> p & 1) == 0);
      } else if constexpr (kAsync) {
        ctx.copy_async(shared + Layout::place(ctx.thread(), p), from[p],
                       inside && (beyond >> p & 1) == 0);
      } else {  // beyond the last k: the elements of k 0
        pack[p] = load_pack<8>(inside ? from[p] : from[p] - k * k_step);
      }
      if constexpr (!kOnePointer) from[p] += stage_step;
    }
    if (part < kParts - 1) return;
    if constexpr (kOnePointer) from[0] += stage_step;
    k_left -= depth;
  }
  /// Stores the packs, where that is not asynchronous; zeros beyond the last k.
  WICK_DEVICE void deliver(const Ctx& ctx, T* shared) {
    if constexpr (!kAsync) {
      if constexpr (inner == Inner::kAlongRows) keep_whole(ctx, pack);
      WICK_UNROLL
      for (int p = 0; p < kPacks; p++)
        if (is_tail && Layout::k_in_block(ctx.thread(), p) >= k_left + depth) pack[p] = {};
      Layout::put(ctx, shared, pack);
    }
  }
};

/// A block's product of two operands. An operand has MatrixOperand's interface (fetch, store, load,
/// row_of and kElements) or PackedOperand's.
template <class Ctx, class T, class OperandA, class OperandB, MatrixTile tile>
struct MatrixProduct {
  using A = OperandA;
  using B = OperandB;
  using Matrix = typename Ctx::Matrix;
  // Two stages save a barrier per step. Cards with waves of 64 have 64 KiB for all blocks of a
  // compute unit, where more resident blocks gain more.
  static constexpr bool kAsync = requires { requires A::kAsync && B::kAsync; };
  static constexpr int kStages = kAsync ? tile.stages : Ctx::kWave == 64 ? 1 : 2;
  static constexpr int kWavesM = Ctx::kWaves >= 4 && tile.m > 32 ? 2 : 1,
                       kWavesN = Ctx::kWaves / kWavesM;
  static constexpr int kWaveM = tile.m / kWavesM, kWaveN = tile.n / kWavesN;
  static constexpr int kFragmentsM = kWaveM / 16, kFragmentsN = kWaveN / 16;
  using Stages = T[kStages][A::kElements + B::kElements];
  static_assert(kWavesM * kWavesN == Ctx::kWaves && kWaveM % 16 == 0 && kWaveN % 16 == 0);
  // The tile is written through shared memory, in whole rows of Out; a half or less of it at a
  // time, as fits into the memory of the stages.
  static constexpr int kOutStride = tile.n + 8;
  static constexpr int rows_that_fit(int element_bytes, int rows) {
    while (rows * kOutStride * element_bytes > int(sizeof(Stages))) rows /= 2;
    return rows;
  }
  template <class Out>
  static constexpr int kOutRows = rows_that_fit(sizeof(Out), tile.m / 2);
  static constexpr int kAddedRows = rows_that_fit(sizeof(T), tile.m);

  using Tile = Sums<Matrix>[kFragmentsM][kFragmentsN];

  static WICK_DEVICE int wave_m(const Ctx& ctx) { return ctx.wave() / kWavesN * kWaveM; }
  static WICK_DEVICE int wave_n(const Ctx& ctx) { return ctx.wave() % kWavesN * kWaveN; }

  /// While the waves multiply one step of k, the next one is loaded: b's first, since a thread may
  /// wait for some of b's elements to compute others' places, but should not wait for a's.
  static WICK_DEVICE void multiply_all(const Ctx& ctx, Stages& stage, A& a, B& b, int steps,
                                       Tile& sums) {
    constexpr int kB = A::kElements;  // offset of b in a stage
    if (steps > 0) {
      a.fetch(ctx, stage[0]), b.fetch(ctx, stage[0] + kB);
      a.store(ctx, stage[0]), b.store(ctx, stage[0] + kB);
      ctx.sync_shared();
    }
    for (int step = 0; step < steps; step++) {
      const T* const now = stage[step % kStages];
      T* const next = stage[(step + 1) % kStages];
      const bool more = step + 1 < steps;
      if (more) b.fetch(ctx, next + kB), a.fetch(ctx, next);
      multiply_stage(ctx, now, sums);
      if (kStages == 1) ctx.sync_shared();  // all have read the stage that is overwritten next
      if (more) a.store(ctx, next), b.store(ctx, next + kB);
      ctx.sync_shared();
    }
  }
  /// The same of PackedOperands.
  static WICK_INLINE void multiply_packed(const Ctx& ctx, Stages& stage, A& a, B& b, int steps,
                                          Tile& sums) {
    constexpr int kB = A::kElements;
    if constexpr (kAsync) {
      WICK_UNROLL
      for (int s = 0; s < kStages - 1; s++) {
        if (s < steps) a.fetch(ctx, stage[s]), b.fetch(ctx, stage[s] + kB);
        ctx.commit_copies();
      }
      ctx.template wait_copies<kStages - 2>();
      ctx.sync_shared();
      // Operands are loaded one step of 16 ahead, across stages too: else all waves would wait for
      // their first operands after each barrier.
      Fragments f[2];
      f[0].load(ctx, stage[0], 0);
      int now = 0, far = kStages - 1;
      WICK_ROLL
      for (int step = 0; step < steps; step++) {
        const int next = now + 1 == kStages ? 0 : now + 1;
        WICK_UNROLL
        for (int k = 0; k < tile.k; k += 16) {
          if (k + 16 < tile.k) {
            f[(k / 16 + 1) % 2].load(ctx, stage[now], k + 16);
          } else {
            ctx.commit_copies();
            ctx.template wait_copies<kStages - 2>();
            ctx.sync_shared();  // all have read this stage
            f[0].load(ctx, stage[next], 0);
          }
          if (k + 16 < tile.k && step + kStages - 1 < steps) {
            a.fetch_part(ctx, stage[far], k / 16);
            b.fetch_part(ctx, stage[far] + kB, k / 16);
          }
          f[k / 16 % 2].multiply_into(ctx, sums);
        }
        far = now, now = next;
      }
      ctx.sync_shared();
    } else {
      if (steps > 0) {
        a.fetch(ctx, nullptr), b.fetch(ctx, nullptr);
        a.deliver(ctx, stage[0]), b.deliver(ctx, stage[0] + kB);
        ctx.sync_shared();
      }
      WICK_ROLL
      for (int step = 0; step < steps; step++) {
        T* const next = stage[(step + 1) % kStages];
        const bool more = step + 1 < steps;
        if (more) a.fetch(ctx, nullptr), b.fetch(ctx, nullptr);
        multiply_stage(ctx, stage[step % kStages], sums);
        if (kStages == 1) ctx.sync_shared();
        if (more) a.deliver(ctx, next), b.deliver(ctx, next + kB);
        ctx.sync_shared();
      }
    }
  }
  /// The operands of a wave for 16 of k.
  struct Fragments {
    Operand<T, Matrix, Side::kLeft> x[kFragmentsM];
    Operand<T, Matrix> y[kFragmentsN];

    WICK_DEVICE void load(const Ctx& ctx, const T* stage, int k) {
      WICK_UNROLL
      for (int j = 0; j < kFragmentsN; j++)
        y[j] = B::template load<Side::kRight>(ctx, stage + A::kElements, wave_n(ctx) + 16 * j, k);
      WICK_UNROLL
      for (int i = 0; i < kFragmentsM; i++)
        x[i] = A::template load<Side::kLeft>(ctx, stage, wave_m(ctx) + 16 * i, k);
    }
    WICK_DEVICE void multiply_into(const Ctx& ctx, Tile& sums) const {
      WICK_UNROLL
      for (int i = 0; i < kFragmentsM; i++) {
        WICK_UNROLL
        for (int j = 0; j < kFragmentsN; j++) multiply(ctx, sums[i][j], x[i], y[j]);
      }
    }
  };
  /// Multiplies a stage, with registers for one left operand at a time.
  static WICK_INLINE void multiply_stage(const Ctx& ctx, const T* stage, Tile& sums) {
    WICK_UNROLL
    for (int k = 0; k < tile.k; k += 16) {
      Operand<T, Matrix> y[kFragmentsN];
      WICK_UNROLL
      for (int j = 0; j < kFragmentsN; j++)
        y[j] = B::template load<Side::kRight>(ctx, stage + A::kElements, wave_n(ctx) + 16 * j, k);
      WICK_UNROLL
      for (int i = 0; i < kFragmentsM; i++) {
        const auto x = A::template load<Side::kLeft>(ctx, stage, wave_m(ctx) + 16 * i, k);
        ctx.keep_order();
        WICK_UNROLL
        for (int j = 0; j < kFragmentsN; j++) multiply(ctx, sums[i][j], x, y[j]);
      }
    }
  }
  /// Adds bias[n] to the sums of column n of the tile, for n < columns.
  static WICK_DEVICE void add_bias(const Ctx& ctx, Tile& sums, const T* bias, int columns) {
    WICK_UNROLL
    for (int j = 0; j < kFragmentsN; j++) {
      WICK_UNROLL
      for (int e = 0; e < Matrix::kAccumulator; e++) {
        const int n = B::row_of(wave_n(ctx) + 16 * j + Matrix::n(ctx.lane(), e));
        const float added = n < columns ? widen<float>(bias[n]) : 0;
        WICK_UNROLL
        for (int i = 0; i < kFragmentsM; i++) sums[i][j].v[e] += added;
      }
    }
  }
  /// Calls put(m, n, sum) for every sum of the lane; m and n are within the tile.
  template <class Put>
  static WICK_DEVICE void each_sum(const Ctx& ctx, const Tile& sums, const Put& put) {
    WICK_UNROLL
    for (int i = 0; i < kFragmentsM; i++) {
      WICK_UNROLL
      for (int j = 0; j < kFragmentsN; j++) {
        WICK_UNROLL
        for (int e = 0; e < Matrix::kAccumulator; e++)
          put(A::row_of(wave_m(ctx) + 16 * i + Matrix::m(ctx.lane(), e)),
              B::row_of(wave_n(ctx) + 16 * j + Matrix::n(ctx.lane(), e)), sums[i][j].v[e]);
      }
    }
  }
  /// Rounds the sums to Out and calls put(m, n, pack) for packs along n; m, n: within the tile.
  template <class Out = T, int pack = 8, class Put>
  static WICK_DEVICE void write(const Ctx& ctx, Stages& stage, const Tile& sums, const Put& put) {
    constexpr int kRows = kOutRows<Out>;
    Out* const out = reinterpret_cast<Out*>(stage[0]);
    WICK_ROLL
    for (int first = 0; first < tile.m; first += kRows) {
      each_place<kRows>(ctx, first, sums, [&](int at, float sum) { out[at] = narrow<Out>(sum); });
      ctx.sync_shared();
      each_pack<kRows, pack>(ctx, [&](int slot, int column, int at) {
        put(A::row_of(first + slot), column, load_pack<pack>(out + at));
      });
      ctx.sync_shared();
    }
  }
  /// The same of sums to which elements of T are added. from(m, n) is the address of 8 neighbours
  /// along n, or null if they are not stored.
  template <class From, class Put>
  static WICK_DEVICE void write_added(const Ctx& ctx, Stages& stage, const Tile& sums,
                                      const From& from, const Put& put) {
    constexpr int kRows = kAddedRows;
    T* const out = stage[0];
    WICK_ROLL
    for (int first = 0; first < tile.m; first += kRows) {
      // All are on their way at once.
      each_pack<kRows, 8>(ctx, [&](int slot, int column, int at) {
        const T* const added = from(A::row_of(first + slot), column);
        if constexpr (Ctx::kCopiesAsync)
          ctx.copy_async(out + at, added, added != nullptr);
        else if (added)
          store_pack(out + at, load_pack<8>(added));
      });
      if constexpr (Ctx::kCopiesAsync) ctx.commit_copies(), ctx.template wait_copies<0>();
      ctx.sync_shared();
      each_place<kRows>(ctx, first, sums, [&](int at, float sum) {
        out[at] = narrow<T>(sum + widen<float>(out[at]));
      });
      ctx.sync_shared();
      each_pack<kRows, 8>(ctx, [&](int slot, int column, int at) {
        put(A::row_of(first + slot), column, load_pack<8>(out + at));
      });
      ctx.sync_shared();
    }
  }

 private:
  /// Calls f(at, sum) for the lane's sums in kRows rows of the tile from `first` on. at: the sum's
  /// index where those rows lie in shared memory.
  template <int kRows, class F>
  static WICK_INLINE void each_place(const Ctx& ctx, int first, const Tile& sums, const F& f) {
    static_assert(kRows % 16 == 0 && kRows > 0);
    WICK_UNROLL
    for (int i = 0; i < kFragmentsM; i++) {
      const int slot = wave_m(ctx) + 16 * i - first;
      if (slot < 0 || slot >= kRows) continue;
      WICK_UNROLL
      for (int j = 0; j < kFragmentsN; j++) {
        WICK_UNROLL
        for (int e = 0; e < Matrix::kAccumulator; e++)
          f((slot + Matrix::m(ctx.lane(), e)) * kOutStride +
                B::row_of(wave_n(ctx) + 16 * j + Matrix::n(ctx.lane(), e)),
            sums[i][j].v[e]);
      }
    }
  }
  /// Calls f(slot, column, at) for the thread's packs of kRows rows. at: as of each_place.
  template <int kRows, int pack, class F>
  static WICK_INLINE void each_pack(const Ctx& ctx, const F& f) {
    for (int p = ctx.thread(); p < kRows * tile.n / pack; p += Ctx::kThreads) {
      const int slot = p / (tile.n / pack), column = p % (tile.n / pack) * pack;
      f(slot, column, slot * kOutStride + column);
    }
  }
};

/// Small tiles of PackedOperands also split k, where they are too few to occupy the card.
constexpr bool splits_k(const MatrixTile& tile, bool packed) { return packed && tile.m <= 64; }

// One block per tile of c and part of k. packed: uses PackedOperand. whole_epilogue: not just bias.
template <class T, Inner a_inner, Inner b_inner, MatrixTile tile, bool packed,
          bool whole_epilogue = false>
struct MatrixMatmul {
  static constexpr bool kUsesMatrix = true;
  static constexpr int kResidentBlocks = tile.resident, kLeastWaves = 2;
  static constexpr bool kSplits = splits_k(tile, packed);
  using Args = SplitProductArgs<T>;
  static constexpr int threads(int) { return tile.threads; }
  static Grid grid(int, const Args& a) { return {a.blocks, a.splits}; }

  template <class Ctx, Inner inner, int rows>
  using OperandOf = Either<packed, PackedOperand<Ctx, T, inner, rows, tile.k>,
                           MatrixOperand<Ctx, T, inner, rows, tile.k>>;
  template <class Ctx>
  using Parts =
      MatrixProduct<Ctx, T, OperandOf<Ctx, a_inner, tile.m>, OperandOf<Ctx, b_inner, tile.n>, tile>;
  template <class Ctx>
  struct Shared {
    alignas(16) typename Parts<Ctx>::Stages stage;
  };

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& args) {
    using P = Parts<Ctx>;
    const auto block = args.place(ctx.block().x);
    const int first_m = block.m * tile.m, first_n = block.n * tile.n;
    typename P::A a;
    typename P::B b;
    typename P::Tile sums = {};
    const int steps = ceil_div(args.k, tile.k);
    if constexpr (kSplits) {
      const int first_k = ctx.block().y * args.split_length;
      const int k = args.k - first_k < args.split_length ? args.k - first_k : args.split_length;
      a.begin(ctx, block.a + first_k * args.a_steps.k, args.a_steps, first_m, args.m, k);
      b.begin(ctx, block.b + first_k * args.b_steps.k, args.b_steps, first_n, args.n, k);
      P::multiply_packed(ctx, shared.stage, a, b, ceil_div(k, tile.k), sums);
      if (args.partials) {
        float* const partial = args.partial(ctx.block().y, block.batch);
        P::each_sum(ctx, sums, [&](int tile_m, int tile_n, float sum) {
          const int m = first_m + tile_m, n = first_n + tile_n;
          if (m < args.m && n < args.n) partial[int64(m) * args.n + n] = sum;
        });
        return;
      }
    } else if constexpr (packed) {
      a.begin(ctx, block.a, args.a_steps, first_m, args.m, args.k);
      b.begin(ctx, block.b, args.b_steps, first_n, args.n, args.k);
      P::multiply_packed(ctx, shared.stage, a, b, steps, sums);
    } else {
      a.begin(ctx, block.a, args.a_steps, first_m, args.m, args.k, args.a_packs);
      b.begin(ctx, block.b, args.b_steps, first_n, args.n, args.k, args.b_packs);
      P::multiply_all(ctx, shared.stage, a, b, steps, sums);
    }
    const Epilogue<T>& epilogue = args.epilogue;
    // A residual alone is added where the result is rounded.
    const bool adds = whole_epilogue && args.c_packs && epilogue.residual && !epilogue.is_wide &&
                      epilogue.activation == EpilogueActivation::kNone;
    if constexpr (whole_epilogue) {
      if (!adds) {
        P::template write<float, 4>(
            ctx, shared.stage, sums, [&](int tile_m, int tile_n, const Pack<float, 4>& pack) {
              const int m = first_m + tile_m, n = first_n + tile_n;
              if (m < args.m && n < args.n)
                epilogue.store(args.c, m * args.c_m + n, n, args.n - n, args.c_packs, pack);
            });
        return;
      }
    }
    if (epilogue.bias) P::add_bias(ctx, sums, epilogue.bias + first_n, args.n - first_n);
    const auto put = [&](int tile_m, int tile_n, const Pack<T, 8>& pack) {
      const int m = first_m + tile_m, n = first_n + tile_n;
      if (m >= args.m || n >= args.n) return;
      T* const c = block.c + m * args.c_m + n * args.c_n;
      if (args.c_packs) {
        store_pack(c, pack);
      } else {
        for (int e = 0; e < 8; e++)
          if (n + e < args.n) c[e * args.c_n] = pack.v[e];
      }
    };
    if constexpr (whole_epilogue) {
      const auto from = [&](int tile_m, int tile_n) -> const T* {
        const int m = first_m + tile_m, n = first_n + tile_n;
        const bool inside = m < args.m && n < args.n;
        return inside ? static_cast<const T*>(epilogue.residual) + m * args.c_m + n : nullptr;
      };
      P::write_added(ctx, shared.stage, sums, from, put);
    } else {
      P::write(ctx, shared.stage, sums, put);
    }
  }
};

inline constexpr MatrixTile kLargeMatrixTile{128, 128, 32, 256, 2};
inline constexpr MatrixTile kSmallMatrixTile{64, 64, 32, 128, 4};
// With asynchronous copies, which leave registers for 64 x 64 sums of a wave.
inline constexpr MatrixTile kWideAsyncTile{128, 256, 32, 256, 1};
inline constexpr MatrixTile kSquareAsyncTile{128, 128, 32, 128, 2, 4};
inline constexpr MatrixTile kSmallAsyncTile{64, 128, 64, 128, 2};
// For few rows: reading the other operand takes most of the time.
inline constexpr MatrixTile kThinAsyncTile{32, 128, 64, 128, 3};

template <class T, MatrixTile tile, bool packed>
struct MatrixMatmulLaunch : MatmulLaunch<T, MatrixMatmulLaunch<T, tile, packed>> {
  static const char* accepts_product(const Product& p, const DeviceInfo& info) {
    const int64 blocks =
        p.batch.numel() * ceil_div<int64>(p.m, tile.m) * ceil_div<int64>(p.n, tile.n);
    if (tile.m >= 128 && blocks < info.compute_units)
      return "large tiles would leave compute units idle";
    if (tile.m >= 128 && packed && p.m <= tile.m / 2) return "large tiles would be half empty";
    if (tile.m == kThinAsyncTile.m) {
      if (p.m <= 4 || p.m > tile.m) return "there are not 5 to 32 rows";
      if (p.n < 512 || p.k < 512) return "the operands are small";
    }
    if (packed && !(p.operand_in_packs(1, p.a, p.m, 8) && p.operand_in_packs(2, p.b, p.n, 8)))
      return "an operand is not in aligned packs";
    if (packed && p.k % 8 != 0) return "k is no multiple of 8";
    if (packed && p.linear && (p.a.k != 1 || p.b.k != 1)) return "an operand is not along k";
    return nullptr;
  }
  static int64 scratch_bytes(const Call& call, const DeviceInfo& info) {
    if (!splits_k(tile, packed)) return 0;
    const Product p(call);
    const int64 blocks =
        p.batch.numel() * ceil_div<int64>(p.m, tile.m) * ceil_div<int64>(p.n, tile.n);
    // Two blocks on each compute unit at least.
    const int64 resident = tile.m < 64 ? tile.resident : 2;
    return split_scratch<T>(call, splits_of(p.k, blocks, resident * info.compute_units));
  }
  static Status run_product(const Product& p, const Call& call) {
    if (p.epilogue<T>().is_more_than_bias()) {
      using K = MatrixMatmul<T, Inner::kAlongK, Inner::kAlongK, tile, packed, true>;
      return run_split<K, T, 8>(p, {tile.m, tile.n, tile.k}, call);
    }
    return with_inner_dims(p, [&]<Inner a, Inner b>() {
      using K = MatrixMatmul<T, a, b, tile, packed>;
      return run_split<K, T, 8>(p, {tile.m, tile.n, tile.k}, call);
    });
  }
};

}  // namespace wick::gpu
