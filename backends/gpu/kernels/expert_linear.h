// y[t, j, n] = sum over k of x[t, j, k] w[ids[t, j], n, k]; expert_linear_tiled.h has the kernels
// for many rows. An id out of range reads no weights, gives 0 and fills the error record.
#pragma once
#include "kernels/linear.h"

namespace wick::gpu {

/// Its m counts the rows [t, j]; its weights are the first expert's.
struct ExpertArgs : LinearArgs {
  const int64* ids;
  // Between an expert's weights and the next one's: of w, and of more[0] for is_gated.
  int64 expert_bytes, second_expert_bytes;
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
  /// As LinearArgs::row_of.
  WICK_DEVICE const uint8* row_of(int64 expert, int column) const {
    const WeightRows second = more[0].w;
    const uint8* data = w.data + expert * expert_bytes;
    int64 row_bytes = w.row_bytes;
    if (is_gated && column % 2 != 0)
      data = second.data + expert * second_expert_bytes, row_bytes = second.row_bytes;
    return data + (is_gated ? column / 2 : column) * row_bytes;
  }
};

/// A call of expert_linear or gated_expert_linear on the host.
struct ExpertCall {
  static bool is_gated(const Call& call) { return *call.op == kGatedExpertLinear; }
  static const char* check(const Call& call) {
    const View &x = call.in[0], &w = call.in[1], &y = call.out[0];
    const View& ids = ids_of(call);
    if (x.rank != 3 || w.rank != 3 || ids.rank != 2 || y.rank != 3)
      return "operands are not of ranks 3, 3 and 2";
    for (int d = 0; d < 2; d++)
      if (x.shape[d] != y.shape[d] || ids.shape[d] != y.shape[d]) return "sizes differ";
    if (const char* why = check_weights(call, y.shape[2])) return why;
    const int64 sizes[] = {y.shape[0] * y.shape[1], columns(call)};
    for (const int64 size : sizes)
      if (size > kLaunchLimit) return "a dim has more than 2^30 elements";
    return ids.contiguous() && y.contiguous() ? nullptr : "ids or the output are not contiguous";
  }
  /// Whether x and all weights have inner strides of 1, and these n columns.
  static const char* check_weights(const Call& call, int64 n) {
    const View& x = call.in[0];
    if (x.shape[2] > 1 && x.strides[2] != 1) return "an inner stride is not 1";
    for (int i = 1; i <= num_weights(call); i++) {
      const View& w = call.in[i];
      if (w.rank != 3 || w.shape[0] != call.in[1].shape[0] || x.shape[2] != w.shape[2] ||
          w.shape[1] != n)
        return "sizes differ";
      if (w.shape[2] > 1 && w.strides[2] != 1) return "an inner stride is not 1";
      for (int d = 0; d < 3; d++)
        if (w.shape[d] > kLaunchLimit) return "a dim has more than 2^30 elements";
      if (is_block(w.dtype) && !is_aligned(w.data, block_alignment(w.dtype)))
        return "blocks are not aligned to the words that they are read in";
    }
    return nullptr;
  }
  static int num_weights(const Call& call) { return is_gated(call) ? 2 : 1; }
  static const View& ids_of(const Call& call) { return call.in[1 + num_weights(call)]; }
  static int64 stride(const View& v, int d) { return v.shape[d] > 1 ? v.strides[d] : 0; }
  /// Whether the rows of a view are aligned to 16 bytes.
  static bool packs(const View& v) {
    return is_aligned(v.data) && bytes_of(v.dtype, stride(v, 0)) % 16 == 0 &&
           bytes_of(v.dtype, stride(v, 1)) % 16 == 0;
  }
  /// Whether the weights' rows are whole packs.
  static bool has_whole_packs(const Call& call, int64 pack) {
    for (int i = 1; i <= num_weights(call); i++)
      if (call.in[i].shape[2] % pack != 0 || !packs(call.in[i])) return false;
    return true;
  }
  static int64 rows(const Call& call) { return call.in[0].shape[0] * call.in[0].shape[1]; }
  /// Of all weights.
  static int64 columns(const Call& call) { return num_weights(call) * call.in[1].shape[1]; }
  /// The arguments of each of these ops.
  static LinearArgs linear_args(const Call& call) {
    const View& x = call.in[0];
    LinearArgs a{};
    a.y = call.out[0].data, a.x = x.data, a.dtype = x.dtype;
    a.m = int32(rows(call)), a.n = int32(columns(call)), a.k = int32(x.shape[2]);
    a.w = weight_rows(call.in[1]);
    a.x_packs = packs(x);
    a.more[0].first = a.more[1].first = a.n;
    return a;
  }
  /// blocks_m: along the rows.
  static ExpertArgs args(const Call& call, int64 blocks_m, int64 tile_n) {
    const View &x = call.in[0], &w = call.in[1];
    ExpertArgs a{};
    static_cast<LinearArgs&>(a) = linear_args(call);
    a.blocks_m = int32(blocks_m), a.blocks_n = int32(ceil_div<int64>(a.n, tile_n));
    a.ids = ids_of(call).as<int64>();
    a.expert_bytes = bytes_of(w.dtype, stride(w, 0));
    a.x_token = stride(x, 0), a.x_slot = stride(x, 1);
    a.slots = FastDivide::by(x.shape[1]);
    a.experts = int32(w.shape[0]);
    if (is_gated(call)) {
      const View& up = call.in[2];
      a.is_gated = true;
      a.activation = static_cast<const GatedAttributes*>(call.attributes)->activation;
      a.more[0].w = weight_rows(up);
      a.w.packs = a.w.packs && a.more[0].w.packs;  // all weights are read alike
      a.second_expert_bytes = bytes_of(up.dtype, stride(up, 0));
    }
    return a;
  }

