#include "dispatch/search.h"

#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "runtime/table.h"
#include "scalar/round_up.h"

namespace wick::cpu {
namespace {

constexpr int64 kGrain = 2048;     // values that a thread looks up at least
constexpr int64 kBlock = 1 << 15;  // elements of a mask that one thread takes

/// Eight truths, each a byte of 0 or 1.
uint64 eight(const uint8* mask) {
  uint64 word;
  std::memcpy(&word, mask, sizeof word);
  return word;
}

int64 count(const uint8* mask, int64 stride, int64 n) {
  int64 total = 0, i = 0;
  if (stride == 1)
    for (; i + 8 <= n; i += 8) total += int64(eight(mask + i) * 0x0101010101010101 >> 56);
  for (; i < n; i++) total += mask[i * stride];
  return total;
}

void fill(const uint8* mask, int64 stride, int64 n, int64 first, int64* to, int64 to_stride) {
  int64 i = 0;
  if (stride == 1) {
    for (; i + 8 <= n; i += 8) {
      for (uint64 word = eight(mask + i); word; word &= word - 1) {
        *to = first + i + __builtin_ctzll(word) / 8;
        to += to_stride;
      }
    }
  }
  for (; i < n; i++) {
    if (!mask[i * stride]) continue;
    *to = first + i;
    to += to_stride;
  }
}

int64 blocks_of(const View& mask) { return ceil_div(mask.shape[0], kBlock); }

}  // namespace

Status run_search_sorted(const Kernel* kernel, const Call* call) {
  const auto& op = *static_cast<const SearchFunctions*>(kernel->data);
  const int right = static_cast<const SearchAttributes*>(call->attributes)->right;
  const View &x = call->in[0], &values = call->in[1], &ids = call->out[0];
  const int64 m = values.shape[1];
  parallel_for(values.shape[0] * m, kGrain, [&](int64 begin, int64 end) {
    while (begin < end) {
      const int64 i = begin / m, j = begin % m, n = std::min(end - begin, m - j);
      op.search(x.as<char>() + i * x.strides[0] * op.size, x.strides[1], x.shape[1],
                values.as<char>() + (i * values.strides[0] + j * values.strides[1]) * op.size,
                values.strides[1], n, right,
                ids.as<int64>() + i * ids.strides[0] + j * ids.strides[1], ids.strides[1]);
      begin += n;
    }
  });
  return {};
}

int64 nonzero_scratch(const Kernel*, const Call* call, const DeviceInfo*) {
  return blocks_of(call->in[0]) * int64(sizeof(int64));
}

Status run_nonzero(const Kernel* kernel, const Call* call) {
  const View &mask = call->in[0], &ids = call->out[0];
  const int64 blocks = blocks_of(mask), stride = mask.strides[0];
  if (call->scratch_bytes < blocks * int64(sizeof(int64)))
    return error(StatusCode::kInvalidArgument, "%s: %lld bytes of scratch are too few",
                 kernel->name, (long long)call->scratch_bytes);
  int64* const before = static_cast<int64*>(call->scratch);  // of each block
  const auto each_block = [&](const auto& f) {
    parallel_for(blocks, 1, [&](int64 begin, int64 end) {
      for (int64 b = begin; b < end; b++)
        f(b, mask.as<const uint8>() + b * kBlock * stride,
          std::min(kBlock, mask.shape[0] - b * kBlock));
    });
  };
  each_block([&](int64 b, const uint8* from, int64 n) { before[b] = count(from, stride, n); });
  int64 total = 0;
  for (int64 b = 0; b < blocks; b++) {
    const int64 here = before[b];
    before[b] = total;
    total += here;
  }
  if (total != ids.shape[0])
    return error(StatusCode::kInvalidArgument,
                 "%s: the mask has %lld true elements, room is for %lld", kernel->name,
                 (long long)total, (long long)ids.shape[0]);
  each_block([&](int64 b, const uint8* from, int64 n) {
    fill(from, stride, n, b * kBlock, ids.as<int64>() + before[b] * ids.strides[0], ids.strides[0]);
  });
  return {};
}

}  // namespace wick::cpu
