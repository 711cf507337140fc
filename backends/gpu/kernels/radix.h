// Radix sort by digits of 8 bits: the keys of elements, and the stable positions of a block's
// elements by one digit. Elements are moved unchanged and their keys computed again for each digit,
// since keys do not distinguish the zeros or the NaNs, whose bits must be kept.
#pragma once
#include "kernels/block_scan.h"
#include "scalar/cast.h"

namespace wick::gpu {

/// Maps elements' bits to unsigned keys in the requested order. All NaNs have one key, the largest;
/// the two zeros have one. Serves all dtypes of a size.
struct KeyRule {
  uint64 largest;  // the bits of infinity, or of a dtype's largest value without it; 0 for integers
  uint64 flip;     // xor mask for the integers' sign and the order
  bool descending;

  template <class T>
  static KeyRule of(bool descending) {
    constexpr uint64 kSign = uint64(1) << (8 * sizeof(T) - 1);
    if constexpr (kIsFloat<T>) {
      constexpr uint64 kLargest = kSame<T, f8e4m3>   ? 0x7e
                                  : kSame<T, f8e5m2> ? 0x7c
                                  : kSame<T, bf16>   ? 0x7f80
                                  : kSame<T, f16>    ? 0x7c00
                                  : kSame<T, float>  ? 0x7f800000
                                                     : uint64(0x7ff) << 52;
      return {kLargest, descending ? ~uint64(0) : 0, descending};
    } else {
      return {0, (T(-1) < T(0) ? kSign : 0) ^ (descending ? ~uint64(0) : 0), descending};
    }
  }
  template <class U>
  WICK_DEVICE U key(U bits) const {
    constexpr U kSign = U(U(1) << (8 * sizeof(U) - 1));
    if (largest != 0) {
      const U magnitude = U(bits & U(~kSign));
      bits = bits & kSign ? U(kSign - magnitude) : U(kSign + magnitude);
      if (magnitude > U(largest)) bits = U(~U(0));
    }
    return U(bits ^ U(flip));
  }
  template <class U>
  WICK_DEVICE uint32 digit(U bits, int pass) const {
    return uint32(key(bits) >> (8 * pass)) & 0xff;
  }
};

inline constexpr int kDigits = 256;

/// The stable positions of a tile's elements by a digit. A wave has a contiguous part of the tile,
/// and reads it in rounds of neighbouring elements, one per lane.
template <class Ctx>
struct DigitCounts {
  static_assert(Ctx::kThreads == kDigits);  // one thread per digit
  uint32 counts[Ctx::kWaves][kDigits];
  uint32 partial[Ctx::kWaves];

  /// All threads must call it before a tile's first rank(). Ends with a sync.
  WICK_DEVICE void clear(const Ctx& ctx) {
    for (int w = 0; w < Ctx::kWaves; w++) counts[w][ctx.thread()] = 0;
    ctx.sync();
  }
  /// The number of the wave's elements with this digit before this lane's. A wave operation.
  WICK_DEVICE uint32 rank(const Ctx& ctx, uint32 digit, bool active) {
    const int lane = ctx.lane();
    uint64 peers = ctx.ballot(active);
    for (int bit = 0; bit < 8; bit++) {
      const bool set = digit >> bit & 1;
      const uint64 votes = ctx.ballot(set);
      peers &= set ? votes : ~votes;
    }
    const int lower = Ctx::count_bits(peers & ((uint64(1) << lane) - 1));
    uint32 before = 0;
    if (active && lower == 0)
      before = Ctx::atomic_add(&counts[ctx.wave()][digit], uint32(Ctx::count_bits(peers)));
    const int first = active ? Ctx::count_bits((peers & (~peers + 1)) - 1) : lane;
    return ctx.shuffle(before, first) + lower;
  }
  /// Call after a sync. Replaces each wave's counts by the first position in the tile of its
  /// elements with the digit. Returns the first position and the count of this thread's digit.
  WICK_DEVICE Scanned<uint32> place(const Ctx& ctx) {
    uint32 count = 0;
    for (int w = 0; w < Ctx::kWaves; w++) count += counts[w][ctx.thread()];
    const uint32 before = scan_threads<Plus>(ctx, partial, count, uint32(0)).before;
    uint32 begin = before;
    for (int w = 0; w < Ctx::kWaves; w++) {
      const uint32 here = counts[w][ctx.thread()];
      counts[w][ctx.thread()] = begin;
      begin += here;
    }
    ctx.sync();
    return {before, count};
  }
  WICK_DEVICE uint32 begin(const Ctx& ctx, uint32 digit) const { return counts[ctx.wave()][digit]; }
};

}  // namespace wick::gpu
