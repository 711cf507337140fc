// y[t, j, n] = sum over k of x[t, j, k] w[ids[t, j], n, k]; expert_linear_tiled.h has the kernels
// for many rows. An id out of range reads no weights, gives 0 and fills the error record.
#pragma once
#include "kernels/linear.h"

namespace wick::gpu {

/// Its m counts the rows [t, j]; its weights are the first expert's.
struct ExpertArgs : LinearArgs {
  const int64* ids;
  int64 expert_bytes;     // between an expert's weights and the next one's
  int64 x_token, x_slot;  // strides of t and j, in elements
  FastDivide slots;       // J
  int32 experts;

  WICK_DEVICE const uint8* x_of(int row) const {
    const uint32 token = slots.quotient(row), slot = row - token * slots.divisor;
    return static_cast<const uint8*>(x) + (token * x_token + slot * x_slot) * x_bytes();
  }
  WICK_DEVICE WeightRows weights_of(int64 expert) const {
    WeightRows rows = w;
    rows.data += expert * expert_bytes;
    return rows;
  }
};

/// A call on the host.
struct ExpertCall {
  static const char* check(const Call& call) {
    const View &x = call.in[0], &w = call.in[1], &ids = call.in[2], &y = call.out[0];
    if (x.rank != 3 || w.rank != 3 || ids.rank != 2 || y.rank != 3)
      return "operands are not of ranks 3, 3 and 2";
    for (int d = 0; d < 2; d++)
      if (x.shape[d] != y.shape[d] || ids.shape[d] != y.shape[d]) return "sizes differ";
    if (x.shape[2] != w.shape[2] || w.shape[1] != y.shape[2]) return "sizes differ";
    const int64 sizes[] = {y.shape[0] * y.shape[1], w.shape[0], w.shape[1], w.shape[2]};
    for (const int64 size : sizes)
      if (size > kLaunchLimit) return "a dim has more than 2^30 elements";
    const View* const rows[] = {&x, &w};
    for (const View* v : rows)
      if (v->shape[2] > 1 && v->strides[2] != 1) return "an inner stride is not 1";
    if (is_block(w.dtype) && !is_aligned(w.data, block_alignment(w.dtype)))
      return "blocks are not aligned to the words that they are read in";
    return ids.contiguous() && y.contiguous() ? nullptr : "ids or the output are not contiguous";
  }
  static int64 stride(const View& v, int d) { return v.shape[d] > 1 ? v.strides[d] : 0; }
  /// Whether the rows of a view are aligned to 16 bytes.
  static bool packs(const View& v) {
    return is_aligned(v.data) && bytes_of(v.dtype, stride(v, 0)) % 16 == 0 &&
           bytes_of(v.dtype, stride(v, 1)) % 16 == 0;
  }
  static int64 rows(const Call& call) { return call.out[0].shape[0] * call.out[0].shape[1]; }
  /// blocks_m: along the rows.
  static ExpertArgs args(const Call& call, int64 blocks_m, int64 tile_n) {
    const View &x = call.in[0], &w = call.in[1], &y = call.out[0];
    ExpertArgs a{};
    a.y = y.data, a.x = x.data, a.dtype = x.dtype;
    a.m = int32(rows(call)), a.n = int32(y.shape[2]), a.k = int32(x.shape[2]);
    a.w = {w.as<uint8>(), bytes_of(w.dtype, stride(w, 1)), w.dtype, !is_block(w.dtype) && packs(w),
           bytes_of(w.dtype, a.k)};
    a.x_packs = packs(x);
    a.blocks_m = int32(blocks_m), a.blocks_n = int32(ceil_div<int64>(a.n, tile_n));
    a.ids = call.in[2].as<int64>();
    a.expert_bytes = bytes_of(w.dtype, stride(w, 0));
    a.x_token = stride(x, 0), a.x_slot = stride(x, 1);
    a.more[0].first = a.more[1].first = a.n;
    a.slots = FastDivide::by(y.shape[1]);
    a.experts = int32(w.shape[0]);
    return a;
  }
};

// Each row of y by itself, as LinearVector computes one. W: a loader.
template <class W>
struct ExpertVector {
  using Row = LinearVector<W, 1>;
  struct Args : ExpertArgs {
    int32 waves;  // of a group of columns, as in LinearVector
  };
  static constexpr int threads(int) { return Row::kThreads; }
  static Grid grid(int, const Args& a) { return {a.blocks_m * a.blocks_n}; }
  template <class Ctx>
  using Shared = typename Row::template Shared<Ctx>;

  template <class Ctx>
  static WICK_DEVICE void run(const Ctx& ctx, Shared<Ctx>& shared, const Args& args) {
    const auto block = args.place(ctx.block().x);
    const int64 expert = args.ids[block.m];
    const uint8* x[1] = {args.x_of(block.m)};
    if (0 <= expert && expert < args.experts) {
      const WeightRows rows = args.weights_of(expert);
      return Row::multiply(
          ctx, shared, args, args.waves, x, [&](int column) { return rows.row(column); }, block.m,
          block.n);
    }
    const int columns = Row::columns_of_block(Ctx::kWave, args.waves);
    const int n = block.n * columns + ctx.thread();
    if (ctx.thread() < columns && n < args.n) args.store(block.m, n, 0);
    if (block.n == 0 && ctx.thread() == 0)
      ctx.fail(StatusCode::kIdOutOfRange, kExpertLinear.id, block.m, expert, args.experts);
  }
};

template <class W>
struct ExpertVectorLaunch {
  // Beyond so many rows for each expert, one reading of its weights should serve more than one.
  static constexpr int kRows = 4;
  static const char* accepts(const Call& call, const DeviceInfo&) {
    if (const char* why = ExpertCall::check(call)) return why;
    if constexpr (requires { W::kWholePacks; })
      if (call.in[1].shape[2] % W::kPack != 0 || !ExpertCall::packs(call.in[1]))
        return "the weights' rows are not whole packs, aligned to 16 bytes";
    return ExpertCall::rows(call) > kRows * call.in[1].shape[0]
               ? "there are more than 4 rows for each expert"
               : nullptr;
  }
  static Status run(const Call& call) {
    using K = ExpertVector<W>;
    const int wave = wave_of(call.device);
    const int64 rows = ExpertCall::rows(call);
    const int waves = K::Row::waves_for(wave, rows, call.out[0].shape[2], call.in[0].shape[2]);
    return launch<K>({ExpertCall::args(call, rows, K::Row::columns_of_block(wave, waves)), waves},
                     call);
  }
};

}  // namespace wick::gpu
