#include "dispatch/linear_rows.h"

#include <algorithm>

#include "dispatch/workers.h"
#include "runtime/table.h"
#include "scalar/round_up.h"
#include "wick/abi/ops/matmul.h"

namespace wick::cpu {
namespace {

constexpr int64 kGrain = 1 << 16;  // multiplications a thread takes at least

/// How a product is cut. Pieces do not depend on the number of threads, so neither do bits.
struct Plan {
  Plan(const Call& call, const LinearData& data)
      : m(call.out[0].shape[0]),
        n(call.out[0].shape[1]),
        k(call.in[0].shape[1]),
        x_row(data.parts.x_bytes(k)),
        direct(reads_x_directly(data, k)),
        few(m <= data.parts.few_m),
        tile_m(std::max<int64>(1, few ? m : std::min(m, data.parts.tile_m))),
        tiles_m(ceil_div(m, tile_m)),
        tile_n(few ? few_tile_n([this](int64 tile) { return ceil_div(n, tile); })
                   : data.parts.tile_n),
        tiles_n(ceil_div(n, tile_n)),
        x_bytes(direct ? 0 : round_up(m * x_row, Workers::kAlignment)),
        y_bytes(data.y.direct
                    ? 0
                    : round_up(tile_m * tile_n * int64(sizeof(float)), Workers::kAlignment)),
        workers(tiles_m * tiles_n, m * n * k / kGrain,
                y_bytes + (few ? 0 : data.parts.buffer_bytes(k))) {}

  int64 m, n, k;
  int64 x_row;  // bytes of a row of x
  bool direct;  // x is read as it lies
  bool few;
  int64 tile_m, tiles_m, tile_n, tiles_n;
  int64 x_bytes, y_bytes;  // of x as the kernel reads it; of a tile of y
  Workers workers;
};

}  // namespace

const char* accepts_linear(const Kernel*, const Call* call, const DeviceInfo*) {
  for (int i = 0; i < 2; i++)
    if (call->in[i].shape[1] > 1 && call->in[i].strides[1] != 1) return "an inner stride is not 1";
  return nullptr;
}

int64 linear_scratch(const Kernel* kernel, const Call* call, const DeviceInfo*) {
  const Plan plan(*call, data_of(kernel));
  return plan.x_bytes + plan.workers.scratch();
}

Status run_linear(const Kernel* kernel, const Call* call) {
  const LinearData& data = data_of(kernel);
  const View &x = call->in[0], &w = call->in[1], &y = call->out[0];
  Plan plan(*call, data);
  if (plan.m * plan.n == 0) return {};
  alignas(Workers::kAlignment) char local[kLocalBytes];
  if (call->scratch_bytes < plan.x_bytes || !plan.workers.fit(call->scratch_bytes - plan.x_bytes))
    return error(StatusCode::kInvalidArgument, "linear: expected %lld bytes of scratch, got %lld",
                 (long long)(plan.x_bytes + plan.workers.scratch()),
                 (long long)call->scratch_bytes);
  char* const scratch = static_cast<char*>(call->scratch);
  const char* x_rows = x.as<char>();
  const auto row_at = [&](int64 i) { return x_rows + i * x.strides[0] * data.x.size; };
  LinearTile all;
  all.x_m = plan.direct ? bytes_of(x.dtype, x.strides[0]) : plan.x_row;
  if (!plan.direct) {
    const auto count_of = [&](int64) { return plan.m; };
    if (!convert_rows(data, plan.m, plan.k, row_at, count_of, scratch)) return kCannotPack;
    x_rows = scratch;
  }
  all.w_n = bytes_of(w.dtype, w.shape[0] > 1 ? w.strides[0] : 0);
  all.k = plan.k;
  char* const buffers = plan.workers.scratch() > 0 ? scratch + plan.x_bytes : local;
  plan.workers.run(plan.tiles_m * plan.tiles_n, buffers, [&](int64 piece, char* buffer) {
    const int64 first_m = piece / plan.tiles_n * plan.tile_m,
                first_n = piece % plan.tiles_n * plan.tile_n;
    LinearTile tile = all;
    tile.m = std::min(plan.tile_m, plan.m - first_m);
    tile.n = std::min(plan.tile_n, plan.n - first_n);
    tile.x = x_rows + first_m * all.x_m;
    tile.w = w.as<char>() + first_n * all.w_n;
    char* const result = y.as<char>() + (first_m * plan.n + first_n) * data.y.size;
    tile.y = reinterpret_cast<float*>(data.y.direct ? result : buffer);
    tile.y_m = data.y.direct ? plan.n : plan.tile_n;
    tile.buffer = buffer + plan.y_bytes;
    (plan.few ? data.parts.few : data.parts.many)(tile);
    for (int64 i = 0; i < tile.m && !data.y.direct; i++)
      data.y.store(tile.y + i * tile.y_m, result + i * plan.n * data.y.size, 1, tile.n);
  });
  return {};
}

}  // namespace wick::cpu