 private:
  static WeightRows weight_rows(const View& w) {
    return {w.as<uint8>(), bytes_of(w.dtype, stride(w, 1)), w.dtype, !is_block(w.dtype) && packs(w),
            bytes_of(w.dtype, w.shape[2])};
  }
};

/// Writes zeros to the columns [first, first + count) of a row whose id is out of range.
template <class Ctx>
WICK_DEVICE void fail_row(const Ctx& ctx, const ExpertArgs& args, int row, int first, int count,
                          uint64 op) {
  WICK_ROLL
  for (int i = ctx.thread(); i < count && first + i < args.n; i += Ctx::kThreads) {
    if (!args.is_gated)
      args.store(row, first + i, 0);
    else if (i % 2 == 0)
      args.store_gated(row, (first + i) / 2, 0, 0);
  }
  if (first == 0 && ctx.thread() == 0)
    ctx.fail(StatusCode::kIdOutOfRange, op, row, args.ids[row], args.experts);
}

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
    const int columns = Row::columns_of_block(Ctx::kWave, args.waves);
    if (0 <= expert && expert < args.experts)
      return Row::multiply(ctx, shared, args, args.waves, x,
                           [&](int column) { return args.row_of(expert, column); }, block.m,
                           {block.n * columns, args.n});
    fail_row(ctx, args, block.m, block.n * columns, columns,
             args.is_gated ? kGatedExpertLinear.id : kExpertLinear.id);
  }
};

/// Beyond so many rows for each expert, one reading of its weights should serve more than one.
inline constexpr int kRowsOfExpert = 4;
inline const char* check_few_rows(const Call& call) {
  return ExpertCall::rows(call) > kRowsOfExpert * call.in[1].shape[0]
             ? "there are more than 4 rows for each expert"
             : nullptr;
}

template <class W>
struct ExpertVectorLaunch {
  static const char* accepts(const Call& call, const DeviceInfo&) {
    if (const char* why = ExpertCall::check(call)) return why;
    if constexpr (requires { W::kWholePacks; })
      if (!ExpertCall::has_whole_packs(call, W::kPack))
        return "the weights' rows are not whole packs, aligned to 16 bytes";
    return check_few_rows(call);
  }
  static Status run(const Call& call) {
    using K = ExpertVector<W>;
    const int wave = wave_of(call.device);
    const int64 rows = ExpertCall::rows(call);
    const int waves = K::Row::waves_for(wave, rows, ExpertCall::columns(call), call.in[0].shape[2]);
    return launch<K>({ExpertCall::args(call, rows, K::Row::columns_of_block(wave, waves)), waves},
                     call);
  }
};

/// Add the kernels of expert_rounded.cpp, which compile slowly.
void add_rounded_experts(KernelList&, DType x);

}  // namespace wick::gpu
