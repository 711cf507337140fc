// c = a b by plain fused multiply-adds, for any strides: every float dtype, and integers as
// unsigned ones modulo 2^bits.
#pragma once
#include "kernels/matmul.h"

namespace wick::gpu {

struct PlainTile {
  int m, n, k;
};

/// The type of products and sums. Integers need no more bits than their own to be right modulo
/// 2^bits, but at least 32: C++ would promote narrower ones to signed int.
template <class T>
using ProductSum =
    Either<is_floating(kDTypeOf<T>), Compute<T>, Bits<(sizeof(T) < 4 ? 4 : sizeof(T))>>;

template <class C>
WICK_DEVICE C multiply_add(C a, C b, C sum) {
  if constexpr (kSame<C, float> || kSame<C, double>)
    return fma(a, b, sum);
  else
    return a * b + sum;
}

/// A block's product of two operands' tiles. The loader of an operand has
///
///   fetch()         starts loading the next tile.k of k
///   store(shared)   stores them into shared memory, with zeros beyond the last
///
/// A thread has (tile.m / 16) x (tile.n / 16) sums, in groups of 4 x 4 that are 64 apart, so that
/// neighbouring threads read neighbouring banks.
template <class T, PlainTile tile>
struct PlainProduct {
  using C = ProductSum<T>;
  static constexpr int kThreads = 256, kPad = 4, kGroup = 64;
  static constexpr int kRun =
      tile.m * tile.k / kThreads;  // elements of an operand's tile per thread
  static constexpr int kGroupsM = tile.m / kGroup, kGroupsN = tile.n / kGroup;
  static_assert(tile.m == tile.n && kRun * kThreads == tile.m * tile.k);
  static_assert(kRun == 2 || kRun == 4);
  using Sums = C[kGroupsM * 4][kGroupsN * 4];
  template <class Ctx>
  struct Shared {
    alignas(16) C a[2][tile.k][tile.m + kPad];
    alignas(16) C b[2][tile.k][tile.n + kPad];
  };

  /// While one step of k is multiplied, the next one is loaded into registers.
  template <class Ctx, class A, class B>
  static WICK_DEVICE void multiply(const Ctx& ctx, Shared<Ctx>& shared, A& a, B& b, int steps,
                                   Sums& sums) {
    const int thread_m = first_m(ctx.thread()), thread_n = first_n(ctx.thread());
    if (steps > 0) {
      a.fetch(), b.fetch();
      a.store(shared.a[0]), b.store(shared.b[0]);
      ctx.sync_shared();
    }
    for (int step = 0; step < steps; step++) {
      const bool more = step + 1 < steps;
      if (more) a.fetch(), b.fetch();
      const auto& now_a = shared.a[step % 2];
      const auto& now_b = shared.b[step % 2];
      for (int k = 0; k < tile.k; k++) {
        Pack<C, 4> x[kGroupsM], y[kGroupsN];
        for (int i = 0; i < kGroupsM; i++) x[i] = load_pack<4>(&now_a[k][i * kGroup + thread_m]);
        for (int j = 0; j < kGroupsN; j++) y[j] = load_pack<4>(&now_b[k][j * kGroup + thread_n]);
        for (int i = 0; i < kGroupsM * 4; i++)
          for (int j = 0; j < kGroupsN * 4; j++)
            sums[i][j] = multiply_add(x[i / 4].v[i % 4], y[j / 4].v[j % 4], sums[i][j]);
      }
      if (more) a.store(shared.a[(step + 1) % 2]), b.store(shared.b[(step + 1) % 2]);
      ctx.sync_shared();
    }
  }
  /// The first row of a thread's sums: they have rows first_m + i / 4 * kGroup + i % 4, and
  /// columns likewise.
  static WICK_DEVICE int first_m(int thread) { return thread / 16 * 4; }
  static WICK_DEVICE int first_n(int thread) { return thread % 16 * 4; }

  /// A thread's part of an operand's tile: kRun neighbours along the dim of stride 1, or along k.
  template <int rows>
  struct Loader {
    const T* from;
    Steps steps;
    int row, k, rows_left, k_left;
    bool along_rows, packs;
    Pack<T, kRun> run;

