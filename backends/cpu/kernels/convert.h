// Conversion between stored dtypes and compute types: in registers, and as the Load and Store of
// chunk.h.
#pragma once
#include <immintrin.h>
#include <string.h>

#include "dispatch/chunk.h"
#include "kernels/lanes.h"
#include "scalar/cast.h"

namespace wick::cpu::WICK_ISA {

/// The values of all bytes, so that decoding an 8-bit float is one table lookup.
template <class T>
struct ByteValues {
  float of[256];
  constexpr ByteValues() : of() {
    for (int i = 0; i < 256; i++) of[i] = to_float(T{uint8(i)});
  }
};
template <class T>
inline constexpr ByteValues<T> kByteValues;

/// Converts one element. Reads bool as a byte, since a bool with bits other than 0 and 1 is
/// undefined behaviour.
template <class W, class T>
WICK_HD W widen_one(const T* from) {
  if constexpr (kSame<T, bool>)
    return W(*reinterpret_cast<const uint8*>(from) != 0);
  else if constexpr (kSame<W, float> && is_floating(kDTypeOf<T>) && sizeof(T) == 1)
    return kByteValues<T>.of[from->bits];
  else
    return widen<W>(*from);
}

// Convert Lanes<float>::kCount elements of a narrower float to f32, and back.

WICK_HD Lanes<float> load_lanes(const float* from) { return Lanes<float>::load(from); }
WICK_HD void store_lanes(Lanes<float> x, float* to) { x.store(to); }

WICK_HD Lanes<float> load_lanes(const bf16* from) {
  const hn::ScalableTag<uint32> u32;
  const hn::Rebind<uint16, decltype(u32)> u16;
  const auto bits = hn::LoadU(u16, &from->bits);
  return hn::BitCast(hn::ScalableTag<float>(), hn::ShiftLeft<16>(hn::PromoteTo(u32, bits)));
}
/// Replaces each NaN by the quiet NaN of its sign, as round_to does, so that an element gets the
/// same bits whether it is stored by lanes or alone at the end of a piece.
WICK_HD Lanes<float> with_plain_nan(Lanes<float> x) {
  const auto plain =
      hn::BitCast(hn::ScalableTag<float>(), hn::Set(hn::ScalableTag<int32>(), 0x7fc00000));
  return hn::IfThenElse(hn::Eq(x.v, x.v), x.v, hn::CopySign(plain, x.v));
}

/// round_to<bf16>, lane by lane.
WICK_HD void store_lanes(Lanes<float> x, bf16* to) {
  const hn::ScalableTag<int32> i32;
  const hn::Rebind<uint16, decltype(i32)> u16;
  const auto u = hn::BitCast(i32, x.v);
  const auto odd = hn::And(hn::ShiftRight<16>(u), hn::Set(i32, 1));
  const auto rounded = hn::Add(hn::Add(u, hn::Set(i32, 0x7fff)), odd);
  const auto plain = hn::BitCast(i32, with_plain_nan(x).v);
  const auto is_nan = hn::RebindMask(i32, hn::Not(hn::Eq(x.v, x.v)));
  // The mask keeps the saturating demotion from clipping the upper 16 bits.
  const auto kept =
      hn::And(hn::ShiftRight<16>(hn::IfThenElse(is_nan, plain, rounded)), hn::Set(i32, 0xffff));
  hn::StoreU(hn::DemoteTo(u16, kept), u16, &to->bits);
}

#if defined(__AVX512F__)
// Masked forms with all lanes active: g++ 12 warns about the undefined source of the plain ones.
WICK_HD Lanes<float> load_lanes(const f16* from) {
  return hn::Vec<hn::ScalableTag<float>>{
      _mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)))};
}
WICK_HD void store_lanes(Lanes<float> x, f16* to) {
  _mm256_storeu_si256(
      reinterpret_cast<__m256i*>(to),
      _mm512_maskz_cvtps_ph(0xffff, with_plain_nan(x).v.raw, _MM_FROUND_TO_NEAREST_INT));
}
#elif defined(__F16C__)
WICK_HD Lanes<float> load_lanes(const f16* from) {
  return hn::Vec<hn::ScalableTag<float>>{
      _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)))};
}
WICK_HD void store_lanes(Lanes<float> x, f16* to) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                   _mm256_cvtps_ph(with_plain_nan(x).v.raw, _MM_FROUND_TO_NEAREST_INT));
}
#else
WICK_HD Lanes<float> load_lanes(const f16* from) {
  const hn::ScalableTag<uint32> u32;
  const hn::ScalableTag<float> f32;
  const hn::Rebind<uint16, decltype(u32)> u16;
  const auto bits = hn::PromoteTo(u32, hn::LoadU(u16, &from->bits));
  const auto size = hn::And(bits, hn::Set(u32, 0x7fff));
  // The exponent biases differ by 112: one exact multiplication, which also normalizes subnormals.
  const auto scaled = hn::Mul(hn::BitCast(f32, hn::ShiftLeft<13>(size)), hn::Set(f32, 0x1p112f));
  const auto special = hn::Gt(hn::BitCast(hn::ScalableTag<int32>(), size),
                              hn::Set(hn::ScalableTag<int32>(), 0x7bff));
  const auto kept = hn::Or(hn::ShiftLeft<13>(size), hn::Set(u32, 0x7f800000));
  const auto value = hn::IfThenElse(hn::RebindMask(u32, special), kept, hn::BitCast(u32, scaled));
  const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(u32, 0x8000)));
  return hn::BitCast(f32, hn::Or(value, sign));
}
WICK_HD void store_lanes(Lanes<float> x, f16* to) {
  alignas(16) float lanes[Lanes<float>::kCount];
  x.store(lanes);
  for (int i = 0; i < Lanes<float>::kCount; i++) to[i] = round_to<f16>(lanes[i]);
}
#endif

