// How products read weights: 32 neighbours of a row at a time, in registers. A loader W has
//
//   kElements, kBytes       of a block: the rows of weights are whole blocks, but for floats' last one
//   W::Scales(block)        what all runs of a block need
//   load<run>(block, scales, w)    the weights of run r of the block
#pragma once
#include "kernels/convert.h"
#include "scalar/blocks.h"

namespace wick::cpu::WICK_ISA {

inline constexpr int kRun = blocks::kRun, kRunLanes = kRun / Lanes<float>::kCount;
/// A run of weights.
using Run = Lanes<float>[kRunLanes];

/// 16 bytes.
using Bytes = hn::Vec<hn::Full128<uint8>>;

/// (x >> shift) & mask in each byte.
template <int shift, int mask>
WICK_HD Bytes bits_of(Bytes x) {
  const hn::Full128<uint8> u8;
  const hn::Full128<uint16> u16;
  if constexpr (shift > 0) x = hn::BitCast(u8, hn::ShiftRight<shift>(hn::BitCast(u16, x)));
  if constexpr (mask < 255) x = hn::And(x, hn::Set(u8, mask));
  return x;
}

/// Bit e of 16 as `value` in byte e.
WICK_HD Bytes spread_bits(const uint8* from, int value) {
  const hn::Full128<uint8> u8;
  alignas(16) static constexpr uint8 kByte[16] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1};
  alignas(16) static constexpr uint8 kBit[16] = {1, 2, 4, 8, 16, 32, 64, 128,
                                                 1, 2, 4, 8, 16, 32, 64, 128};
  uint16 bits;
  memcpy(&bits, from, 2);
  const auto all = hn::BitCast(u8, hn::Set(hn::Full128<uint16>(), bits));
  const auto own = hn::And(hn::TableLookupBytes(all, hn::Load(u8, kByte)), hn::Load(u8, kBit));
  return hn::IfThenElseZero(hn::Eq(own, hn::Load(u8, kBit)), hn::Set(u8, uint8(value)));
}

/// The bits of the quants of run r, unsigned; of 8 bits, the quants. 16 each.
template <class F, int run>
WICK_HD void quant_bits(const uint8* block, Bytes (&q)[2]) {
  const hn::Full128<uint8> u8;
  constexpr BlockBits low = F::low(run), high = F::high(run);
  constexpr int mask = F::kBits == 8 ? 255 : 15;
  const uint8* const from = block + low.byte;
  if constexpr (F::kLowBytes == 16) {
    const Bytes both = hn::LoadU(u8, from);
    q[0] = bits_of<0, mask>(both);
    q[1] = bits_of<4, mask>(both);
  } else {
    q[0] = bits_of<low.shift, mask>(hn::LoadU(u8, from));
    q[1] = bits_of<low.shift, mask>(hn::LoadU(u8, from + 16));
  }
  if constexpr (F::kHighBytes == 4) {
    q[0] = hn::Or(q[0], spread_bits(block + high.byte, 16));
    q[1] = hn::Or(q[1], spread_bits(block + high.byte + 2, 16));
  } else if constexpr (F::kHighBytes == 32) {
    constexpr int upper = (1 << (F::kBits - 4)) - 1;
    for (int i = 0; i < 2; i++) {
      const Bytes x = bits_of<high.shift, upper>(hn::LoadU(u8, block + high.byte + 16 * i));
      q[i] = hn::Or(q[i], bits_of<0, 255>(hn::BitCast(
                              u8, hn::ShiftLeft<4>(hn::BitCast(hn::Full128<uint16>(), x)))));
    }
  }
}

template <class F>
struct BlockWeights {
  static constexpr int kElements = kBlockElements<F>, kBytes = kBlockBytes<F>;
  static constexpr int kGroups = kElements / F::kGroup;

  struct Scales {
    BlockScale of[kGroups];
    explicit WICK_HD Scales(const uint8* block) {
#pragma GCC unroll 16
      for (int g = 0; g < kGroups; g++) of[g] = F::scale_of(block, g);
    }
  };
  template <int run>
  static WICK_HD void load(const uint8* block, const Scales& scales, Run& w) {
    const hn::Full128<uint8> u8;
    const hn::ScalableTag<float> f32;
    const hn::ScalableTag<int32> i32;
    const hn::Rebind<int8, decltype(i32)> i8;
    Bytes bits[2];
    quant_bits<F, run>(block, bits);
    // Through memory, for a load that widens costs less than to shuffle and widen.
    alignas(32) int8 quants[kRun];
    for (int i = 0; i < 2; i++) {
      if constexpr (F::kBias > 0) bits[i] = hn::Sub(bits[i], hn::Set(u8, F::kBias));
      hn::Store(bits[i], u8, reinterpret_cast<uint8*>(quants) + 16 * i);
    }
#pragma GCC unroll 8
    for (int i = 0; i < kRunLanes; i++) {
      constexpr int step = Lanes<float>::kCount;
      const BlockScale& s = scales.of[(run * kRun + i * step) / F::kGroup];
      const Lanes<float> q =
          hn::ConvertTo(f32, hn::PromoteTo(i32, hn::LoadU(i8, quants + i * step)));
      if constexpr (F::kHasOffset)  // rounds once, as decode does: the product is exact
        w[i] = fma(q, Lanes<float>(s.scale), Lanes<float>(s.offset));
      else
        w[i] = q * Lanes<float>(s.scale);
    }
  }
};

/// Weights of a float type, in blocks of a run.
template <class T>
struct FloatWeights {
  static constexpr int kElements = kRun, kBytes = kRun * sizeof(T);
  struct Scales {
    explicit WICK_HD Scales(const uint8*) {}
  };
  template <int>
  static WICK_HD void load(const uint8* block, const Scales&, Run& w) {
    for (int i = 0; i < kRunLanes; i++)
      w[i] = load_lanes(reinterpret_cast<const T*>(block) + i * Lanes<float>::kCount);
  }
};

/// Calls f(first element, w) for every run of a block.
template <class W, int run = 0, class F>
WICK_HD void each_run(const uint8* block, const typename W::Scales& scales, F f) {
  if constexpr (run * kRun < W::kElements) {
    Run w;
    W::template load<run>(block, scales, w);
    f(run * kRun, w);
    each_run<W, run + 1>(block, scales, f);
  }
}

}  // namespace wick::cpu::WICK_ISA
