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
  static constexpr bool kHasHead = kRuns == 2 && kStep == 1;  // whether one load has all scales
  uint32 words[kRuns][kWords];
  BlockScale scales[kRuns][kScales];
  uint32 head[kHasHead ? 4 : 1];
  int32 first_run = 0;  // in the block, of a unit with a head

  /// Run r of a unit, counted from the row's begin; the unit of a run, and its r.
  static WICK_DEVICE int run_of(int unit, int r) {
    return unit / kStep * kRuns * kStep + unit % kStep + r * kStep;
  }
  static WICK_DEVICE int unit_of(int run) { return run / (kRuns * kStep) * kStep + run % kStep; }
  static WICK_DEVICE int place_of(int run) { return run / kStep % kRuns; }

  static WICK_DEVICE UnitOfWeights load(const uint8* row, int unit) {
    UnitOfWeights w = load_ahead(row, unit);
    w.end_load();
    return w;
  }
  /// The same for a unit that is needed later, after end_load: this waits for no load of words.
  static WICK_DEVICE UnitOfWeights load_ahead(const uint8* row, int unit) {
    constexpr int kPerBlock = kBlockElements<F> / blocks::kRun / kRuns;
    UnitOfWeights w;
    if constexpr (kRuns == 2) {
      const uint8* const block = row + int64(unit / kPerBlock) * kBlockBytes<F>;
      const int first = run_of(unit % kPerBlock, 0);
      w.load_low(block, first);
      if constexpr (F::kHighBytes > 0) w.load_high(block, first);
      if constexpr (kHasHead)
        load_words<F>(block, w.head), w.first_run = first;
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

  WICK_DEVICE void end_load() {
    if constexpr (kHasHead) {
      // Both forms of a block's first and last four runs, of which values are chosen: no branches.
      const float scale = to_float(f16{uint16(head[0])}),
                  offset = to_float(f16{uint16(head[0] >> 16)});
      const bool is_low = first_run < 4;
      WICK_UNROLL
      for (int i = 0; i < 2; i++) {
        const uint32 shift = (first_run + i) % 4 * 8, b0 = head[1] >> shift & 255,
                     b4 = head[2] >> shift & 255, b8 = head[3] >> shift & 255;
        const uint32 low_s = b0 & 63, high_s = (b8 & 15) | b0 >> 6 << 4;
        const uint32 low_o = b4 & 63, high_o = b8 >> 4 | b4 >> 6 << 4;
        scales[i][0] = {scale * float(int(is_low ? low_s : high_s)),
                        -(offset * float(int(is_low ? low_o : high_o)))};
      }
    }
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
};

}  // namespace wick::gpu