    WICK_DEVICE Loader(int thread, const T* x, const Steps& x_steps, int first, int all_rows,
                       int all_k, bool in_packs)
        : steps(x_steps), rows_left(all_rows - first), k_left(all_k), packs(in_packs) {
      along_rows = steps.row == 1 && steps.k != 1;
      row = along_rows ? thread % (rows / kRun) * kRun : thread / (tile.k / kRun);
      k = along_rows ? thread / (rows / kRun) : thread % (tile.k / kRun) * kRun;
      // Rows beyond the last load existing ones; their results are not stored.
      const int last = rows_left - (along_rows ? kRun : 1);
      const int row_in = packs && row > last ? last : row;
      from = x + int64(first + row_in) * steps.row + int64(k) * steps.k;
    }
    /// Loads the next tile.k of k, zeros beyond the last.
    WICK_DEVICE void fetch() {
      if (packs && k_left >= tile.k) {
        run = load_pack<kRun>(from);
      } else {
        one_by_one([&] {
          for (int e = 0; e < kRun; e++) {
            const bool inside = along_rows ? k < k_left && (packs || row + e < rows_left)
                                           : k + e < k_left && (packs || row < rows_left);
            run.v[e] = inside ? from[e * (along_rows ? steps.row : steps.k)] : T{};
          }
        });
      }
      from += tile.k * steps.k;
      k_left -= tile.k;
    }
    WICK_DEVICE void store(C (&shared)[tile.k][rows + kPad]) const {
      Pack<C, kRun> wide;
      for (int e = 0; e < kRun; e++) wide.v[e] = widen<C>(run.v[e]);
      if (along_rows) {
        store_pack(&shared[k][row], wide);
      } else {
        for (int e = 0; e < kRun; e++) shared[k + e][row] = wide.v[e];
      }
    }
  };

  /// The same of an operand in packs, with fewer instructions: its inner dim is known.
  template <int rows, bool along_rows>
  struct PackedLoader {
    const T* from;
    int64 step;
    int row, k, k_left;
    Pack<T, kRun> run;

    WICK_DEVICE PackedLoader(int thread, const T* x, const Steps& steps, int first, int all_rows,
                             int all_k, bool)
        : step(tile.k * steps.k),
          row(along_rows ? thread % (rows / kRun) * kRun : thread / (tile.k / kRun)),
          k(along_rows ? thread / (rows / kRun) : thread % (tile.k / kRun) * kRun),
          k_left(all_k) {
      const int last = all_rows - first - (along_rows ? kRun : 1);
      from = x + int64(first + (row > last ? last : row)) * steps.row + int64(k) * steps.k;
    }
    WICK_DEVICE void fetch() {
      run = k < k_left ? load_pack<kRun>(from) : Pack<T, kRun>{};
      from += step;
      k_left -= tile.k;
    }
    WICK_DEVICE void store(C (&shared)[tile.k][rows + kPad]) const {
      Pack<C, kRun> wide;
      for (int e = 0; e < kRun; e++) wide.v[e] = widen<C>(run.v[e]);
      if constexpr (along_rows) {
        store_pack(&shared[k][row], wide);
      } else {
        for (int e = 0; e < kRun; e++) shared[k + e][row] = wide.v[e];
      }
    }
  };
};

// One block per tile of c. Operands have PlainProduct's loaders.
template <class T, PlainTile tile, class A, class B>
struct TiledMatmul : PlainProduct<T, tile> {
  using P = PlainProduct<T, tile>;
  struct Args : ProductArgs<T> {
    int32 blocks;
  };
  static constexpr int threads(int) { return P::kThreads; }
  static Grid grid(int, const Args& a) { return {a.blocks}; }
  template <class Ctx>
  using Shared = typename P::template Shared<Ctx>;

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& args) {
    const auto block = args.place(ctx.block().x);
    const int first_m = block.m * tile.m, first_n = block.n * tile.n;
    A a(ctx.thread(), block.a, args.a_steps, first_m, args.m, args.k, args.a_packs);
    B b(ctx.thread(), block.b, args.b_steps, first_n, args.n, args.k, args.b_packs);
    typename P::Sums sums = {};
    P::multiply(ctx, shared, a, b, ceil_div(args.k, tile.k), sums);

    const int thread_m = P::first_m(ctx.thread()), thread_n = P::first_n(ctx.thread());
    if (args.epilogue.bias) add_bias(args, first_n + thread_n, sums);
    for (int i = 0; i < P::kGroupsM * 4; i++) {
      const int m = first_m + i / 4 * P::kGroup + thread_m + i % 4;
      if (m >= args.m) break;
      for (int j = 0; j < P::kGroupsN; j++) {
        const int n = first_n + j * P::kGroup + thread_n;
        T* const c = block.c + m * args.c_m + n * args.c_n;
        Pack<T, 4> pack;
        for (int e = 0; e < 4; e++) pack.v[e] = narrow<T>(sums[i][j * 4 + e]);
        if (args.c_packs) {
          if (n < args.n) store_pack(c, pack);
        } else {
          for (int e = 0; e < 4; e++)
            if (n + e < args.n) c[e * args.c_n] = pack.v[e];
        }
      }
    }
  }

