// The neighbours of a row of block weights that a lane reads at once: one run of 32, or two that
// share bytes.
#pragma once
#include "kernels/weights.h"

namespace wick::gpu {

/// How far apart two runs are whose lower bits the same bytes of F hold; 0: a unit has one run.
template <class F>
inline constexpr int kRunStep = __is_base_of(blocks::Large<F::kDType, F::kBits>, F) ? 1
                                : F::kDType == DType::kQ6_K                         ? 2
                                                                                    : 0;

/// The runs of a row that a lane reads at once: quants plus kBias as signed bytes. Units count from
/// the row's begin.
template <class F>
struct UnitOfWeights {
  static constexpr int kRuns = kRunStep<F> > 0 ? 2 : 1, kScales = QuantRun<F>::kScales;
  static constexpr int kWords = blocks::kRun / 4;
  static constexpr int kBias = kQuantBias<F> == 128 ? 0 : kQuantBias<F>;
  static constexpr int kStep = kRuns == 2 ? kRunStep<F> : 1;
  uint32 words[kRuns][kWords];
  BlockScale scales[kRuns][kScales];

  /// Run r of a unit, counted from the row's begin; the unit of a run, and its r.
  static WICK_DEVICE int run_of(int unit, int r) {
    return unit / kStep * kRuns * kStep + unit % kStep + r * kStep;
  }
  static WICK_DEVICE int unit_of(int run) { return run / (kRuns * kStep) * kStep + run % kStep; }
  static WICK_DEVICE int place_of(int run) { return run / kStep % kRuns; }

  static WICK_DEVICE UnitOfWeights load(const uint8* row, int unit) {
    constexpr int kPerBlock = kBlockElements<F> / blocks::kRun / kRuns;
    UnitOfWeights w;
    if constexpr (kRuns == 2) {
      const uint8* const block = row + int64(unit / kPerBlock) * kBlockBytes<F>;
      const int first = run_of(unit % kPerBlock, 0);
      w.load_low(block, first);
      if constexpr (F::kHighBytes > 0) w.load_high(block, first);
      if constexpr (kStep == 1)
        w.load_head(block, first);
      else
        for (int r = 0; r < 2; r++)
          for (int g = 0; g < kScales; g++)
            w.scales[r][g] =
                F::scale_of(block, (first + r * kRunStep<F>)*blocks::kRun / F::kGroup + g);
    } else {
      const QuantRun<F> run = load_run<F>(row, unit * blocks::kRun);
      WICK_UNROLL
      for (int i = 0; i < kWords; i++)
        w.words[0][i] = kQuantBias<F> == 128 ? run.words[i] ^ 0x80808080u : run.words[i];
      WICK_UNROLL
      for (int g = 0; g < kScales; g++) w.scales[0][g] = run.scales[g];
    }
    return w;
  }

 private:
  WICK_DEVICE void load_low(const uint8* block, int first) {
    uint32 low[kWords];
    load_words<F>(block + F::low(first).byte, low);
    WICK_UNROLL
    for (int i = 0; i < kWords; i++) {
      words[0][i] = low[i] & 0x0f0f0f0fu;
      words[1][i] = low[i] >> 4 & 0x0f0f0f0fu;
    }
  }
  WICK_DEVICE void load_high(const uint8* block, int first) {
    constexpr uint32 mask = 0x01010101u * ((1 << (F::kBits - 4)) - 1);
    const BlockBits of_first = F::high(first), of_second = F::high(first + kStep);
    uint32 high[kWords];
    load_words<F>(block + of_first.byte, high);
    WICK_UNROLL
    for (int i = 0; i < kWords; i++) {
      words[0][i] |= (high[i] >> of_first.shift & mask) << 4;
      words[1][i] |= (high[i] >> of_second.shift & mask) << 4;
    }
  }
  /// The scales of runs `run` and run + 1, which one load has.
  WICK_DEVICE void load_head(const uint8* block, int run) {
    uint32 head[4];
    load_words<F>(block, head);
    const float scale = to_float(f16{uint16(head[0])}),
                offset = to_float(f16{uint16(head[0] >> 16)});
    WICK_UNROLL
    for (int i = 0; i < 2; i++) {
      const uint32 shift = (run + i) % 4 * 8, b0 = head[1] >> shift & 255,
                   b4 = head[2] >> shift & 255, b8 = head[3] >> shift & 255;
      const uint32 s = run < 4 ? b0 & 63 : (b8 & 15) | b0 >> 6 << 4;
      const uint32 o = run < 4 ? b4 & 63 : b8 >> 4 | b4 >> 6 << 4;
      scales[i][0] = {scale * float(int(s)), -(offset * float(int(o)))};
    }
  }
};

}  // namespace wick::gpu
