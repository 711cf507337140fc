// Copies between operands that have stride 1 along different dims. Tiles of both dims go through
// shared memory, so that neighbouring threads both load and store neighbouring elements.
#pragma once
#include "kernels/common.h"

namespace wick::gpu {

template <int bytes>
struct TransposeTiles {
  using T = Bits<bytes>;
  static constexpr int kThreads = 256, kSide = 64, kRows = kThreads / kSide;
  struct Args {
    T* out;
    const T* in;
    uint32 out_step,
        in_step;  // out's along the dim in which in has stride 1, and the other way round
    uint32 out_size, in_size;     // of the dims in which out and in have stride 1
    FastDivide out_tiles, tiles;  // of a matrix: along out's dim, and all
    Indexer<2> matrices;
    int32 count;  // of matrices
  };
  static constexpr int threads(int) { return kThreads; }
  static Grid grid(int, const Args& a) { return {int(a.count * a.tiles.divisor)}; }
  template <class Ctx>
  struct Shared {
    T tile[kSide][kSide + 1];  // padded against bank conflicts
  };

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& a) {
    const uint32 matrix = a.tiles.quotient(ctx.block().x);
    const uint32 tile = ctx.block().x - matrix * a.tiles.divisor;
    const uint32 tile_in = a.out_tiles.quotient(tile);
    const uint32 first_in = tile_in * kSide;
    const uint32 first_out = (tile - tile_in * a.out_tiles.divisor) * kSide;
    uint32 offset[2];
    a.matrices.locate(matrix, offset);
    const uint32 column = ctx.thread() % kSide, row = ctx.thread() / kSide;
    const T* const in = a.in + offset[1] + first_in + column;
    for (uint32 o = row; o < kSide && first_out + o < a.out_size; o += kRows)
      if (first_in + column < a.in_size) shared.tile[o][column] = in[(first_out + o) * a.in_step];
    ctx.sync();
    T* const out = a.out + offset[0] + first_out + column;
    for (uint32 i = row; i < kSide && first_in + i < a.in_size; i += kRows)
      if (first_out + column < a.out_size)
        out[(first_in + i) * a.out_step] = shared.tile[column][i];
  }
};

template <int bytes>
struct TransposeLaunch {
  static const char* accepts(const Call& call, const DeviceInfo&) {
    const Operands<2> all = operands_of<1>(call);
    const int out = side_by_side(all, 0), in = side_by_side(all, 1);
    if (out < 0 || in < 0 || out == in) return "the operands' strides of 1 are not in two dims";
    constexpr int64 kLeast = 16;  // with fewer, most of a tile is empty
    return all.shape[out] < kLeast || all.shape[in] < kLeast ? "a dim is short" : nullptr;
  }
  static Status run(const Call& call) {
    return for_each_part(operands_of<1>(call),
                         [&call](const Operands<2>& part) { return run_part(part, call); });
  }

 private:
  /// The dim in which an operand has stride 1; -1 if no dim has.
  static int side_by_side(const Operands<2>& all, int operand) {
    for (int d = all.rank - 1; d >= 0; d--)
      if (all.strides[operand][d] == 1) return d;
    return -1;
  }
  static Status run_part(const Operands<2>& part, const Call& call) {
    using K = TransposeTiles<bytes>;
    const int out = side_by_side(part, 0), in = side_by_side(part, 1);
    Operands<2> matrices;
    for (int d = 0; d < part.rank; d++)
      if (d != out && d != in)
        matrices.add_dim(part.shape[d], {part.strides[0][d], part.strides[1][d]});
    const int64 out_tiles = ceil_div<int64>(part.shape[out], K::kSide);
    const int64 tiles = out_tiles * ceil_div<int64>(part.shape[in], K::kSide);
    typename K::Args args{};
    args.out = reinterpret_cast<Bits<bytes>*>(part.data[0]);
    args.in = reinterpret_cast<const Bits<bytes>*>(part.data[1]);
    args.out_step = uint32(part.strides[0][in]), args.in_step = uint32(part.strides[1][out]);
    args.out_size = uint32(part.shape[out]), args.in_size = uint32(part.shape[in]);
    args.out_tiles = FastDivide::by(out_tiles), args.tiles = FastDivide::by(tiles);
    args.matrices = matrices.indexer(matrices.rank);
    args.count = int32(matrices.numel());
    return launch<K>(args, call);
  }
};

}  // namespace wick::gpu