 private:
  /// n: the column of a thread's first sum.
  static WICK_DEVICE void add_bias(const Args& args, int n, typename P::Sums& sums) {
    using C = Compute<T>;
    WICK_UNROLL
    for (int j = 0; j < P::kGroupsN * 4; j++) {
      const int column = n + j / 4 * P::kGroup + j % 4;
      const C added = column < args.n ? widen<C>(args.epilogue.bias[column]) : C(0);
      WICK_UNROLL
      for (int i = 0; i < P::kGroupsM * 4; i++) sums[i][j] += added;
    }
  }
};

inline constexpr PlainTile kLargePlainTile{128, 128, 8};
inline constexpr PlainTile kSmallPlainTile{64, 64, 16};
// For elements of 8 bytes: a tile.k of 16 would spill.
inline constexpr PlainTile kDoublePlainTile{64, 64, 8};

template <class T, PlainTile tile, bool packed = false>
struct TiledMatmulLaunch : MatmulLaunch<T, TiledMatmulLaunch<T, tile, packed>> {
  using P = PlainProduct<T, tile>;

  static const char* accepts_product(const Product& p, const DeviceInfo& info) {
    const int64 blocks =
        p.batch.numel() * ceil_div<int64>(p.m, tile.m) * ceil_div<int64>(p.n, tile.n);
    if (tile.m == kLargePlainTile.m && blocks < info.compute_units)
      return "large tiles would leave compute units idle";
    if (packed &&
        !(p.operand_in_packs(1, p.a, p.m, P::kRun) && p.operand_in_packs(2, p.b, p.n, P::kRun)))
      return "an operand is not in packs";
    if (packed && p.k % P::kRun != 0 && !(along_rows(p.a) && along_rows(p.b)))
      return "packs along k end beyond the last";
    return nullptr;
  }
  static Status run_product(const Product& p, const Call& call) {
    if constexpr (packed) {
      return along_rows(p.a) ? run_a<true>(p, call) : run_a<false>(p, call);
    } else {
      using Loader = typename P::template Loader<tile.m>;
      return run_loaders<Loader, Loader>(p, call);
    }
  }

 private:
  static bool along_rows(const Steps& x) { return x.row == 1 && x.k != 1; }
  template <bool a>
  static Status run_a(const Product& p, const Call& call) {
    using A = typename P::template PackedLoader<tile.m, a>;
    return along_rows(p.b)
               ? run_loaders<A, typename P::template PackedLoader<tile.n, true>>(p, call)
               : run_loaders<A, typename P::template PackedLoader<tile.n, false>>(p, call);
  }
  template <class A, class B>
  static Status run_loaders(const Product& p, const Call& call) {
    const Status status =
        p.for_each_launch<T, 4>(tile.m, tile.n, [&](const ProductArgs<T>& args, int32 blocks) {
          return launch<TiledMatmul<T, tile, A, B>>({args, blocks}, call);
        });
    if constexpr (is_floating(kDTypeOf<T>) && sizeof(T) > 1) {
      if (status.ok() && p.linear) {
        // In registers, more than the bias would cost the kernel its occupancy.
        Epilogue<T> rest = p.epilogue<T>();
        rest.bias = nullptr;
        return finish_product(call, rest);
      }
    }
    return status;
  }
};

}  // namespace wick::gpu
