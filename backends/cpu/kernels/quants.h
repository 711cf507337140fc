// The integers of quantized blocks, in lanes.
#pragma once
#include <string.h>

#include "kernels/lanes.h"
#include "scalar/blocks.h"

namespace wick::cpu::WICK_ISA {

/// Quants of format F as lanes of Int, i32 or i16. Elements e ... are counted from the first of a
/// run; kCount lanes are at most a run.
template <class F, class Int>
struct Quants {
  using Tag = hn::ScalableTag<Int>;
  using Lane = hn::Vec<Tag>;
  static constexpr int kCount = HWY_LANES(Int);
  static_assert(kCount <= blocks::kRun);

  /// Whether lanes stand in the order in which from_order puts elements, because that takes fewer
  /// instructions.
  static constexpr bool kReorders = [] {
    if constexpr (kHasOctets<F>)
      return false;
    else
      return kCount == blocks::kRun && F::kBits == 4 && F::kLowBytes == 16;
  }();

  /// Elements e ... of run r without the bias: all bits, or the quants that they index.
  template <int run>
  static WICK_HD Lane of(const uint8* block, int e) {
    if constexpr (kHasOctets<F>) {
      return octets(block, run * blocks::kRun + e);
#if defined(__AVX512F__)
    } else if constexpr (kReorders) {
      return reordered(block + F::low(run).byte);
#endif
    } else if constexpr (kHasQuantTable<F>) {
      return from_table<run>(block, e);
    } else if constexpr (F::kBits == 8) {
      return bytes_at(block + F::low(run).byte + e);
    } else if constexpr (F::kHighBytes == 4) {
      constexpr BlockBits high = F::high(run);
      return with_fifth_bits(low_bits<run>(block, e), block + high.byte, e);
    } else if constexpr (F::kHighBytes == 32) {
      constexpr int shift = F::high(run).shift - F::kLowBits;  // to where they belong
      constexpr int mask = (1 << F::kBits) - (1 << F::kLowBits);
      Lane above = bytes_at(block + F::high(run).byte + e);
      if constexpr (shift > 0) above = hn::ShiftRight<shift>(above);
      if constexpr (shift < 0) above = hn::ShiftLeft<-shift>(above);
      return hn::Or(low_bits<run>(block, e), hn::And(above, hn::Set(Tag(), mask)));
    } else {
      return low_bits<run>(block, e);
    }
  }
#if defined(__AVX512F__)
  /// Elements 0 ... of a run as `of` has them.
  static WICK_HD Lane from_order(Lane x) {
    const __m512i evens = _mm512_set_epi16(14, 12, 10, 8, 6, 4, 2, 0, 14, 12, 10, 8, 6, 4, 2, 0, 14,
                                           12, 10, 8, 6, 4, 2, 0, 14, 12, 10, 8, 6, 4, 2, 0);
    const __m512i order = _mm512_add_epi16(evens, in_quarters(0, 16, 1, 17));
    return Lane{_mm512_permutexvar_epi16(order, x.raw)};
  }
#endif
  /// The lower bits of elements e ... of run r, and of the bits above those that `mask` keeps.
  template <int run, int mask = (1 << F::kLowBits) - 1>
  static WICK_HD Lane low_bits(const uint8* block, int e) {
    constexpr BlockBits low = F::low(run);
    if constexpr (kCount > F::kLowBytes) {  // both halves of the bytes
      const hn::Half<Tag> half;
      const hn::Rebind<uint8, decltype(half)> u8;
      const auto bytes = hn::PromoteTo(half, hn::LoadU(u8, block + low.byte));
      const auto both = hn::Combine(Tag(), hn::ShiftRight<4>(bytes), bytes);
      return hn::And(both, hn::Set(Tag(), mask));
    }
    const Lane bytes = bytes_at(block + low.byte + e % F::kLowBytes);
    return e < F::kLowBytes ? bits<low.shift, mask>(bytes) : bits<4, mask>(bytes);
  }
  /// The quants, as floats, that the bits 0, 1 ... 15 stand for.
  static WICK_HD Lanes<float> of_all_bits() {
    const hn::ScalableTag<float> f32;
    if constexpr (kHasQuantTable<F>) {
      static constexpr QuantTable table = F::values();
      const hn::Rebind<int8, decltype(f32)> i8;
      const hn::Rebind<int32, decltype(f32)> i32;
      const auto* const quants = reinterpret_cast<const int8*>(table.words);
      return hn::ConvertTo(f32, hn::PromoteTo(i32, hn::LoadU(i8, quants)));
    } else {
      return hn::Iota(f32, 0);
    }
  }

