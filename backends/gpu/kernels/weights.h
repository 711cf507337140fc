// How products read weights that are not of x's dtype: n neighbours of a row, of a block format or
// a float dtype. Blocks are read in words: 4 quants of 4 neighbours, as bytes.
#pragma once
#include "device/bytes.h"
#include "kernels/elements.h"
#include "scalar/blocks.h"

namespace wick::gpu {

/// Weights [n, k] as a kernel's argument.
struct WeightRows {
  const uint8* data;
  int64 row_bytes;  // from one row to the next
  DType dtype;
  bool packs;        // of floats: rows are aligned to 16 bytes
  int64 used_bytes;  // of a row

  WICK_DEVICE const uint8* row(int n) const { return data + n * row_bytes; }
};

/// 4 n neighbours in a block: byte e has quant e plus the format's bias.
template <int n>
struct QuantPack {
  uint32 words[n];
  BlockScale scale;
};

/// The number that makes quants of F unsigned when added.
template <class F>
inline constexpr int kQuantBias = F::kBits == 8 || kHasQuantTable<F> ? 128 : F::kBias;

/// The alignment of a dtype's blocks and of their words: 16 bytes if possible, else 4, 2 or 1.
constexpr int block_alignment(DType dtype) {
  const int bytes = facts_of(dtype).block_bytes;
  return bytes % 16 == 0 ? 16 : bytes % 4 == 0 ? 4 : bytes % 2 == 0 ? 2 : 1;
}
template <class F>
inline constexpr int kBlockAlignment = block_alignment(F::kDType);

/// 4 bytes of a block.
template <class F>
WICK_DEVICE uint32 word_at(const uint8* p) {
  if constexpr (kBlockAlignment<F> >= 4)
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
  constexpr uint32 table[] = {uint32(quants.words[0]), uint32(quants.words[0] >> 32),
                              uint32(quants.words[1]), uint32(quants.words[1] >> 32)};
  return lookup_bytes(table, bits) ^ 0x80808080u;
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
    for (int i = 0; i < n; i++) {
      const bool second = n == 2 ? i == 1 : e / 4 % 2 == 1;  // an index would take memory
      pack.words[i] = (second ? quants.words[1] : quants.words[0]) ^ 0x80808080u;
    }
  } else {
    pack_words<F>(block, run, e, pack.words);
  }
  return pack;
}
template <int n>
WICK_DEVICE void decode(const QuantPack<n>& pack, int bias, float (&w)[4 * n]) {
  for (int e = 0; e < 4 * n; e++)
    w[e] = fma(pack.scale.scale, byte_minus(pack.words[e / 4], e % 4, bias),
               pack.scale.offset);  // rounds once, as block_value does
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
    one_by_one([&] {
      for (int e = 0; e < n; e++)
        w[e] = k + e < end ? Floats::load<1>(dtype, row, uint32(k + e)).v[0] : 0.0f;
    });
  }
}

/// 4 n bytes of a block at p, in n words.
template <class F, int n>
WICK_DEVICE void load_words(const uint8* p, uint32 (&words)[n]) {
  if constexpr (kBlockAlignment<F> == 2) {
    // Whole words from the one before, of which all but the last lie in the row, and half a word;
    // another one where it is not needed: a load under a condition would wait for the others.
    const bool odd = (reinterpret_cast<uint64>(p) & 2) != 0;
    const auto* const from = reinterpret_cast<const uint32*>(odd ? p - 2 : p);
    uint32 all[n + 1];
    if constexpr (n % 4 == 0)
      for (int i = 0; i < n; i += 4) load_four<4>(from + i, all + i);
    else
      for (int i = 0; i < n; i++) all[i] = from[i];
    all[n] = *reinterpret_cast<const uint16*>(from + (odd ? n : n - 1));
    for (int i = 0; i < n; i++)
      words[i] = uint32((uint64(all[i + 1]) << 32 | all[i]) >> (odd ? 16 : 0));
  } else if constexpr (kBlockAlignment<F> >= 4 && n % 4 == 0) {
    const auto* const from = reinterpret_cast<const uint32*>(p);
    for (int i = 0; i < n; i += 4) load_four<kBlockAlignment<F>>(from + i, words + i);
  } else {
    for (int i = 0; i < n; i++) words[i] = word_at<F>(p + 4 * i);
  }
}

/// A run of 32 neighbours: byte e of the words has quant e plus the format's bias.
template <class F>
struct QuantRun {
  static constexpr int kScales =
      blocks::kRun / (F::kGroup < blocks::kRun ? F::kGroup : blocks::kRun);
  uint32 words[blocks::kRun / 4];
  BlockScale scales[kScales];
};

/// The words of run r of a block.
template <class F>
WICK_DEVICE void load_run_words(const uint8* block, int run, uint32 (&to)[blocks::kRun / 4]) {
  constexpr int kWords = blocks::kRun / 4, kLowWords = F::kLowBytes / 4;
  const BlockBits low = F::low(run), high = F::high(run);
  uint32 words[kLowWords];
  load_words<F>(block + low.byte, words);
  if constexpr (F::kBits == 8) {
    for (int i = 0; i < kWords; i++) to[i] = words[i] ^ 0x80808080u;
  } else {
    constexpr uint32 low_mask = 0x01010101u * ((1 << F::kLowBits) - 1);
    for (int i = 0; i < kWords; i++)
      to[i] = words[i % kLowWords] >> (low.shift + i / kLowWords * 4) & low_mask;
    if constexpr (F::kHighBytes == 4) {
      uint32 bits[1];
      load_words<F>(block + high.byte, bits);
      for (int i = 0; i < kWords; i++)
        to[i] |= ((bits[0] >> 4 * i & 15) * 0x00204081u & 0x01010101u) << F::kLowBits;
    } else if constexpr (F::kHighBytes == 32) {
      constexpr uint32 mask = 0x01010101u * ((1 << (F::kBits - F::kLowBits)) - 1);
      uint32 bits[kWords];
      load_words<F>(block + high.byte, bits);
      for (int i = 0; i < kWords; i++) to[i] |= (bits[i] >> high.shift & mask) << F::kLowBits;
    }
    if constexpr (kHasQuantTable<F>)
      for (int i = 0; i < kWords; i++) to[i] = table_quants<F>(to[i]);
  }
}

