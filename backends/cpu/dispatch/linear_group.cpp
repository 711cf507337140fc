// Products of a few rows of x with one to three weights in one region of threads, and the steps
// after them: linear_mixed_epilogue, linear_parts and gated_linear. Many rows take their composites,
// whose products are as fast.
#include <algorithm>

#include "dispatch/linear_rows.h"
#include "dispatch/workers.h"
#include "runtime/table.h"
#include "wick/abi/ops/linear_epilogue.h"

namespace wick::cpu {
namespace {

constexpr int64 kGrain = 1 << 16;  // multiplications a thread takes at least

/// A call of one of the ops.
struct Group {
  Group(const Call& call, const LinearData& data)
      : call(call),
        data(data),
        is_gated(*call.op == kGatedLinear),
        epilogue(*call.op == kLinearMixedEpilogue
                     ? static_cast<const EpilogueAttributes*>(call.attributes)
                     : nullptr),
        parts(*call.op == kLinearParts ? static_cast<const PartsAttributes*>(call.attributes)
                                       : nullptr),
        num_weights(parts      ? parts->parts
                    : is_gated ? 2
                               : 1),
        m(call.in[0].shape[0]),
        k(call.in[0].shape[1]),
        x_row(data.parts.x_bytes(k)),
        tile_n(few_tile_n([this](int64 tile) { return tiles_by(tile); })),
        tiles(tiles_by(tile_n)) {}

  int num_results() const { return is_gated ? 1 : num_weights; }
  const View& weight(int i) const { return call.in[1 + i]; }
  const View& y(int i) const { return call.out[i]; }
  int64 tiles_of(int i) const { return ceil_div(weight(i).shape[0], tile_n); }
  /// The number of tiles of all results, of `tile` columns.
  int64 tiles_by(int64 tile) const {
    int64 count = 0;
    for (int i = 0; i < num_results(); i++) count += ceil_div(weight(i).shape[0], tile);
    return count;
  }
  int64 x_bytes() const { return round_up(m * x_row, Workers::kAlignment); }
  /// Bytes of a worker's sums, of one or two weights.
  int64 sums_bytes() const { return (is_gated ? 2 : 1) * m * tile_n * int64(sizeof(float)); }
  Workers workers() const {
    int64 columns = 0;
    for (int i = 0; i < num_weights; i++) columns += weight(i).shape[0];
    return Workers(tiles, m * columns * k / kGrain, sums_bytes());
  }
  const View* bias(int i) const {
    if (epilogue && epilogue->has_bias) return &call.in[2];
    if (parts && parts->has_bias) return &call.in[4 + i];
    return nullptr;
  }
  const View* residual() const {
    return epilogue && epilogue->has_residual ? &call.in[3] : nullptr;
  }
  EpilogueActivation activation() const {
    if (is_gated) return static_cast<const GatedAttributes*>(call.attributes)->activation;
    return epilogue ? epilogue->activation : EpilogueActivation::kNone;
  }

