// c = a b where a has few rows (or b few columns). b, usually weights, is read once, in its order.
#pragma once
#include "kernels/matmul.h"

namespace wick::gpu {

/// The most rows of a that these kernels accept; a block computes 1, 4 or 8 of them.
inline constexpr int kVectorRows = 16;

template <class T>
struct VectorArgs : ProductArgs<T> {
  int32 blocks;
  bool packs;   // b is read in packs; along k also a
  bool shared;  // along k: all waves of a block work on one group of columns
};

// b has stride 1 along k. A wave, or a block if columns are few, computes kColumns columns; its
// lanes read packs along k. rows: the most rows of a.
template <class T, int rows>
struct VectorAlongK {
  using C = Compute<T>;
  using Args = VectorArgs<T>;
  static constexpr int kThreads = 256, kPack = kPackSize<T>, kColumns = rows == 4 ? 4 : 2;
  // So many packs of a column are loaded at once, as registers for two blocks allow.
  static constexpr int kUnroll = rows == 1 ? 4 : rows == 4 && sizeof(T) <= 4 ? 2 : 1;
  static constexpr int kResidentBlocks = rows <= 4 ? 2 : 1;
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return {a.blocks}; }
  static WICK_HD int columns_of_block(int wave, bool shared) {
    return shared ? kColumns : kColumns * (kThreads / wave);
  }
  template <class Ctx>
  struct Shared {
    C partial[Ctx::kWaves][rows * kColumns];
  };

  template <class Ctx>
  static WICK_DEVICE void prefetch(const Ctx& ctx, const Args& args) {
    const auto block = args.place(ctx.block().x);
    const int columns = columns_of_block(Ctx::kWave, args.shared), first = block.n * columns;
    const int64 most = Ctx::kPrefetchBytes / columns, bytes = args.k * int64(sizeof(T));
    for (int i = ctx.thread(); i < columns && first + i < args.n; i += kThreads)
      ctx.prefetch(block.b + (first + i) * args.b_steps.row, bytes < most ? bytes : most);
  }

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& args) {
    const auto block = args.place(ctx.block().x);
    const int first =
        args.shared ? block.n * kColumns : (block.n * Ctx::kWaves + ctx.wave()) * kColumns;
    const int lane = args.shared ? ctx.thread() : ctx.lane();
    const int lanes = args.shared ? Ctx::kThreads : Ctx::kWave;
    const T *a[rows], *b[kColumns];
    // Rows or columns beyond the last repeat the last one and are not stored.
    const int first_m = block.m * rows;
    for (int m = 0; m < rows; m++)
      a[m] = block.a + (first_m + m < args.m ? first_m + m : args.m - 1) * args.a_steps.row;
    for (int n = 0; n < kColumns; n++)
      b[n] = block.b + (first + n < args.n ? first + n : args.n - 1) * args.b_steps.row;

    C sums[rows][kColumns] = {};
    int k = 0;
    if (args.packs) {
      const int end = args.k - args.k % kPack, step = lanes * kPack;
      k = lane * kPack;
      WICK_ROLL
      for (; k + (kUnroll - 1) * step < end; k += kUnroll * step)
        add_packs<kUnroll>(a, b, k, step, sums);
      WICK_ROLL
      for (; k < end; k += step) add_packs<1>(a, b, k, step, sums);
      k = end;
    }
    for (k += lane; k < args.k; k += lanes)
      for (int m = 0; m < rows; m++)
        for (int n = 0; n < kColumns; n++)
          sums[m][n] = fma(widen<C>(a[m][k * args.a_steps.k]), widen<C>(b[n][k * args.b_steps.k]),
                           sums[m][n]);

    for (int m = 0; m < rows; m++)
      for (int n = 0; n < kColumns; n++) {
        masks_down<Ctx::kWave / 2, 1>(
            [&]<int mask>() { sums[m][n] += ctx.template shuffle_xor<mask>(sums[m][n]); });
        if (ctx.lane() == 0) shared.partial[ctx.wave()][m * kColumns + n] = sums[m][n];
      }
    ctx.sync();
    // One thread per element of c.
    const int wave = args.shared ? 0 : ctx.thread() / (rows * kColumns);
    const int element = ctx.thread() % (rows * kColumns);
    if (ctx.thread() >= (args.shared ? 1 : Ctx::kWaves) * rows * kColumns) return;
    C sum = shared.partial[wave][element];
    for (int w = 1; args.shared && w < Ctx::kWaves; w++) sum += shared.partial[w][element];
    const int m = first_m + element / kColumns;
    const int n =
        (args.shared ? block.n : block.n * Ctx::kWaves + wave) * kColumns + element % kColumns;
    if (m < args.m && n < args.n) args.store(block.c, m, n, sum);
  }

 private:
  /// Adds the products of the packs at k, k + step ...
  template <int count>
  static WICK_DEVICE void add_packs(const T* const (&a)[rows], const T* const (&b)[kColumns], int k,
                                    int step, C (&sums)[rows][kColumns]) {
    Pack<T, kPack> y[count][kColumns];
    WICK_UNROLL
    for (int u = 0; u < count; u++) WICK_UNROLL
    for (int n = 0; n < kColumns; n++) y[u][n] = load_pack<kPack>(b[n] + k + u * step);
    WICK_UNROLL
    for (int u = 0; u < count; u++) WICK_UNROLL
    for (int m = 0; m < rows; m++) {
      const auto x = load_pack<kPack>(a[m] + k + u * step);
      WICK_UNROLL
      for (int n = 0; n < kColumns; n++) WICK_UNROLL
      for (int e = 0; e < kPack; e++)
        sums[m][n] = fma(widen<C>(x.v[e]), widen<C>(y[u][n].v[e]), sums[m][n]);
    }
  }
};