/// The run of a row from element k on, a multiple of 32.
template <class F>
WICK_DEVICE QuantRun<F> load_run(const uint8* row, int k) {
  const uint8* const block = row + int64(k / kBlockElements<F>) * kBlockBytes<F>;
  const int run = k % kBlockElements<F> / blocks::kRun;
  QuantRun<F> r;
  if constexpr (kHasOctets<F>) {
    for (int i = 0; i < blocks::kRun / 8; i++) {
      const Octet quants = F::octet(block, run * blocks::kRun / 8 + i);
      for (int w = 0; w < 2; w++) r.words[2 * i + w] = quants.words[w] ^ 0x80808080u;
    }
  } else {
    load_run_words<F>(block, run, r.words);
  }
  for (int g = 0; g < QuantRun<F>::kScales; g++)
    r.scales[g] = F::scale_of(block, run * blocks::kRun / F::kGroup + g);
  return r;
}

// A loader of a row's weights. A lane holds kPack raw neighbours, and decodes kPart at a time.
//
//   load(rows, row, k, end)    the weights from element k on, a multiple of kPack below end
//   decode(pack, part, w)      those from kPart part on, zeros beyond the last
//   ForRows<n>                 the loader for products of n rows
inline constexpr int kPart = 8;

// In packs of 8, for kernels whose registers hold the sums of many rows.
template <class F>
struct BlockWeightsBy8 {
  static constexpr bool kTakesNorm = true;
  static constexpr int kPack = kPart;
  using Pack = QuantPack<kPart / 4>;
  static WICK_DEVICE Pack load(const WeightRows&, const uint8* row, int k, int) {
    return load_quants<F, kPart / 4>(row, k);
  }
  static WICK_DEVICE void decode(const Pack& pack, int, float (&w)[kPart]) {
    gpu::decode(pack, kQuantBias<F>, w);
  }
};
template <class F>
struct BlockWeights {
  template <int rows>
  using ForRows = Either<rows == 1, BlockWeights, BlockWeightsBy8<F>>;
  static constexpr int kPack = blocks::kRun;
  using Pack = QuantRun<F>;
  static WICK_DEVICE Pack load(const WeightRows&, const uint8* row, int k, int) {
    return load_run<F>(row, k);
  }
  static WICK_DEVICE void decode(const Pack& pack, int part, float (&w)[kPart]) {
    const BlockScale scale = pack.scales[part * kPart * Pack::kScales / kPack];
    for (int e = 0; e < kPart; e++) {
      const int at = part * kPart + e;
      // Rounds once, as block_value does.
      w[e] = fma(scale.scale, byte_minus(pack.words[at / 4], at % 4, kQuantBias<F>), scale.offset);
    }
  }
};
/// Of one of the formats, which is chosen at run time: small code, for calls that are rare.
template <class... F>
struct AnyBlocksBy8 {
  static constexpr bool kIsRare = true, kTakesNorm = true;
  static constexpr int kPack = kPart;
  struct Pack {
    QuantPack<kPart / 4> quants;
    int bias;
  };
  static WICK_DEVICE Pack load(const WeightRows& rows, const uint8* row, int k, int) {
    return {load_quants<kPart / 4>(rows.dtype, row, k, TypeList<F...>{}),
            bias_of(rows.dtype, TypeList<F...>{})};
  }
  static WICK_DEVICE void decode(const Pack& pack, int, float (&w)[kPart]) {
    gpu::decode(pack.quants, pack.bias, w);
  }
};
struct FloatWeights {
  template <int>
  using ForRows = FloatWeights;
  static constexpr int kPack = kPart;
  struct Pack {
    float w[kPart];
  };
  static WICK_DEVICE Pack load(const WeightRows& rows, const uint8* row, int k, int end) {
    Pack pack;
    load_floats(rows.dtype, row, k, end, rows.packs, pack.w);
    return pack;
  }
  static WICK_DEVICE void decode(const Pack& pack, int, float (&w)[kPart]) {
    for (int e = 0; e < kPart; e++) w[e] = pack.w[e];
  }
};
/// Floats of two bytes, of rows that are whole packs aligned to 16 bytes: all of a lane's loads are
/// in flight together.
template <class T>
struct HalfWeights {
  template <int>
  using ForRows = HalfWeights;
  static constexpr int kPack = 32;
  static constexpr bool kWholePacks = true;
  struct Pack {
    uint32 words[kPack / 2];
  };
  static WICK_DEVICE Pack load(const WeightRows&, const uint8* row, int k, int) {
    Pack pack;
    const auto* const from = reinterpret_cast<const uint32*>(row + k * sizeof(T));
    WICK_UNROLL
    for (int i = 0; i < kPack / 2; i += 4) load_four<16>(from + i, pack.words + i);
    return pack;
  }
  static WICK_DEVICE void decode(const Pack& pack, int part, float (&w)[kPart]) {
    WICK_UNROLL
    for (int e = 0; e < kPart; e++) {
      const uint32 word = pack.words[(part * kPart + e) / 2];
      w[e] = widen<float>(__builtin_bit_cast(T, uint16(word >> e % 2 * 16)));
    }
  }
};
/// n weights of a row of any dtype from element k on, zeros beyond the last.
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
