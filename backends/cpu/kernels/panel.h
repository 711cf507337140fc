// How products read rows of weights: ahead of their use, and turned into panels that hold a row in
// each lane.
#pragma once
#include <string.h>

#include "kernels/lanes.h"

namespace wick::cpu::WICK_ISA {

/// Fetches the cache lines of the `bytes` weights that come `ahead` bytes after w: the processor's
/// own prefetch stops at pages.
template <int bytes>
WICK_HD void fetch_ahead(const uint8* w, int64 ahead = 2048) {
#pragma GCC unroll 8
  for (int line = 0; line < bytes; line += 64)
    _mm_prefetch(reinterpret_cast<const char*>(w) + ahead + line, _MM_HINT_T0);
}
/// How many bytes ahead the weights of row n of a tile are fetched if its quarters are read side by
/// side: the next tile's quarter is read after this one's. byte: of the row.
WICK_HD int64 distance_in_quarter(int64 n, int64 byte, int64 rows, int64 row_bytes) {
  constexpr int64 kAhead = 1024;
  const int64 quarter = rows / 4 * row_bytes;
  return n * row_bytes + byte + kAhead < quarter ? kAhead : kAhead + rows * row_bytes - quarter;
}

/// `most` elements of 32 bits of as many rows as a vector has lanes: rows i, i + 4 ... lie beside
/// each other, 4 elements of each at a time.
template <class T, int most>
struct Stage {
  static constexpr int kCount = HWY_LANES(T);
  static_assert(sizeof(T) == 4);
  alignas(64) T fours[most / 4][4][kCount / 4][4];

  /// Sets count elements of a row from `first` on; both are multiples of 4.
  WICK_HD void set_row(int row, int first, int count, const void* from) {
    for (int i = 0; i < count / 4; i++)
      memcpy(fours[first / 4 + i][row % 4][row / 4], static_cast<const char*>(from) + i * 16, 16);
  }
  /// Writes the elements of all rows, element by element.
  WICK_HD void transpose(int64 count, T* to) const {
    for (int64 i = 0; i < count / 4; i++, to += 4 * kCount) transpose(fours[i], to);
  }

 private:
  static WICK_HD void transpose(const T (&from)[4][kCount / 4][4], T* to) {
    const hn::ScalableTag<T> one;
    const hn::Repartition<double, decltype(one)> two;
    hn::Vec<decltype(one)> v[4];
    for (int i = 0; i < 4; i++) v[i] = hn::Load(one, &from[i][0][0]);
    const auto a = hn::BitCast(two, hn::InterleaveLower(one, v[0], v[1]));
    const auto b = hn::BitCast(two, hn::InterleaveUpper(one, v[0], v[1]));
    const auto c = hn::BitCast(two, hn::InterleaveLower(one, v[2], v[3]));
    const auto d = hn::BitCast(two, hn::InterleaveUpper(one, v[2], v[3]));
    hn::Store(hn::BitCast(one, hn::InterleaveLower(two, a, c)), one, to);
    hn::Store(hn::BitCast(one, hn::InterleaveUpper(two, a, c)), one, to + kCount);
    hn::Store(hn::BitCast(one, hn::InterleaveLower(two, b, d)), one, to + 2 * kCount);
    hn::Store(hn::BitCast(one, hn::InterleaveUpper(two, b, d)), one, to + 3 * kCount);
  }
};

}  // namespace wick::cpu::WICK_ISA
