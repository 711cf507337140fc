// One row of quantize_i8.
#include "dispatch/quantize.h"

#include <cstring>

#include "kernels/kernels.h"
#include "kernels/rows.h"
#include "scalar/code_scale.h"

namespace wick::cpu::WICK_ISA {
namespace {

/// The largest magnitude; of a NaN, NaN. Magnitudes are ordered as their bits are.
float largest_magnitude(const float* x) {
  int32 most = 0;
  for (int64 i = 0; i < kScaleGroup; i++) {
    int32 bits;
    memcpy(&bits, x + i, sizeof bits);
    bits &= 0x7fffffff;
    most = bits > most ? bits : most;
  }
  float result;
  memcpy(&result, &most, sizeof result);
  return result;
}

template <class T>
void row(const void* from, int8* codes, void* scales, int64 n) {
  static_assert(kChunk % kScaleGroup == 0);
  const T* const x = static_cast<const T*>(from);
  f16* const to = static_cast<f16*>(scales);
  alignas(64) float values[kChunk], factors[kChunk / kScaleGroup];
  for (int64 first = 0; first < n; first += kChunk) {
    const int64 count = smaller(kChunk, n - first);
    load<T, float>(x + first, 1, count, values);
    for (int64 g = 0; g < count; g += kScaleGroup) {
      const CodeScale scale = CodeScale::of(largest_magnitude(values + g));
      for (int64 i = 0; i < kScaleGroup; i++) codes[first + g + i] = scale.code(values[g + i]);
      factors[g / kScaleGroup] = scale.scale;
    }
    store<f16, float>(factors, to + first / kScaleGroup, 1, count / kScaleGroup);
  }
}

}  // namespace

template <>
void add_family<"quantize">(Table& table) {
  for_each(FloatTypes{}, [&]<class T>() {
    static constexpr QuantizeI8 data = {row<T>};
    table.add(kQuantizeI8, kDTypeOf<T>, DType::kI8,
              {.accepts = accepts_unit_strides, .run = QuantizeI8::run, .data = &data});
  });
}

}  // namespace wick::cpu::WICK_ISA
