#include "ops/random/normal.h"

namespace wick {
namespace {

WICK_INLINE void pairs_of(const uint32_t* words, float* out, int64_t pairs) {
  constexpr int kTogether = 32;  // pairs; loops of a fixed length vectorize
  float radius[kTogether], cosine[kTogether], sine[kTogether];
  uint32_t u[kTogether] = {}, v[kTogether] = {};
  for (int64_t begin = 0; begin < pairs; begin += kTogether) {
    const int count = int(pairs - begin < kTogether ? pairs - begin : kTogether);
    for (int i = 0; i < count; i++) {
      u[i] = words[2 * (begin + i)];
      v[i] = words[2 * (begin + i) + 1];
    }
    for (int i = 0; i < kTogether; i++) {
      const float share = (float(int32_t(u[i] >> 1)) + 0.5f) * 0x1p-31f;  // in [2^-32, 1]
      radius[i] = -2 * detail::log_of(share);
    }
    for (int i = 0; i < kTogether; i++) detail::cos_sin_of_turn(v[i], &cosine[i], &sine[i]);
    for (int i = 0; i < count; i++) {
      const float r = std::sqrt(radius[i]);
      out[2 * (begin + i)] = r * cosine[i];
      out[2 * (begin + i) + 1] = r * sine[i];
    }
  }
}

void narrow(const uint32_t* words, float* out, int64_t pairs) { pairs_of(words, out, pairs); }
WICK_WIDE void wide(const uint32_t* words, float* out, int64_t pairs) {
  pairs_of(words, out, pairs);
}

}  // namespace

void normal_pairs(const uint32_t* words, float* out, int64_t pairs) {
  has_wide_vectors() ? wide(words, out, pairs) : narrow(words, out, pairs);
}

void normal_pairs(const uint32_t* words, double* out, int64_t pairs) {
  for (int64_t i = 0; i < pairs; i++, words += 4) {
    const uint64_t a = uint64_t(words[0]) << 32 | words[1], b = uint64_t(words[2]) << 32 | words[3];
    const double u = (double(a >> 11) + 0.5) * 0x1p-53;  // in (0, 1)
    const double angle = 2 * std::numbers::pi * (double(b >> 11) * 0x1p-53);
    const double radius = std::sqrt(-2 * std::log(u));
    out[2 * i] = radius * std::cos(angle);
    out[2 * i + 1] = radius * std::sin(angle);
  }
}

}  // namespace wick
