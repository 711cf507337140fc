// x's rows as the kernels of linear and expert_linear read them.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/parallel.h"
#include "dispatch/linear.h"
#include "scalar/round_up.h"

namespace wick::cpu {

inline const LinearData& data_of(const Kernel* kernel) {
  return *static_cast<const LinearData*>(kernel->data);
}
/// Whether x's own rows are read.
inline bool reads_x_directly(const LinearData& data, int64 k) {
  return data.parts.pack_x == nullptr && data.x.direct &&
         data.parts.x_bytes(k) == k * int64(sizeof(float));
}
/// Rows of the weights in a tile of LinearParts::few, where tiles_of(tile_n) is the number of tiles.
/// Large tiles, because the prefetch of the processor starts anew in each, but threads' shares of
/// them are even.
inline constexpr int64 kMaxFewTileN = 256;
template <class TilesOf>
int64 few_tile_n(const TilesOf& tiles_of) {
  constexpr int64 kStep = 32;
  const auto share = [&](int64 tile_n) {
    return ceil_div(tiles_of(tile_n), int64(num_threads())) * tile_n;
  };
  int64 least = share(kStep);
  for (int64 tile_n = 2 * kStep; tile_n <= kMaxFewTileN; tile_n += kStep)
    least = std::min(least, share(tile_n));
  for (int64 tile_n = kMaxFewTileN; tile_n > kStep; tile_n -= kStep)
    if (share(tile_n) <= least + least / 32) return tile_n;
  return kStep;
}

/// The status of a kernel whose convert_rows fails.
inline constexpr Status kCannotPack{StatusCode::kDeclined,
                                    "x has values that packed rows do not represent"};

/// Converts rows of k elements; row_at(i) is the address of row i, which a tile multiplies with
/// count_of(i) rows in all. Returns false if pack_x does.
template <class RowAt, class CountOf>
bool convert_rows(const LinearData& data, int64 rows, int64 k, const RowAt& row_at,
                  const CountOf& count_of, char* to) {
  constexpr int64 kGrain = 1 << 14;  // elements that a thread converts at least
  const int64 row_bytes = data.parts.x_bytes(k);
  std::atomic<bool> packed = true;
  parallel_for(rows, std::max<int64>(1, kGrain / std::max<int64>(1, k)),
               [&](int64 begin, int64 end) {
                 for (int64 i = begin; i < end; i++) {
                   char* const row = to + i * row_bytes;
                   if (data.parts.pack_x == nullptr) {
                     data.x.load(row_at(i), 1, k, row);
                     std::memset(row + k * int64(sizeof(float)), 0,
                                 size_t(row_bytes - k * int64(sizeof(float))));
                     continue;
                   }
                   const int64 count = count_of(i);
                   const auto pack = count == 1                  ? data.parts.pack_one_x
                                     : count <= data.parts.few_m ? data.parts.pack_few_x
                                                                 : data.parts.pack_x;
                   for (int64 first = 0; first < k; first += kChunk) {
                     const int64 n = std::min(kChunk, k - first);
                     alignas(64) float chunk[kChunk];
                     data.x.load(row_at(i) + first * data.x.size, 1, n, chunk);
                     if (!pack(chunk, first, n, k, row)) {
                       packed = false;
                       return;
                     }
                   }
                 }
               });
  return packed;
}

}  // namespace wick::cpu