template <class T>
WICK_HD Lanes<float> load_bytes(const T* from) {
  alignas(64) float lanes[Lanes<float>::kCount];
  for (int i = 0; i < Lanes<float>::kCount; i++) lanes[i] = kByteValues<T>.of[from[i].bits];
  return Lanes<float>::load(lanes);
}
WICK_HD Lanes<float> load_lanes(const f8e4m3* from) { return load_bytes(from); }
WICK_HD Lanes<float> load_lanes(const f8e5m2* from) { return load_bytes(from); }

WICK_HD Lanes<double> load_lanes(const double* from) { return Lanes<double>::load(from); }

/// A Load of T as W, which represents every T.
template <class T, class W>
void load(const void* from, int64 stride, int64 n, void* to) {
  const T* x = static_cast<const T*>(from);
  W* y = static_cast<W*>(to);
  if (n == 0) return;  // memcpy requires valid pointers even for 0 bytes
  if (stride == 0) {
    const W value = widen_one<W>(x);
    for (int64 i = 0; i < n; i++) y[i] = value;
    return;
  }
  if (stride != 1) {
    for (int64 i = 0; i < n; i++) y[i] = widen_one<W>(x + i * stride);
    return;
  }
  if constexpr (kSame<T, W>) {
    memcpy(y, x, size_t(n) * sizeof(T));
  } else {
    int64 i = 0;
    if constexpr (kSame<T, bf16> || kSame<T, f16>)
      for (constexpr int step = Lanes<float>::kCount; i + step <= n; i += step)
        load_lanes(x + i).store(y + i);
    for (; i < n; i++) y[i] = widen_one<W>(x + i);
  }
}

/// A Store of W as T, rounded, truncated or saturated as scalar/cast.h defines.
template <class T, class W>
void store(const void* from, void* to, int64 stride, int64 n) {
  const W* x = static_cast<const W*>(from);
  T* y = static_cast<T*>(to);
  if (n == 0) return;
  if (stride != 1) {
    for (int64 i = 0; i < n; i++) y[i * stride] = from_wide<T>(x[i]);
    return;
  }
  if constexpr (kSame<T, W>) {
    memcpy(y, x, size_t(n) * sizeof(T));
  } else {
    int64 i = 0;
    if constexpr (kSame<W, float> && (kSame<T, bf16> || kSame<T, f16>))
      for (constexpr int step = Lanes<float>::kCount; i + step <= n; i += step)
        store_lanes(Lanes<float>::load(x + i), y + i);
    for (; i < n; i++) y[i] = from_wide<T>(x[i]);
  }
}

/// Copies elements of the size of S, an unsigned integer.
template <class S>
void load_copy(const void* from, int64 stride, int64 n, void* to) {
  load<S, S>(from, stride, n, to);
}
template <class S>
void store_copy(const void* from, void* to, int64 stride, int64 n) {
  const S* x = static_cast<const S*>(from);
  S* y = static_cast<S*>(to);
  if (n == 0) return;
  if (stride == 1)
    memcpy(y, x, size_t(n) * sizeof(S));
  else
    for (int64 i = 0; i < n; i++) y[i * stride] = x[i];
}
template <int bytes>
constexpr Access copy_access() {
  if constexpr (bytes == 1)
    return {load_copy<uint8>, store_copy<uint8>, 1, 1, true};
  else if constexpr (bytes == 2)
    return {load_copy<uint16>, store_copy<uint16>, 2, 2, true};
  else if constexpr (bytes == 4)
    return {load_copy<uint32>, store_copy<uint32>, 4, 4, true};
  else
    return {load_copy<uint64>, store_copy<uint64>, 8, 8, true};
}

/// Whether T and W have the same bits: equal types, and integers of one size, signed or not.
template <class T, class W>
inline constexpr bool kSameBits = kSame<T, W> ||
                                  (is_integer(kDTypeOf<T>) && is_integer(kDTypeOf<W>) &&
                                   sizeof(T) == sizeof(W));

/// Reads T as W, which represents every T.
template <class T, class W>
constexpr Access reading() {
  if constexpr (kSameBits<T, W>)
    return copy_access<sizeof(T)>();
  else
    return {load<T, W>, nullptr, sizeof(T), sizeof(W), false};
}
/// Writes T from W.
template <class T, class W>
constexpr Access writing() {
  if constexpr (kSameBits<T, W>)
    return copy_access<sizeof(T)>();
  else
    return {nullptr, store<T, W>, sizeof(T), sizeof(W), false};
}

}  // namespace wick::cpu::WICK_ISA
