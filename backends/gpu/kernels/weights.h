// How products read weights that are not of x's dtype: n neighbours of a row, of a block format or a float
// dtype. Blocks are read in words: 4 quants of 4 neighbours, as bytes.
#pragma once
#include "kernels/elements.h"
#include "scalar/blocks.h"

namespace wick::gpu {

/// Weights [n, k] as a kernel's argument.
struct WeightRows {
  const uint8* data;
  int64 row_bytes;
  DType dtype;
  bool packs;  // of floats: rows are aligned to 16 bytes

  WICK_DEVICE const uint8* row(int n) const { return data + n * row_bytes; }
};

/// 4 n neighbours in a block: byte e has quant e plus the format's bias.
template <int n>
struct QuantPack {
  uint32 words[n];
  BlockScale scale;
};

/// What is added to quants of F to be unsigned.
template <class F>
inline constexpr int kQuantBias = F::kBits == 8 || kHasQuantTable<F> ? 128 : F::kBias;

/// Of blocks of a dtype and their fields: 4 bytes if it can be, else 2 or 1.
constexpr int block_alignment(DType dtype) {
  const int bytes = facts_of(dtype).block_bytes;
  return bytes % 4 == 0 ? 4 : bytes % 2 == 0 ? 2 : 1;
}
template <class F>
inline constexpr int kBlockAlignment = block_alignment(F::kDType);

/// 4 bytes of a block.
template <class F>
WICK_DEVICE uint32 word_at(const uint8* p) {
  if constexpr (kBlockAlignment<F> == 4)
    return *reinterpret_cast<const uint32*>(p);
  else if constexpr (kBlockAlignment<F> == 2)
    return reinterpret_cast<const uint16*>(p)[0] | uint32(reinterpret_cast<const uint16*>(p)[1])
                                                       << 16;
  else
    return p[0] | uint32(p[1]) << 8 | uint32(p[2]) << 16 | uint32(p[3]) << 24;
}

/// The quants of F's table, plus the bias, that 4 bytes below 16 index.
template <class F>
WICK_DEVICE uint32 table_quants(uint32 bits) {
  constexpr QuantTable quants = F::values();
  uint32 word = 0;
  for (int e = 0; e < 4; e++) word |= uint32(uint8(quants[bits >> e * 8 & 15])) << e * 8;
  return word ^ 0x80808080u;
}

/// 4 n quants from element e of run r, as bytes, plus the bias.
template <class F, int n>
WICK_DEVICE void pack_words(const uint8* block, int run, int e, uint32 (&words)[n]) {
  const BlockBits low = F::low(run), high = F::high(run);
  for (int i = 0; i < n; i++) {
    const uint32 word = word_at<F>(block + low.byte + e % F::kLowBytes + 4 * i);
    if constexpr (F::kBits == 8) {
      words[i] = word ^ 0x80808080u;
    } else {
      constexpr uint32 low_mask = 0x01010101u * ((1 << F::kLowBits) - 1);
      words[i] = word >> (low.shift + e / F::kLowBytes * 4) & low_mask;
      if constexpr (F::kHighBytes == 4) {
        const uint32 bits = block[high.byte + (e + 4 * i) / 8] >> (e + 4 * i) % 8 & 15;
        words[i] |= (bits * 0x00204081u & 0x01010101u) << F::kLowBits;  // bit j in byte j
      } else if constexpr (F::kHighBytes == 32) {
        constexpr uint32 mask = 0x01010101u * ((1 << (F::kBits - F::kLowBits)) - 1);
        words[i] |= (word_at<F>(block + high.byte + e + 4 * i) >> high.shift & mask) << F::kLowBits;
      }
      if constexpr (kHasQuantTable<F>) words[i] = table_quants<F>(words[i]);
    }
  }
}
/// Elements k ... k + 4 n - 1 of a row; k is a multiple of 4 n, which is at most a group.
template <class F, int n>
WICK_DEVICE QuantPack<n> load_quants(const uint8* row, int k) {
  const uint8* const block = row + int64(k / kBlockElements<F>) * kBlockBytes<F>;
  const int in_block = k % kBlockElements<F>, run = in_block / blocks::kRun,
            e = in_block % blocks::kRun;
  QuantPack<n> pack;
  pack.scale = F::scale_of(block, in_block / F::kGroup);
  if constexpr (kHasOctets<F>) {
    static_assert(n <= 2);
    const Octet quants = F::octet(block, in_block / 8);
    for (int i = 0; i < n; i++)
      pack.words[i] = (n == 2 ? quants.words[i] : quants.words[e / 4 % 2]) ^ 0x80808080u;
  } else {
    pack_words<F>(block, run, e, pack.words);
  }
  return pack;
}
template <int n>
WICK_DEVICE void decode(const QuantPack<n>& pack, int bias, float (&w)[4 * n]) {
  for (int e = 0; e < 4 * n; e++) {
    const int quant = int(pack.words[e / 4] >> e % 4 * 8 & 255) - bias;
    w[e] =
        fma(pack.scale.scale, float(quant), pack.scale.offset);  // rounds once, as block_value does
  }
}

/// The same of a format that is chosen at run time.
template <int n, class... F>
WICK_DEVICE QuantPack<n> load_quants(DType dtype, const uint8* row, int k, TypeList<F...>) {
  QuantPack<n> pack{};
  static_cast<void>(
      ((dtype == F::kDType ? (void(pack = load_quants<F, n>(row, k)), true) : false) || ...));
  return pack;
}
template <class... F>
WICK_DEVICE bool is_one_of(DType dtype, TypeList<F...>) {
  return ((dtype == F::kDType) || ...);
}
template <class... F>
WICK_DEVICE int bias_of(DType dtype, TypeList<F...>) {
  int bias = 0;
  static_cast<void>(((dtype == F::kDType ? (void(bias = kQuantBias<F>), true) : false) || ...));
  return bias;
}

/// n floats from element k of a row of `end` elements, zeros beyond it.
template <int n>
WICK_DEVICE void load_floats(DType dtype, const uint8* row, int k, int end, bool packs,
                             float (&w)[n]) {
  using Floats = OneOf<float, float, bf16, f16>;
  if (packs && k + n <= end) {
    const Pack<float, n> pack = Floats::load<n>(dtype, row, uint32(k));
    for (int e = 0; e < n; e++) w[e] = pack.v[e];
  } else {
    for (int e = 0; e < n; e++)
      w[e] = k + e < end ? Floats::load<1>(dtype, row, uint32(k + e)).v[0] : 0.0f;
  }
}

/// A loader of n weights of a row from element k on, zeros beyond the last.
template <class F>
struct BlockWeights {
  template <int n>
  static WICK_DEVICE void load(const WeightRows&, const uint8* row, int k, int end, float (&w)[n]) {
    if (k < end) {
      decode(load_quants<F, n / 4>(row, k), kQuantBias<F>, w);
    } else {
      for (int e = 0; e < n; e++) w[e] = 0;
    }
  }
};
struct FloatWeights {
  template <int n>
  static WICK_DEVICE void load(const WeightRows& rows, const uint8* row, int k, int end,
                               float (&w)[n]) {
    load_floats(rows.dtype, row, k, end, rows.packs, w);
  }
};
/// Of any of these, chosen at run time.
struct AnyWeights {
  template <int n>
  static WICK_DEVICE void load(const WeightRows& rows, const uint8* row, int k, int end,
                               float (&w)[n]) {
    if (!is_one_of(rows.dtype, BlockTypes{}))
      return load_floats(rows.dtype, row, k, end, rows.packs, w);
    for (int e = 0; e < n; e++) w[e] = 0;
    if (k < end)
      decode(load_quants<n / 4>(rows.dtype, row, k, BlockTypes{}),
             bias_of(rows.dtype, BlockTypes{}), w);
  }
};

}  // namespace wick::gpu
