#include <algorithm>

#include "dispatch/gather.h"
#include "dispatch/linear_rows.h"
#include "dispatch/workers.h"
#include "runtime/table.h"
#include "scalar/round_up.h"
#include "wick/abi/ops/matmul.h"

namespace wick::cpu {
namespace {

constexpr int64 kGrain = 1 << 16;  // multiplications a thread takes at least

/// Rows of one expert, neighbours in the order of experts.
struct ExpertRows {
  int64 expert, first, count;
};

/// How a product is cut. Pieces do not depend on the number of threads, so neither do bits.
struct Plan {
  Plan(const Call& call, const LinearData& data)
      : rows(call.out[0].shape[0] * call.out[0].shape[1]),
        n(call.out[0].shape[2]),
        k(call.in[0].shape[2]),
        experts(call.in[1].shape[0]),
        x_row(data.parts.x_bytes(k)),
        tile_m(std::min(rows, std::max(data.parts.few_m, data.parts.tile_m))),
        tile_n(rows <= data.parts.few_m
                   ? few_tile_n([this](int64 tile) { return rows * ceil_div(n, tile); })
                   : data.parts.tile_n),
        tiles_n(ceil_div(n, tile_n)),
        order_bytes(round_up(rows * int64(sizeof(int64)), Workers::kAlignment)),
        begin_bytes(round_up((experts + 1) * int64(sizeof(int64)), Workers::kAlignment)),
        groups_bytes(round_up(rows * int64(sizeof(ExpertRows)), Workers::kAlignment)),
        x_bytes(round_up(rows * x_row, Workers::kAlignment)),
        y_bytes(round_up(tile_m * tile_n * int64(sizeof(float)), Workers::kAlignment)),
        workers(rows * tiles_n, rows * n * k / kGrain, y_bytes + data.parts.buffer_bytes(k)) {}
  int64 shared_bytes() const { return order_bytes + begin_bytes + groups_bytes + x_bytes; }

  int64 rows, n, k, experts;
  int64 x_row;  // bytes of a row of x
  int64 tile_m, tile_n, tiles_n;
  int64 order_bytes, begin_bytes, groups_bytes, x_bytes;
  int64 y_bytes;  // a worker's tile of y
  Workers workers;
};

/// Sorts the rows by their experts: begin[e] is the first of e's in `order`.
void sort_rows(const Plan& plan, const int64* ids, int64* order, int64* begin) {
  std::fill_n(begin, plan.experts + 1, 0);
  for (int64 row = 0; row < plan.rows; row++) begin[ids[row] + 1]++;
  for (int64 e = 0; e < plan.experts; e++) begin[e + 1] += begin[e];
  for (int64 row = 0; row < plan.rows; row++) order[begin[ids[row]]++] = row;
  std::copy_backward(begin, begin + plan.experts, begin + plan.experts + 1);
  begin[0] = 0;
}

/// Cuts the experts' rows into groups that are multiplied at once; returns their number.
int64 make_groups(const Plan& plan, const LinearParts& parts, const int64* begin,
                  ExpertRows* groups) {
  int64 count = 0;
  for (int64 e = 0; e < plan.experts; e++) {
    const int64 end = begin[e + 1],
                most = end - begin[e] <= parts.few_m ? parts.few_m : parts.tile_m;
    for (int64 first = begin[e]; first < end; first += most)
      groups[count++] = {e, first, std::min(most, end - first)};
  }
  return count;
}

}  // namespace

const char* accepts_expert_linear(const Kernel*, const Call* call, const DeviceInfo*) {
  for (int i = 0; i < 2; i++)
    if (call->in[i].shape[2] > 1 && call->in[i].strides[2] != 1) return "an inner stride is not 1";
  return nullptr;
}

int64 expert_linear_scratch(const Kernel* kernel, const Call* call, const DeviceInfo*) {
  const Plan plan(*call, data_of(kernel));
  return plan.shared_bytes() + plan.workers.scratch();
}

Status run_expert_linear(const Kernel* kernel, const Call* call) {
  const LinearData& data = data_of(kernel);
  const View &x = call->in[0], &w = call->in[1], &ids = call->in[2], &y = call->out[0];
  Plan plan(*call, data);
  if (const Status status = check_ids(ids, plan.experts, kernel->name); !status.ok()) return status;
  if (plan.rows * plan.n == 0) return {};
  alignas(Workers::kAlignment) char local[kLocalBytes];
  if (call->scratch_bytes < plan.shared_bytes() ||
      !plan.workers.fit(call->scratch_bytes - plan.shared_bytes()))
    return error(StatusCode::kInvalidArgument, "%s: expected %lld bytes of scratch, got %lld",
                 kernel->name, (long long)(plan.shared_bytes() + plan.workers.scratch()),
                 (long long)call->scratch_bytes);
  char* scratch = static_cast<char*>(call->scratch);
  const auto take = [&](int64 bytes) {
    char* const taken = scratch;
    scratch += bytes;
    return taken;
  };
  int64* const order = reinterpret_cast<int64*>(take(plan.order_bytes));
  int64* const begin = reinterpret_cast<int64*>(take(plan.begin_bytes));
  ExpertRows* const groups = reinterpret_cast<ExpertRows*>(take(plan.groups_bytes));
  char* const x_rows = take(plan.x_bytes);
  sort_rows(plan, ids.as<int64>(), order, begin);
  const int64 num_groups = make_groups(plan, data.parts, begin, groups);
  const auto row_at = [&](int64 i) {
    const int64 at = order[i] / x.shape[1] * x.strides[0] + order[i] % x.shape[1] * x.strides[1];
    return x.as<char>() + at * data.x.size;
  };
  const auto count_of = [&](int64 i) {
    const ExpertRows* const after =
        std::upper_bound(groups, groups + num_groups, i,
                         [](int64 row, const ExpertRows& group) { return row < group.first; });
    return after[-1].count;
  };
  if (!convert_rows(data, plan.rows, plan.k, row_at, count_of, x_rows)) return kCannotPack;

  LinearTile all;
  all.x_m = plan.x_row;
  all.w_n = bytes_of(w.dtype, w.shape[1] > 1 ? w.strides[1] : 0);
  all.k = plan.k;
  all.y_m = plan.tile_n;
  const int64 w_expert = bytes_of(w.dtype, w.shape[0] > 1 ? w.strides[0] : 0);
  char* const buffers = plan.workers.scratch() > 0 ? scratch : local;
  // Groups vary in size; a thread takes all of them for some columns of y.
  plan.workers.run(num_groups * plan.tiles_n, buffers, [&](int64 piece, char* buffer) {
    const ExpertRows& group = groups[piece % num_groups];
    const int64 first_n = piece / num_groups * plan.tile_n;
    LinearTile tile = all;
    tile.m = group.count;
    tile.n = std::min(plan.tile_n, plan.n - first_n);
    tile.x = x_rows + group.first * all.x_m;
    tile.w = w.as<char>() + group.expert * w_expert + first_n * all.w_n;
    tile.y = reinterpret_cast<float*>(buffer);
    tile.buffer = buffer + plan.y_bytes;
    (group.count <= data.parts.few_m ? data.parts.few : data.parts.many)(tile);
    for (int64 i = 0; i < tile.m; i++)
      data.y.store(tile.y + i * tile.y_m,
                   y.as<char>() + (order[group.first + i] * plan.n + first_n) * data.y.size, 1,
                   tile.n);
  });
  return {};
}

}  // namespace wick::cpu
