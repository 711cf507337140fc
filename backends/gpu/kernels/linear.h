// y[m, n] = sum over k of x[m, k] w[n, k], with weights of another dtype than x, blocks among them.
// This file has the call and the kernel for a few rows; linear_tiled.h has a kernel for any number,
// linear_matrix.h one on matrix units.
#pragma once
#include "kernels/matmul.h"
#include "kernels/weights.h"

namespace wick::gpu {

struct LinearArgs {
  void* y;
  const void* x;
  WeightRows w;
  int64 x_row;  // in elements
  int32 m, n, k;
  DType dtype;            // of x and y
  bool x_packs, y_packs;  // rows are aligned to 16 bytes
  int32 blocks_m, blocks_n;

  struct BlockTile {
    int m, n;
  };
  /// A block's tile, in an order in which neighbouring blocks share rows in the cache.
  WICK_DEVICE BlockTile place(int block) const {
    constexpr int kGroup = 8;  // blocks along m that advance along n together
    const int group = block / (kGroup * blocks_n), in_group = block % (kGroup * blocks_n);
    const int rows = blocks_m - group * kGroup < kGroup ? blocks_m - group * kGroup : kGroup;
    return {group * kGroup + in_group % rows, in_group / rows};
  }
  WICK_DEVICE int x_bytes() const { return dtype == DType::kF32 ? 4 : 2; }  // of an element
  WICK_DEVICE const uint8* x_of(int row) const {
    return static_cast<const uint8*>(x) + row * x_row * x_bytes();
  }
  WICK_DEVICE void store(int row, int column, float v) const {
    OneOf<float, float, bf16, f16>::store<1>(
        dtype, static_cast<uint8*>(y) + (int64(row) * n + column) * x_bytes(), 0, {{v}});
  }
};

/// A call on the host.
struct LinearCall {
  static const char* check(const Call& call) {
    const View &x = call.in[0], &w = call.in[1], &y = call.out[0];
    if (x.rank != 2 || w.rank != 2 || y.rank != 2) return "operands are not of rank 2";
    if (x.shape[0] != y.shape[0] || w.shape[0] != y.shape[1] || x.shape[1] != w.shape[1])
      return "sizes differ";
    const int64 sizes[] = {x.shape[0], w.shape[0], x.shape[1]};
    for (const int64 size : sizes)
      if (size > kLaunchLimit) return "a dim has more than 2^30 elements";
    const View* const rows[] = {&x, &w};
    for (const View* v : rows)
      if (v->shape[1] > 1 && v->strides[1] != 1) return "an inner stride is not 1";
    if (is_block(w.dtype) && !is_aligned(w.data, block_alignment(w.dtype)))
      return "blocks are not aligned to the words that they are read in";
    return y.contiguous() ? nullptr : "the output is not contiguous";
  }
  static int64 blocks(const Call& call, int64 tile_m, int64 tile_n) {
    return ceil_div(call.out[0].shape[0], tile_m) * ceil_div(call.out[0].shape[1], tile_n);
  }
  static LinearArgs args(const Call& call, int64 tile_m, int64 tile_n) {
    const View &x = call.in[0], &w = call.in[1], &y = call.out[0];
    const auto packs = [](const View& v, int64 row) {
      return is_aligned(v.data) && bytes_of(v.dtype, row) % 16 == 0;
    };
    LinearArgs a{};
    a.y = y.data, a.x = x.data, a.dtype = x.dtype;
    a.m = int32(x.shape[0]), a.n = int32(w.shape[0]), a.k = int32(x.shape[1]);
    a.x_row = a.m > 1 ? x.strides[0] : 0;
    const int64 w_row = a.n > 1 ? w.strides[0] : 0;
    a.w = {w.as<uint8>(), bytes_of(w.dtype, w_row), w.dtype, !is_block(w.dtype) && packs(w, w_row)};
    a.x_packs = packs(x, a.x_row), a.y_packs = packs(y, a.n);
    a.blocks_m = int32(ceil_div<int64>(a.m, tile_m)),
    a.blocks_n = int32(ceil_div<int64>(a.n, tile_n));
    return a;
  }
};

// A few rows. Each group of a block's waves computes kColumns columns of y; its lanes read packs
// along k. W: a loader; rows: the most rows of x.
template <class W, int rows>
struct LinearVector {
  static constexpr int kThreads = 256, kColumns = rows == 4 ? 4 : 2;
  static constexpr int64 kBusyBlocks = 512;
  struct Args : LinearArgs {
    int32 waves;  // of a group: a power of two
  };
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return {a.blocks_m * a.blocks_n}; }
  static WICK_HD int columns_of_block(int wave, int waves) {
    return kColumns * (kThreads / wave / waves);
  }
  /// Waves of a group: as many as keep a card busy that has few columns to compute.
  static int waves_for(int wave, int64 blocks_m, int64 n, int64 k) {
    int waves = 1;
    while (waves < kThreads / wave && waves * wave * W::kPack < k &&
           blocks_m * ceil_div<int64>(n, columns_of_block(wave, waves)) < kBusyBlocks)
      waves *= 2;
    return waves;
  }
  template <class Ctx>
  struct Shared {
    float partial[Ctx::kWaves][rows * kColumns];
  };

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& args) {
    const auto block = args.place(ctx.block().x);
    // Rows beyond the last repeat it and are not stored.
    const int first_m = block.m * rows;
    const uint8* x[rows];
    for (int m = 0; m < rows; m++)
      x[m] = args.x_of(first_m + m < args.m ? first_m + m : args.m - 1);
    multiply(ctx, shared, args, args.waves, x, args.w, first_m, block.n);
  }

  /// The block's columns of rows [first_m, first_m + rows) of y: x by some of the weights' rows.
  template <class Ctx>
  static WICK_DEVICE void multiply(const Ctx& ctx, Shared<Ctx>& shared, const LinearArgs& args,
                                   int waves, const uint8* (&x)[rows],
                                   const WeightRows& weight_rows, int first_m, int block_n) {
    const int group_n = (block_n * Ctx::kWaves + ctx.wave()) / waves * kColumns;
    const int lane = ctx.wave() % waves * Ctx::kWave + ctx.lane(), lanes = waves * Ctx::kWave;
    const uint8* w[kColumns];
    // Columns beyond the last repeat it and are not stored.
    for (int n = 0; n < kColumns; n++)
      w[n] = weight_rows.row(group_n + n < args.n ? group_n + n : args.n - 1);

    float sums[rows][kColumns] = {};
    const auto add = [&](DType dtype, bool x_packs) {
      for (int k = lane * W::kPack; k < args.k; k += lanes * W::kPack) {
        typename W::Pack packs[kColumns];
        WICK_UNROLL
        for (int n = 0; n < kColumns; n++) packs[n] = W::load(weight_rows, w[n], k, args.k);
        WICK_UNROLL
        for (int part = 0; part < W::kPack / kPart; part++) {
          float weights[kColumns][kPart];
          WICK_UNROLL
          for (int n = 0; n < kColumns; n++) W::decode(packs[n], part, weights[n]);
          WICK_UNROLL
          for (int m = 0; m < rows; m++) {
            const int at = k + part * kPart, end = W::kPack > kPart ? at + kPart : args.k;
            float v[kPart];
            load_floats(dtype, x[m], at, end, x_packs, v);
            WICK_UNROLL
            for (int n = 0; n < kColumns; n++) WICK_UNROLL
            for (int e = 0; e < kPart; e++) sums[m][n] = fma(v[e], weights[n][e], sums[m][n]);
          }
        }
      }
    };
    // With one row, a choice among x's dtypes at each pack would be a fifth of the instructions.
    if (rows == 1 && args.x_packs && args.dtype == DType::kBf16)
      add(DType::kBf16, true);
    else if (rows == 1 && args.x_packs && args.dtype == DType::kF16)
      add(DType::kF16, true);
    else if (rows == 1 && args.x_packs && args.dtype == DType::kF32)
      add(DType::kF32, true);
    else
      add(args.dtype, args.x_packs);
    finish(ctx, shared, args, waves, sums, first_m, block_n);
  }

  /// Adds up the sums of a group's lanes and stores them.
  template <class Ctx>
  static WICK_DEVICE void finish(const Ctx& ctx, Shared<Ctx>& shared, const LinearArgs& args,
                                 int waves, float (&sums)[rows][kColumns], int first_m,
                                 int block_n) {
    WICK_UNROLL
    for (int m = 0; m < rows; m++) WICK_UNROLL
    for (int n = 0; n < kColumns; n++) {
      masks_down<Ctx::kWave / 2, 1>(
          [&]<int mask>() { sums[m][n] += ctx.template shuffle_xor<mask>(sums[m][n]); });
      if (ctx.lane() == 0) shared.partial[ctx.wave()][m * kColumns + n] = sums[m][n];
    }
    ctx.sync();
    // One thread per element of y.
    const int group = ctx.thread() / (rows * kColumns), element = ctx.thread() % (rows * kColumns);
    if (group >= Ctx::kWaves / waves) return;
    float sum = shared.partial[group * waves][element];
    for (int i = 1; i < waves; i++) sum += shared.partial[group * waves + i][element];
    const int m = first_m + element / kColumns;
    const int n = (block_n * (Ctx::kWaves / waves) + group) * kColumns + element % kColumns;
    if (m < args.m && n < args.n) args.store(m, n, sum);
  }
};

template <class W>
struct LinearVectorLaunch {
  static constexpr int kRows =
      16;  // the most that these kernels accept; a block computes 1, 4 or 8
  static const char* accepts(const Call& call, const DeviceInfo&) {
    if (const char* why = LinearCall::check(call)) return why;
    return call.out[0].shape[0] > kRows ? "x has more than 16 rows" : nullptr;
  }
  static Status run(const Call& call) {
    const int64 m = call.out[0].shape[0];
    if (m == 1) return run_rows<1>(call);
    return m <= 4 ? run_rows<4>(call) : run_rows<8>(call);
  }

 private:
  template <int rows>
  static Status run_rows(const Call& call) {
    using K = LinearVector<typename W::template ForRows<rows>, rows>;
    const int wave = wave_of(call.device);
    const int waves = K::waves_for(wave, ceil_div<int64>(call.out[0].shape[0], rows),
                                   call.out[0].shape[1], call.in[0].shape[1]);
    return launch<K>({LinearCall::args(call, rows, K::columns_of_block(wave, waves)), waves}, call);
  }
};

/// Adds the kernels of linear_matrix.cpp.
void add_matrix_linear(KernelList&);

}  // namespace wick::gpu