  const Call& call;
  const LinearData& data;
  const bool is_gated;
  const EpilogueAttributes* const epilogue;  // nullptr: of another op
  const PartsAttributes* const parts;
  const int num_weights;
  const int64 m, k;
  const int64 x_row;  // bytes of a row of x
  const int64 tile_n, tiles;
};

/// sums[i] += the element i of a row that begins at `from`.
void add_row(const Access& access, const char* from, int64 n, float* sums) {
  alignas(64) float values[kMaxFewTileN];
  access.load(from, 1, n, values);
  for (int64 i = 0; i < n; i++) sums[i] += values[i];
}

/// Columns [first, first + n) of result i. sums: Group::sums_bytes() bytes.
void run_tile(const Group& g, const char* x, int64 x_m, int i, int64 first, int64 n, float* sums) {
  const LinearData& data = g.data;
  float* const gates = sums;
  float* const ups = sums + g.m * g.tile_n;
  for (int j = 0; j < (g.is_gated ? 2 : 1); j++) {
    const View& w = g.weight(i + j);
    LinearTile tile{};
    tile.x = x, tile.x_m = x_m;
    tile.w_n = bytes_of(w.dtype, w.shape[0] > 1 ? w.strides[0] : 0);
    tile.w = w.as<char>() + first * tile.w_n;
    tile.y = j == 0 ? gates : ups, tile.y_m = g.tile_n;
    tile.m = g.m, tile.n = n, tile.k = g.k;
    data.parts.few(tile);
  }
  const View& y = g.y(i);
  const int64 columns = y.shape[1];
  for (int64 row = 0; row < g.m; row++) {
    float* const of_row = sums + row * g.tile_n;
    const int64 at = (row * columns + first) * data.y.size;
    if (const View* bias = g.bias(i))
      add_row(data.x, bias->as<char>() + first * data.x.size, n, of_row);
    data.activate(g.activation(), of_row, n);
    if (g.is_gated)
      for (int64 c = 0; c < n; c++) of_row[c] *= ups[row * g.tile_n + c];
    if (const View* residual = g.residual()) add_row(data.x, residual->as<char>() + at, n, of_row);
    data.y.store(of_row, y.as<char>() + at, 1, n);
  }
}

}  // namespace

const char* accepts_linear_group(const Kernel* kernel, const Call* call, const DeviceInfo*) {
  const Group g(*call, data_of(kernel));
  const auto has_unit_stride = [](const View& v) { return v.shape[1] <= 1 || v.strides[1] == 1; };
  if (g.m > g.data.parts.few_m) return "x has many rows";
  if (!has_unit_stride(call->in[0])) return "an inner stride is not 1";
  for (int i = 0; i < g.num_weights; i++)
    if (!has_unit_stride(g.weight(i))) return "an inner stride is not 1";
  for (int i = 0; i < g.num_results(); i++) {
    if (!g.y(i).contiguous()) return "a result is not contiguous";
    if (const View* bias = g.bias(i); bias && !bias->contiguous())
      return "a bias is not contiguous";
  }
  if (const View* residual = g.residual(); residual && !residual->contiguous())
    return "the residual is not contiguous";
  return nullptr;
}

int64 linear_group_scratch(const Kernel* kernel, const Call* call, const DeviceInfo*) {
  const Group g(*call, data_of(kernel));
  return g.x_bytes() + g.workers().scratch();
}

Status run_linear_group(const Kernel* kernel, const Call* call) {
  const Group g(*call, data_of(kernel));
  Workers workers = g.workers();
  if (g.m == 0 || g.tiles == 0) return {};
  if (call->scratch_bytes < g.x_bytes() || !workers.fit(call->scratch_bytes - g.x_bytes()))
    return error(StatusCode::kInvalidArgument, "%s: expected %lld bytes of scratch, got %lld",
                 kernel->name, (long long)(g.x_bytes() + workers.scratch()),
                 (long long)call->scratch_bytes);
  const View& x = call->in[0];
  char* const x_rows = static_cast<char*>(call->scratch);
  const auto row_at = [&](int64 i) { return x.as<char>() + i * x.strides[0] * g.data.x.size; };
  const auto count_of = [&](int64) { return g.m; };
  if (!convert_rows(g.data, g.m, g.k, row_at, count_of, x_rows)) return kCannotPack;
  alignas(Workers::kAlignment) char local[kLocalBytes];
  char* const buffers = workers.scratch() > 0 ? x_rows + g.x_bytes() : local;
  workers.run(g.tiles, buffers, [&](int64 piece, char* buffer) {
    int i = 0;
    for (; piece >= g.tiles_of(i); i++) piece -= g.tiles_of(i);
    const int64 first = piece * g.tile_n, n = std::min(g.tile_n, g.weight(i).shape[0] - first);
    run_tile(g, x_rows, g.x_row, i, first, n, reinterpret_cast<float*>(buffer));
  });
  return {};
}

}  // namespace wick::cpu