// b has stride 1 along n. A block computes kLanes packs of n, and its threads share k. rows:
// the rows of a.
template <class T, int rows>
struct VectorAlongN {
  using C = Compute<T>;
  using Args = VectorArgs<T>;
  static constexpr int kThreads = 256, kPack = kPackSize<T>, kUnroll = 4;
  static constexpr int kLanes = 4;  // 64 bytes of a row of b
  static constexpr int kColumns = kLanes * kPack, kGroups = kThreads / kLanes;
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return {a.blocks}; }
  template <class Ctx>
  struct Shared {
    C partial[Ctx::kWaves][rows][kColumns];
  };

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& args) {
    const auto block = args.place(ctx.block().x);
    const int first = block.n * kColumns, first_m = block.m * rows;
    const int lane = ctx.thread() % kLanes;
    const int n = first + lane * kPack;
    // Rows or columns beyond the last repeat the last one and are not stored.
    const T* const b = block.b + (args.packs && n >= args.n ? args.n - kPack : n);
    C sums[rows][kPack] = {};
    int k = ctx.thread() / kLanes;
    for (; k + (kUnroll - 1) * kGroups < args.k; k += kUnroll * kGroups) {
      Pack<T, kPack> y[kUnroll];
      for (int u = 0; u < kUnroll; u++) y[u] = load(args, b, n, k + u * kGroups);
      for (int u = 0; u < kUnroll; u++) add(args, block.a, first_m, k + u * kGroups, y[u], sums);
    }
    for (; k < args.k; k += kGroups) add(args, block.a, first_m, k, load(args, b, n, k), sums);

    for (int m = 0; m < rows; m++)
      for (int e = 0; e < kPack; e++) {
        masks_down<Ctx::kWave / 2, kLanes>(
            [&]<int mask>() { sums[m][e] += ctx.template shuffle_xor<mask>(sums[m][e]); });
        if (ctx.lane() < kLanes) shared.partial[ctx.wave()][m][lane * kPack + e] = sums[m][e];
      }
    ctx.sync();
    for (int i = ctx.thread(); i < rows * kColumns; i += Ctx::kThreads) {
      const int m = i / kColumns, column = i % kColumns;
      if (first_m + m >= args.m || first + column >= args.n) continue;
      C sum = shared.partial[0][m][column];
      for (int w = 1; w < Ctx::kWaves; w++) sum += shared.partial[w][m][column];
      args.store(block.c, first_m + m, first + column, sum);
    }
  }

 private:
  static WICK_DEVICE Pack<T, kPack> load(const Args& args, const T* b, int n, int k) {
    const T* const from = b + k * args.b_steps.k;
    if (args.packs) return load_pack<kPack>(from);
    Pack<T, kPack> y;
    one_by_one([&] {
      for (int e = 0; e < kPack; e++) y.v[e] = n + e < args.n ? from[e] : T{};
    });
    return y;
  }
  static WICK_DEVICE void add(const Args& args, const T* a, int first_m, int k,
                              const Pack<T, kPack>& y, C (&sums)[rows][kPack]) {
    for (int m = 0; m < rows; m++) {
      const int row = first_m + m < args.m ? first_m + m : args.m - 1;
      const C x = widen<C>(a[row * args.a_steps.row + k * args.a_steps.k]);
      for (int e = 0; e < kPack; e++) sums[m][e] = fma(x, widen<C>(y.v[e]), sums[m][e]);
    }
  }
};

template <class T>
struct VectorMatmulLaunch : MatmulLaunch<T, VectorMatmulLaunch<T>> {
  static const char* accepts_product(const Product& product, const DeviceInfo&) {
    const Product p = few_rows(product);
    if (p.m > kVectorRows) return "both sides have more than 16 rows";
    if (p.linear && product.n < product.m) return "the epilogue would be one of columns";
    if (p.b.k != 1 && p.b.row != 1) return "the larger side has no stride of 1";
    return nullptr;
  }
  static Status run_product(const Product& product, const Call& call) {
    const Product p = few_rows(product);
    if (p.m == 1) return run_rows<1>(p, call);
    return p.m <= 4 ? run_rows<4>(p, call) : run_rows<8>(p, call);
  }

 private:
  static Product few_rows(Product p) {
    if (p.n < p.m) p.transpose();
    return p;
  }
  template <int rows>
  static Status run_rows(const Product& p, const Call& call) {
    return p.b.k == 1 ? run_along_k<rows>(p, call) : run_along_n<rows>(p, call);
  }
  template <int rows>
  static Status run_along_k(const Product& p, const Call& call) {
    using K = VectorAlongK<T, rows>;
    // With so few columns, one wave per group would leave most of a card idle.
    const bool shared = p.batch.numel() * p.n < 4096 && p.k >= 1024;
    const int columns = K::columns_of_block(wave_of(call.device), shared);
    return p.for_each_launch<T, kPackSize<T>>(
        rows, columns, [&](const ProductArgs<T>& args, int32 blocks) {
          const bool packs = p.a.k == 1 && args.a_packs && args.b_packs;
          return launch<K>({args, blocks, packs, shared}, call);
        });
  }
  template <int rows>
  static Status run_along_n(const Product& p, const Call& call) {
    using K = VectorAlongN<T, rows>;
    return p.for_each_launch<T, kPackSize<T>>(
        rows, K::kColumns, [&](const ProductArgs<T>& args, int32 blocks) {
          return launch<K>({args, blocks, args.b_packs, false}, call);
        });
  }
};

}  // namespace wick::gpu