 private:
  /// A byte for each lane.
  static WICK_HD Lane bytes_at(const uint8* from) {
    if constexpr (F::kBits == 8) {
      const hn::Rebind<int8, Tag> i8;
      return hn::PromoteTo(Tag(), hn::LoadU(i8, reinterpret_cast<const int8*>(from)));
    } else {
      const hn::Rebind<uint8, Tag> u8;
      return hn::PromoteTo(Tag(), hn::LoadU(u8, from));
    }
  }
  /// The quants of elements e ... of the block.
  static WICK_HD Lane octets(const uint8* block, int e) {
    const hn::Rebind<int8, Tag> i8;
    alignas(16) Octet octets[kCount < 8 ? 1 : kCount / 8];
    for (Octet& octet : octets) octet = F::octet(block, e / 8 + int(&octet - octets));
    return hn::PromoteTo(Tag(), hn::LoadU(i8, reinterpret_cast<const int8*>(octets) + e % 8));
  }
  /// The quants that the bits of elements e ... index.
  template <int run>
  static WICK_HD Lane from_table(const uint8* block, int e) {
    static constexpr QuantTable table = F::values();
    constexpr BlockBits low = F::low(run);
    static_assert(low.shift == 0 && F::kLowBytes == 16);
    const hn::Rebind<uint8, Tag> u8;
    const hn::Rebind<int8, Tag> i8;
    const hn::Full128<uint8> u8x16;
    const auto quants = hn::LoadU(u8x16, reinterpret_cast<const uint8*>(table.words));
    const auto bytes = hn::LoadU(u8, block + low.byte + e % 16);
    const auto index = e < 16 ? hn::And(bytes, hn::Set(u8, 15)) : hn::ShiftRight<4>(bytes);
    return hn::PromoteTo(Tag(), hn::BitCast(i8, hn::TableLookupBytes(quants, index)));
  }
#if defined(__AVX512F__)
  /// Half-bytes of 16 bytes: quarter q of the lanes has those q of each two bytes.
  static WICK_HD Lane reordered(const uint8* from) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    const __m512i shifts = in_quarters(0, 4, 8, 12);
    const __m512i bits =
        _mm512_and_si512(_mm512_srlv_epi16(_mm512_maskz_broadcast_i32x4(0xffff, bytes), shifts),
                         _mm512_set1_epi16(15));
    if constexpr (kHasQuantTable<F>) {
      static constexpr QuantTable table = F::values();
      const __m128i quants = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table.words));
      const __m512i words = _mm512_castsi256_si512(_mm256_cvtepi8_epi16(quants));
      return Lane{_mm512_permutexvar_epi16(bits, words)};
    } else {
      return Lane{bits};
    }
  }
  static WICK_HD __m512i in_quarters(int a, int b, int c, int d) {
    const __m512i pairs = _mm512_inserti32x4(_mm512_castsi128_si512(_mm_set1_epi16(short(a))),
                                             _mm_set1_epi16(short(b)), 1);
    return _mm512_inserti32x4(_mm512_inserti32x4(pairs, _mm_set1_epi16(short(c)), 2),
                              _mm_set1_epi16(short(d)), 3);
  }
#endif
  /// (x >> shift) & mask, of bytes; of a mask above 15 not masked.
  template <int shift, int mask>
  static WICK_HD Lane bits(Lane x) {
    if constexpr (shift > 0) x = hn::ShiftRight<shift>(x);
    if constexpr (mask < 16 && mask < (255 >> shift)) x = hn::And(x, hn::Set(Tag(), mask));
    return x;
  }
  /// Adds 16 to the elements e ... whose bit is set.
  static WICK_HD Lane with_fifth_bits(Lane x, const uint8* from, int e) {
    const auto sixteen = hn::Set(Tag(), 16);
    if constexpr (kCount >= 8) {  // of whole bytes
      const auto is_set = hn::LoadMaskBits(Tag(), from + e / 8);
      return hn::Or(x, hn::IfThenElseZero(is_set, sixteen));
    } else {
      uint32 all;
      memcpy(&all, from, sizeof all);
      const auto lane = hn::Shl(hn::Set(Tag(), 1), hn::Iota(Tag(), 0));
      const auto own = hn::And(hn::Set(Tag(), int32(all >> e)), lane);
      return hn::Or(x, hn::IfThenElseZero(hn::Eq(own, lane), sixteen));
    }
  }
};

}  // namespace wick::cpu::WICK_ISA
