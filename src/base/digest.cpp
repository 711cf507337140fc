#include "base/digest.h"

#include <cpuid.h>
#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace wick {
namespace {

uint32_t big_endian(const uint8_t* bytes) {
  return uint32_t(bytes[0]) << 24 | uint32_t(bytes[1]) << 16 | uint32_t(bytes[2]) << 8 | bytes[3];
}

constexpr std::array<uint32_t, 8> kSha1Start = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476,
                                                0xc3d2e1f0};
constexpr std::array<uint32_t, 8> kSha256Start = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                                  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
alignas(16) constexpr uint32_t kSha256Words[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

void sha1_block(std::array<uint32_t, 8>& state, const uint8_t* block) {
  uint32_t w[80];
  for (int t = 0; t < 16; t++) w[t] = big_endian(block + 4 * t);
  for (int t = 16; t < 80; t++) w[t] = std::rotl(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);
  auto [a, b, c, d, e, f, g, h] = state;
  for (int t = 0; t < 80; t++) {
    const uint32_t mixed = t < 20   ? ((b & c) | (~b & d)) + 0x5a827999
                           : t < 40 ? (b ^ c ^ d) + 0x6ed9eba1
                           : t < 60 ? ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc
                                    : (b ^ c ^ d) + 0xca62c1d6;
    const uint32_t next = std::rotl(a, 5) + mixed + e + w[t];
    e = d, d = c, c = std::rotl(b, 30), b = a, a = next;
  }
  const uint32_t sums[] = {a, b, c, d, e};
  for (size_t i = 0; i < 5; i++) state[i] += sums[i];
}

void sha256_block(std::array<uint32_t, 8>& state, const uint8_t* block) {
  uint32_t w[64];
  for (int t = 0; t < 16; t++) w[t] = big_endian(block + 4 * t);
  for (int t = 16; t < 64; t++) {
    const uint32_t s0 = std::rotr(w[t - 15], 7) ^ std::rotr(w[t - 15], 18) ^ w[t - 15] >> 3;
    const uint32_t s1 = std::rotr(w[t - 2], 17) ^ std::rotr(w[t - 2], 19) ^ w[t - 2] >> 10;
    w[t] = w[t - 16] + s0 + w[t - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (int t = 0; t < 64; t++) {
    const uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + kSha256Words[t] + w[t];
    const uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  const uint32_t sums[] = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < 8; i++) state[i] += sums[i];
}

#define WICK_SHA __attribute__((target("sha,sse4.1")))

/// The next four words of the message schedule, from the sixteen before them.
WICK_SHA inline __m128i next_words(__m128i w0, __m128i w1, __m128i w2, __m128i w3) {
  const __m128i sums = _mm_add_epi32(_mm_sha256msg1_epu32(w0, w1), _mm_alignr_epi8(w3, w2, 4));
  return _mm_sha256msg2_epu32(sums, w3);
}

/// sha256_block of many blocks, by the instructions of x86 for it: four times as fast. They keep
/// the state in the order ABEF, CDGH.
WICK_SHA void sha256_blocks_of_cpu(std::array<uint32_t, 8>& state, const uint8_t* blocks,
                                   size_t count) {
  const __m128i to_big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  auto* const memory = reinterpret_cast<__m128i*>(state.data());
  const __m128i cdab = _mm_shuffle_epi32(_mm_loadu_si128(memory), 0xb1);
  const __m128i efgh = _mm_shuffle_epi32(_mm_loadu_si128(memory + 1), 0x1b);
  __m128i abef = _mm_alignr_epi8(cdab, efgh, 8);
  __m128i cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
  for (; count > 0; count--, blocks += 64) {
    const __m128i abef_before = abef, cdgh_before = cdgh;
    __m128i w[4];
    for (int i = 0; i < 4; i++)
      w[i] = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(blocks) + i),
                              to_big_endian);
    for (int t = 0; t < 64; t += 4) {
      const __m128i sums =
          _mm_add_epi32(w[0], _mm_load_si128(reinterpret_cast<const __m128i*>(kSha256Words + t)));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sums);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sums, 0x0e));
      const __m128i next = next_words(w[0], w[1], w[2], w[3]);
      w[0] = w[1], w[1] = w[2], w[2] = w[3], w[3] = next;
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1b), dchg = _mm_shuffle_epi32(cdgh, 0xb1);
  _mm_storeu_si128(memory, _mm_blend_epi16(feba, dchg, 0xf0));
  _mm_storeu_si128(memory + 1, _mm_alignr_epi8(dchg, feba, 8));
}

#undef WICK_SHA

bool cpu_has_sha() {
  static const bool has = [] {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;  // bit 29 of EBX; g++ 12 has no name for it
    return __builtin_cpu_supports("sse4.1") && __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) &&
           (ebx >> 29 & 1) != 0;
  }();
  return has;
}

}  // namespace

Digest::Digest(DigestKind kind, bool portable)
    : kind_(kind),
      portable_(portable),
      state_(kind == DigestKind::kSha1 ? kSha1Start : kSha256Start) {}

void Digest::take_blocks(const uint8_t* bytes, size_t count) {
  if (kind_ == DigestKind::kSha256 && !portable_ && cpu_has_sha())
    return sha256_blocks_of_cpu(state_, bytes, count);
  for (; count > 0; count--, bytes += kBlock)
    kind_ == DigestKind::kSha1 ? sha1_block(state_, bytes) : sha256_block(state_, bytes);
}

void Digest::add(const void* bytes, size_t count) {
  const auto* from = static_cast<const uint8_t*>(bytes);
  bytes_ += count;
  if (rest_bytes_ > 0) {
    const size_t taken = std::min(count, kBlock - rest_bytes_);
    std::memcpy(rest_.data() + rest_bytes_, from, taken);
    rest_bytes_ += taken, from += taken, count -= taken;
    if (rest_bytes_ < kBlock) return;
    take_blocks(rest_.data(), 1);
    rest_bytes_ = 0;
  }
  take_blocks(from, count / kBlock);
  rest_bytes_ = count % kBlock;
  if (rest_bytes_ > 0) std::memcpy(rest_.data(), from + count - rest_bytes_, rest_bytes_);
}

std::string Digest::finish() {
  const uint64_t bits = bytes_ * 8;
  uint8_t end[kBlock + 8] = {0x80};
  const size_t zeros = (kBlock + 56 - (rest_bytes_ + 1)) % kBlock;
  for (size_t i = 0; i < 8; i++) end[1 + zeros + i] = uint8_t(bits >> (56 - 8 * i));
  add(end, 1 + zeros + 8);
  std::string digits;
  const size_t words = kind_ == DigestKind::kSha1 ? 5 : 8;
  for (size_t i = 0; i < words; i++)
    for (int shift = 28; shift >= 0; shift -= 4)
      digits += "0123456789abcdef"[state_[i] >> shift & 15];
  return digits;
}

}  // namespace wick
