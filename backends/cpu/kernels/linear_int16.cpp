// Products with block weights of x rounded to 16 bits: integer products of 16 bits and exact sums
// of them in 32 for each group of weights that shares a scale.
//
//   y = sum over groups g of scale_g step_g (sum of quants x) + offset_g step_g (sum of x)
//
// with x in integers, step_g their unit.
#include <immintrin.h>
#include <string.h>

#include <utility>

#include "dispatch/linear.h"
#include "kernels/activation.h"
#include "kernels/kernels.h"
#include "kernels/linear_packed.h"
#include "kernels/linear_pairs.h"
#include "kernels/linear_words.h"
#include "kernels/panel.h"
#include "wick/abi/ops/matmul.h"

namespace wick::cpu::WICK_ISA {
namespace {

constexpr int64 kFewM = 8;                  // rows of x that share weights in registers
constexpr int64 kTileM = 512, kTileN = 32;  // of y
constexpr int64 kTileK =
    512;  // weights of a tile: 32 KiB; the x beside them 512 KiB of an L2 cache
static_assert(kTileN % kCount == 0 && kTileK % kUnit == 0);

// Vectors of columns of y and rows of x whose products are added up at once.
#if defined(__AVX512F__)
constexpr int kColumns = 2, kRowsX = 6;
#else
constexpr int kColumns = 2, kRowsX = 4;
#endif
constexpr int kUnrolled = 4;  // pairs

/// sum + the products of neighbours, in pairs.
WICK_HD Ints add_pairs(Shorts a, Shorts b, Ints sum) {
  Ints none = hn::Zero(I32());
  return hn::ReorderWidenMulAccumulate(I32(), a, b, sum, none);
}
// ---- few rows of x

#if defined(__AVX512F__)
/// 16 indices for each run of a unit: of the scale of its first group, and of its second.
struct Halves {
  alignas(64) int32 lanes[kUnit / kRun][16];
  constexpr Halves() : lanes() {
    for (int run = 0; run < kUnit / kRun; run++)
      for (int i = 0; i < 16; i++) lanes[run][i] = 2 * run + i / 8;
  }
};
constexpr Halves kHalves;
#endif

/// A run of quants.
template <class F>
struct Run {
  Shorts quants[kRunParts];
  template <int run>
  WICK_HD void load(const uint8* block) {
#pragma GCC unroll 4
    for (int i = 0; i < kRunParts; i++)
      quants[i] = Quants<F, int16>::template of<run>(block, i * HWY_LANES(int16));
  }
  /// total + the products, each times its group's scale. group: the run's first.
  WICK_HD L add_to(L total, const int16* x, const float* scales, int group) const {
    constexpr int kParts = kGroup<F> == kRun ? kRunParts : kRunParts / 2;  // of a group
#if defined(__AVX512F__)
    if constexpr (kParts == 0) {  // a vector of two groups
      const Ints sums = add_pairs(quants[0], hn::LoadU(I16(), x), hn::Zero(I32()));
      const __m512i lanes = _mm512_load_si512(kHalves.lanes[group / 2]);
      const __m512 scale = _mm512_maskz_permutexvar_ps(0xffff, lanes, _mm512_loadu_ps(scales));
      return fma(to_floats(sums), L(hn::Vec<hn::ScalableTag<float>>{scale}), total);
    }
#endif
    if constexpr (kParts > 0) {
#pragma GCC unroll 2
      for (int g = 0; g < kRunParts / kParts; g++) {
        Ints sums = hn::Zero(I32());
#pragma GCC unroll 4
        for (int i = g * kParts; i < (g + 1) * kParts; i++)
          sums = add_pairs(quants[i], hn::LoadU(I16(), x + i * HWY_LANES(int16)), sums);
        total = fma(to_floats(sums), L(scales[group + g]), total);
      }
    }
    return total;
  }
};

/// Calls use(number, run) for every run of a block.
template <class F, int run = 0, class Use>
WICK_HD void each_run(const uint8* block, Use use) {
  if constexpr (run * kRun < kBlockElements<F>) {
    Run<F> quants;
    quants.template load<run>(block);
    use(run, quants);
    each_run<F, run + 1>(block, use);
  }
}

/// The lanes of a sum of a row of weights by each row of x.
template <int xs>
using RowSums = L[xs];

/// Row n of the weights by all of x's, which are xs at most; one row at a time, as in linear.cpp.
template <class F, int xs>
WICK_HD void dots(const LinearTile& t, int64 n, RowSums<xs>& sums) {
  using S = Scales<F>;
  constexpr int kBlockRuns = kBlockElements<F> / kRun, kRunGroups = kRun / kGroup<F>;
  constexpr bool kAddsOffsets = F::kHasOffset || F::kBias != 0;
  constexpr int kUnitBytes = kUnitBlocks<F> * kBlockBytes<F>;
  const uint8* w = static_cast<const uint8*>(t.w) + n * t.w_n;
  const char* x[xs];
  for (int m = 0; m < xs; m++) x[m] = t.x + smaller(m, t.m - 1) * t.x_m;
  L total[xs][2];
  typename S::Vector offsets[xs];
#pragma GCC unroll 8
  for (int m = 0; m < xs; m++) {
    total[m][0] = total[m][1] = L(0.0f);
    offsets[m] = hn::Zero(typename S::Tag());
  }
  alignas(64) float scales[xs][kUnitGroups<F>];
  const int64 blocks = t.k / kBlockElements<F>;
  for (int64 unit = 0; unit * kUnitBlocks<F> < blocks; unit++) {
    const int count = int(smaller(blocks - unit * kUnitBlocks<F>, kUnitBlocks<F>));
    fetch_ahead<kUnitBytes>(w);
    S of;
    of.read(w, count);
#pragma GCC unroll 8
    for (int m = 0; m < xs; m++) {
      const float* const steps = steps_of<F>(x[m], t.k, unit);
#pragma GCC unroll 4
      for (int i = 0; i < S::kParts; i++) {
        const typename S::Tag tag;
        hn::StoreU(hn::Mul(of.scale[i], hn::LoadU(tag, steps + i * S::kLanes)), tag,
                   scales[m] + i * S::kLanes);
        const auto sums = hn::LoadU(tag, steps + kUnitGroups<F> + i * S::kLanes);
        if constexpr (kAddsOffsets)
          offsets[m] = hn::MulAdd(F::kHasOffset ? of.offset[i] : of.scale[i], sums, offsets[m]);
      }
    }
    for (int b = 0; b < count; b++, w += kBlockBytes<F>)
      each_run<F>(
          w, [&](int run, const Run<F>& quants) __attribute__((always_inline)) {
            const int at = b * kBlockRuns + run;
#pragma GCC unroll 8
            for (int m = 0; m < xs; m++)
              total[m][run % 2] =
                  quants.add_to(total[m][run % 2], shorts_of(x[m]) + unit * kUnit + at * kRun,
                                scales[m], at * kRunGroups);
          });
  }
#pragma GCC unroll 8
  for (int m = 0; m < xs; m++) {
    sums[m] = total[m][0] + total[m][1];
    if constexpr (kAddsOffsets) {
      typename S::Vector sum = offsets[m];
      if constexpr (!F::kHasOffset)
        sum = hn::Mul(sum, hn::Set(typename S::Tag(), float(-F::kBias)));
      if constexpr (S::kLanes == kCount)
        sums[m] = sums[m] + L(sum);
      else
        sums[m] = sums[m] + L(hn::ZeroExtendVector(hn::ScalableTag<float>(), sum));
    }
  }
}

/// All rows of the weights. add(n, sums) adds up row n.
template <int xs, class Add>
WICK_HD void each_row(const LinearTile& t, Add add) {
  constexpr int kRows = 4;  // whose lanes are added up at once
  for (int64 n = 0; n < t.n; n += kRows) {
    L lanes[xs][kRows];
    const int64 rows = smaller(kRows, t.n - n);
    for (int r = 0; r < kRows; r++) {
      RowSums<xs> sums;
      if (r < rows) {
        add(n + r, sums);
#pragma GCC unroll 8
        for (int m = 0; m < xs; m++) lanes[m][r] = sums[m];
      } else {
        for (int m = 0; m < xs; m++) lanes[m][r] = L(0.0f);
      }
    }
    for (int m = 0; m < smaller(xs, t.m); m++) {
      alignas(16) float y[kRows];
      sum_across_four(lanes[m], y);
      memcpy(t.y + m * t.y_m + n, y, size_t(rows) * sizeof(float));
    }
  }
}

template <class F, int xs>
void all_dots(const LinearTile& t) {
  each_row<xs>(
      t, [&](int64 n, RowSums<xs> & sums)
             __attribute__((always_inline)) { dots<F, xs>(t, n, sums); });
}
template <class F>
void few(const LinearTile& t) {
  if (t.m == 1) return all_dots<F, 1>(t);
  if (t.m == 2) return all_dots<F, 2>(t);
  if (t.m <= 4) return all_dots<F, 4>(t);
  return all_dots<F, 8>(t);
}

#if defined(__AVX512F__)
// ---- few rows of x, in bytes

template <int... step, class Use>
WICK_HD void each_step(std::integer_sequence<int, step...>, Use use) {
  (use.template operator()<step>(), ...);
}

/// Rows n, n + apart ... of the weights, which share loads of x, by all of x's, which are xs at
/// most, packed as bytes.
template <class F, int rows, int xs>
WICK_HD void byte_dots(const LinearTile& t, int64 n, int64 apart, L (&sums)[xs][rows]) {
  using Order = ByteOrder<F>;
  // f16 scales of small blocks are read for the lanes of a step, others for a unit.
  constexpr bool kByLanes = kBlockElements<F> == kRun && !kSame<F, MXFP4>;
  constexpr bool kAddsOffsets = !kCorrects<F>;
  constexpr int kUnitBytes = kUnitBlocks<F> * kBlockBytes<F>;
  const char* x[xs];
  for (int m = 0; m < xs; m++) x[m] = t.x + smaller(m, t.m - 1) * t.x_m;
  __m512 total[rows][xs], offsets[rows][xs];
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
    for (int m = 0; m < xs; m++) total[r][m] = offsets[r][m] = _mm512_setzero_ps();
  const int64 blocks = t.k / kBlockElements<F>;
  const uint8* next = static_cast<const uint8*>(t.w) + n * t.w_n;
  alignas(64) uint8 padded[rows][kUnitBytes];
  for (int64 unit = 0; unit * kUnitBlocks<F> < blocks; unit++, next += kUnitBytes) {
    const uint8* w = next;
    int64 stride = apart * t.w_n;  // of the rows
    const int64 ahead = rows == 1 ? 2048 : distance_in_quarter(n, unit * kUnitBytes, t.n, t.w_n);
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) fetch_ahead<kUnitBytes>(w + r * stride, ahead);
    if (const int64 left = blocks - unit * kUnitBlocks<F>; left < kUnitBlocks<F>) {
      memset(padded, 0, sizeof padded);
      for (int r = 0; r < rows; r++)
        memcpy(padded[r], w + r * stride, size_t(left * kBlockBytes<F>));
      w = padded[0], stride = kUnitBytes;
    }
    [[maybe_unused]] __m512 scales[rows][xs];
    if constexpr (!kByLanes) {
#pragma GCC unroll 8
      for (int r = 0; r < rows; r++) {
        UnitScales<F> of;
        of.read(w + r * stride);
#pragma GCC unroll 8
        for (int m = 0; m < xs; m++)
          scales[r][m] = of.times(steps_of<F>(x[m], t.k, unit), offsets[r][m]);
      }
    }
    each_step(
        std::make_integer_sequence<int, Order::kSteps>(), [&]<int s>() __attribute__((
                                                              always_inline)) {
          StepQuants<F> quants[rows];
          [[maybe_unused]] __m512 lane_scale[rows], lane_offset[rows];
#pragma GCC unroll 8
          for (int r = 0; r < rows; r++) {
            const uint8* const of_row = w + r * stride;
            __m512i head = _mm512_setzero_si512();
            if constexpr (kByLanes) {
              head = load_64(of_row + s * kUnitBytes / Order::kSteps);
              asm("" : "+v"(head));  // one load: most cross a cache line
            }
            quants[r].template load<s>(of_row, head);
            if constexpr (kByLanes) lane_scale[r] = lanes_of_field<F, 0, s>(of_row, head);
            if constexpr (kByLanes && kAddsOffsets)
              lane_offset[r] = lanes_of_field<F, 2, s>(of_row, head);
          }
          const __m512i groups = _mm512_load_si512(kLaneGroups<F>.of[s]);
#pragma GCC unroll 8
          for (int m = 0; m < xs; m++) {
            // Low bytes have sums of their own if these begin with the corrections.
            __m512i high[rows], low[rows];
#pragma GCC unroll 8
            for (int r = 0; r < rows; r++) {
              high[r] = _mm512_setzero_si512();
              if constexpr (kCorrects<F>)
                low[r] = _mm512_loadu_si512(corrections_of<F>(x[m], t.k, unit) + s * 16);
            }
            const auto* const bytes =
                reinterpret_cast<const uint8*>(bytes_of(x[m], unit)) + s * 64 * Order::kParts;
            const auto add_to = [&](__m512i(&sums)[rows], const uint8* from)
                __attribute__((always_inline)) {
#pragma GCC unroll 2
              for (int part = 0; part < Order::kParts; part++) {
                const __m512i of_part = load_64(from + part * 64);
#pragma GCC unroll 8
                for (int r = 0; r < rows; r++)
                  sums[r] = add_fours(quants[r].of[part], of_part, sums[r]);
              }
            };
            add_to(high, bytes);
            if constexpr (kCorrects<F>) add_to(low, bytes + kUnit);
#pragma GCC unroll 8
            for (int r = 0; r < rows; r++) {
              high[r] = _mm512_maskz_slli_epi32(0xffff, high[r], 8);
              if constexpr (kCorrects<F>) high[r] = _mm512_add_epi32(high[r], low[r]);
            }
            if constexpr (!kCorrects<F>) add_to(high, bytes + kUnit);
            [[maybe_unused]] __m512 of_steps, of_sums;
            if constexpr (kByLanes) {
              const float* const steps = steps_of<F>(x[m], t.k, unit);
              of_steps =
                  _mm512_maskz_permutexvar_ps(0xffff, groups, _mm512_maskz_loadu_ps(0x00ff, steps));
              if constexpr (kAddsOffsets)
                of_sums = _mm512_maskz_permutexvar_ps(
                    0xffff, groups, _mm512_maskz_loadu_ps(0x00ff, steps + kUnitGroups<F>));
            }
#pragma GCC unroll 8
            for (int r = 0; r < rows; r++) {
              __m512 scale;
              if constexpr (kByLanes) {
                scale = _mm512_mul_ps(lane_scale[r], of_steps);
                if constexpr (kAddsOffsets)
                  offsets[r][m] = _mm512_fmadd_ps(lane_offset[r], of_sums, offsets[r][m]);
              } else {
                scale = _mm512_maskz_permutexvar_ps(0xffff, groups, scales[r][m]);
              }
              total[r][m] =
                  _mm512_fmadd_ps(_mm512_maskz_cvtepi32_ps(0xffff, high[r]), scale, total[r][m]);
            }
          }
        });
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
    for (int m = 0; m < xs; m++) {
      __m512 all = total[r][m];
      if constexpr (!kByLanes)
        all = _mm512_add_ps(all, UnitScales<F>::of_sum(offsets[r][m]));
      else if constexpr (kAddsOffsets)  // a group's offset is in each of its four lanes
        all = _mm512_fmadd_ps(offsets[r][m], _mm512_set1_ps(0.25f), all);
      sums[m][r] = L(hn::Vec<hn::ScalableTag<float>>{all});
    }
}

template <class F>
struct ByteDots {
  template <int rows, int xs>
  static WICK_HD void add(const LinearTile& t, int64 n, int64 apart, L (&sums)[xs][rows]) {
    byte_dots<F, rows, xs>(t, n, apart, sums);
  }
};
#endif

#if defined(__AVX2__) && !defined(__AVX512F__)
template <class F>
struct WordDots {
  template <int rows, int xs>
  static WICK_HD void add(const LinearTile& t, int64 n, int64 apart, L (&sums)[xs][rows]) {
    if constexpr (kHasPairs<F>)
      pair_dots<F, rows, xs>(t, n, apart, sums);
    else
      word_dots<F, rows, xs>(t, n, apart, sums);
  }
};
#endif

// ---- few rows of x, by Dots, which adds up rows of the weights

template <class Dots, int xs>
void each_row_by(const LinearTile& t) {
  each_row<xs>(
      t, [&](int64 n, RowSums<xs> & sums) __attribute__((always_inline)) {
        L of_row[xs][1];
        Dots::template add<1, xs>(t, n, 0, of_row);
        for (int m = 0; m < xs; m++) sums[m] = of_row[m][0];
      });
}
/// One row of x. Rows of each quarter of the weights go together: they share loads of x, and the
/// processor's prefetch follows four places that are apart as well as one.
template <class Dots>
void quarters_by(const LinearTile& t) {
  constexpr int kRows = 4;
  const int64 quarter = t.n / kRows;
  for (int64 n = 0; n < quarter; n++) {
    L lanes[1][kRows];
    Dots::template add<kRows, 1>(t, n, quarter, lanes);
    alignas(16) float y[kRows];
    sum_across_four(lanes[0], y);
    for (int r = 0; r < kRows; r++) t.y[n + r * quarter] = y[r];
  }
  LinearTile rest = t;
  rest.w = static_cast<const uint8*>(t.w) + quarter * kRows * t.w_n;
  rest.y = t.y + quarter * kRows;
  rest.n = t.n % kRows;
  each_row_by<Dots, 1>(rest);
}
template <class Dots>
void few_by(const LinearTile& t) {
  if (t.m == 1) return quarters_by<Dots>(t);
  if (t.m == 2) return each_row_by<Dots, 2>(t);
  if (t.m <= 4) return each_row_by<Dots, 4>(t);
  return each_row_by<Dots, 8>(t);
}

// ---- many rows of x

/// Weights of kTileN rows: a vector's lanes hold a row each, and a lane a pair of its neighbours.
struct Panel {
  alignas(64) int32 pairs[kTileN / kCount][kTileK / 2][kCount];
  alignas(64) float scales[kTileK / 16][kTileN], offsets[kTileK / 16][kTileN];
};
[[maybe_unused]] int64 buffer_bytes(int64) { return sizeof(Panel); }

/// Unit by unit, kCount rows from n on, the last of which repeat the weights' last.
template <class F>
void decode(const LinearTile& t, int64 n, int64 k, int64 depth, Panel& panel) {
  constexpr int kGroups = kUnitGroups<F>, kBlockRuns = kBlockElements<F> / kRun;
  Stage<int32, kUnit / 2> stage;
  for (int64 e = 0; e < depth; e += kUnit) {
    const int64 unit = smaller(kUnit, depth - e);
    const int count = int(unit) / kBlockElements<F>;
    for (int r = 0; r < kCount; r++) {
      const uint8* const block = static_cast<const uint8*>(t.w) + smaller(n + r, t.n - 1) * t.w_n +
                                 (k + e) / kBlockElements<F> * kBlockBytes<F>;
      Scales<F> of;
      of.read(block, count);
      alignas(64) float scales[kGroups], offsets[kGroups];
      for (int i = 0; i < of.kParts; i++) {
        hn::StoreU(of.scale[i], typename Scales<F>::Tag(), scales + i * of.kLanes);
        if constexpr (F::kHasOffset)
          hn::StoreU(of.offset[i], typename Scales<F>::Tag(), offsets + i * of.kLanes);
      }
      for (int g = 0; g < unit / kGroup<F>; g++) {
        panel.scales[e / kGroup<F> + g][n + r] = scales[g];
        if constexpr (F::kHasOffset) panel.offsets[e / kGroup<F> + g][n + r] = offsets[g];
      }
      for (int b = 0; b < count; b++)
        each_run<F>(
            block + b * kBlockBytes<F>, [&](int run,
                                            const Run<F>& quants) __attribute__((always_inline)) {
              alignas(64) int16 row[kRun];
              for (int i = 0; i < kRunParts; i++)
                hn::StoreU(hn::Sub(quants.quants[i], hn::Set(I16(), F::kBias)), I16(),
                           row + i * HWY_LANES(int16));
              stage.set_row(r, (b * kBlockRuns + run) * kRun / 2, kRun / 2, row);
            });
    }
    stage.transpose(unit / 2, panel.pairs[n / kCount][e / 2]);
  }
}

#if defined(__AVX512F__)
/// add_pairs in one instruction, which x86-64-v4 does not have: hence the assembly.
WICK_HD Ints add_pairs_vnni(Shorts a, Shorts b, Ints sum) {
  asm("vpdpwssd %2, %1, %0" : "+v"(sum.raw) : "v"(a.raw), "v"(b.raw));
  return sum;
}
#endif

/// Where the products of a tile's weights and some rows of x are.
struct Products {
  const Panel& panel;
  int64 n, depth;      // the first column in the panel; elements
  const char* x;       // the first row
  int64 x_m, k;        // its bytes; where in it the panel begins
  const float* steps;  // of the first row there
  float* y;
  int64 y_m;
};

/// y[m][n ...] += of xs rows of x and kColumns vectors of rows of weights.
template <int group, bool has_offset, int xs, auto add>
WICK_HD void add_products(const Products& p) {
  constexpr int kGroups = kUnit / group;
  const int32* const w = p.panel.pairs[p.n / kCount][0];
  const int16* x[xs];
  const float* steps[xs];
#pragma GCC unroll 8
  for (int i = 0; i < xs; i++) {
    x[i] = shorts_of(p.x + i * p.x_m) + p.k;
    steps[i] = reinterpret_cast<const float*>(reinterpret_cast<const char*>(p.steps) + i * p.x_m);
  }
  L sum[xs][kColumns];
#pragma GCC unroll 8
  for (int i = 0; i < xs; i++)
#pragma GCC unroll 2
    for (int c = 0; c < kColumns; c++) sum[i][c] = L::load(p.y + i * p.y_m + c * kCount);
  for (int64 g = 0; g < p.depth / group; g++) {
    Ints dots[xs][kColumns];
#pragma GCC unroll 8
    for (int i = 0; i < xs; i++)
#pragma GCC unroll 2
      for (int c = 0; c < kColumns; c++) dots[i][c] = hn::Zero(I32());
    const int32* const at = w + g * group / 2 * kCount;
    for (int first = 0; first < group / 2; first += kUnrolled) {
#pragma GCC unroll 4
      for (int j = first; j < first + kUnrolled; j++) {
        Shorts row[kColumns];
#pragma GCC unroll 2
        for (int c = 0; c < kColumns; c++)
          row[c] = hn::BitCast(I16(), hn::Load(I32(), at + (c * kTileK / 2 + j) * kCount));
#pragma GCC unroll 8
        for (int i = 0; i < xs; i++) {
          int32 pair;
          memcpy(&pair, x[i] + g * group + 2 * j, sizeof pair);
          const Shorts v = hn::BitCast(I16(), hn::Set(I32(), pair));
#pragma GCC unroll 2
          for (int c = 0; c < kColumns; c++) dots[i][c] = add(row[c], v, dots[i][c]);
        }
      }
    }
    const int64 step = g / kGroups * 2 * kGroups + g % kGroups;
#pragma GCC unroll 2
    for (int c = 0; c < kColumns; c++) {
      const L scale = L::load(p.panel.scales[g] + p.n + c * kCount);
#pragma GCC unroll 8
      for (int i = 0; i < xs; i++)
        sum[i][c] = fma(to_floats(dots[i][c]), scale * L(steps[i][step]), sum[i][c]);
      if constexpr (has_offset) {
        const L offset = L::load(p.panel.offsets[g] + p.n + c * kCount);
#pragma GCC unroll 8
        for (int i = 0; i < xs; i++)
          sum[i][c] = fma(offset, L(steps[i][step + kGroups]), sum[i][c]);
      }
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < xs; i++)
#pragma GCC unroll 2
    for (int c = 0; c < kColumns; c++) sum[i][c].store(p.y + i * p.y_m + c * kCount);
}
using AddProducts = void (*)(const Products&);
template <int group, bool has_offset, int xs>
void add_products(const Products& p) {
  add_products<group, has_offset, xs, add_pairs>(p);
}
#if defined(__AVX512F__)
template <int group, bool has_offset, int xs>
void add_products_vnni(const Products& p) {
  add_products<group, has_offset, xs, add_pairs_vnni>(p);
}
#endif
/// The functions for 1, 2 ... kRowsX rows of x.
struct EachAddProducts {
  AddProducts of[kRowsX];
};
template <int group, bool has_offset>
const EachAddProducts& each_add_products() {
  static const EachAddProducts chosen = []<int... i>(std::integer_sequence<int, i...>) {
#if defined(__AVX512F__)
    if (__builtin_cpu_supports("avx512vnni"))
      return EachAddProducts{{add_products_vnni<group, has_offset, i + 1>...}};
#endif
    return EachAddProducts{{add_products<group, has_offset, i + 1>...}};
  }
  (std::make_integer_sequence<int, kRowsX>());
  return chosen;
}

template <class F>
void many(const LinearTile& t) {
  Panel& panel = *static_cast<Panel*>(t.buffer);
  constexpr int kStep = kColumns * kCount;
  const EachAddProducts& add_products = each_add_products<kGroup<F>, F::kHasOffset>();
  for (int64 m = 0; m < t.m; m++) memset(t.y + m * t.y_m, 0, size_t(t.n) * sizeof(float));
  for (int64 k = 0; k < t.k; k += kTileK) {
    const int64 depth = smaller(kTileK, t.k - k);
    for (int64 n = 0; n < t.n; n += kCount) decode<F>(t, n, k, depth, panel);
    for (int64 m = 0; m < t.m; m += kRowsX) {
      const int64 rows = smaller(kRowsX, t.m - m);
      const char* const x = t.x + m * t.x_m;
      for (int64 n = 0; n < t.n; n += kStep) {
        float* const y = t.y + m * t.y_m + n;
        Products p{panel, n, depth, x, t.x_m, k, steps_of<F>(x, t.k, k / kUnit), y, t.y_m};
        if (n + kStep <= t.n) {
          add_products.of[rows - 1](p);
          continue;
        }
        alignas(64) float part[kRowsX][kStep] = {};
        const size_t bytes = size_t(t.n - n) * sizeof(float);
        for (int64 i = 0; i < rows; i++) memcpy(part[i], y + i * t.y_m, bytes);
        p.y = part[0], p.y_m = kStep;
        add_products.of[rows - 1](p);
        for (int64 i = 0; i < rows; i++) memcpy(y + i * t.y_m, part[i], bytes);
      }
    }
  }
}

template <class F>
constexpr LinearParts kParts = {.x_bytes = x_bytes<F>,
                                .pack_x = pack_x<F, Rows::kMany>,
                                .pack_few_x = pack_x<F, Rows::kMany>,
                                .pack_one_x = pack_x<F, Rows::kMany>,
                                .few_m = kFewM,
                                .tile_m = kTileM,
                                .tile_n = kTileN,
                                .buffer_bytes = buffer_bytes,
                                .few = few<F>,
                                .many = many<F>};
/// The parts whose `few` adds up products by Dots.
template <class F, class Dots>
constexpr LinearParts kPartsBy = {.x_bytes = x_bytes<F>,
                                  .pack_x = pack_x<F, Rows::kMany>,
                                  .pack_few_x = pack_x<F, Rows::kFew>,
                                  .pack_one_x = pack_x<F, Rows::kOne>,
                                  .few_m = kFewM,
                                  .tile_m = kTileM,
                                  .tile_n = kTileN,
                                  .buffer_bytes = buffer_bytes,
                                  .few = few_by<Dots>,
                                  .many = many<F>};
template <class T, const LinearParts& parts>
constexpr LinearData kData = {parts, reading<T, float>(), writing<T, float>(), activate};

/// The functions for x of T and weights of F on this machine.
template <class T, class F>
const LinearData& data_for() {
#if defined(__AVX512F__)
  if constexpr (kHasBytes<F>)
    if (__builtin_cpu_supports("avx512vnni")) return kData<T, kPartsBy<F, ByteDots<F>>>;
#elif defined(__AVX2__)
  if constexpr (kHasWords<F>)
    return kData<T, kPartsBy<F, WordDots<F>>>;
  else
#endif
  return kData<T, kParts<F>>;
}

}  // namespace

// Only machines from before 2014 run the baseline: linear.cpp serves them, which halves this file's
// part in the time of a build.
template <>
void add_family<"linear_int16">([[maybe_unused]] Table& table) {
#if defined(__AVX2__)
  for_each(TypeList<bf16, f16, float>{}, [&]<class T>() {
    for_each(BlockTypes{}, [&]<class F>() {
      const LinearData& data = data_for<T, F>();
      table.add(kLinear, kDTypeOf<T>, F::kDType,
                {.name = "linear_int16",
                 .accepts = accepts_linear,
                 .scratch_bytes = linear_scratch,
                 .run = run_linear,
                 .data = &data,
                 .flags = kKernelRoundsInputs});
      const auto add_group = [&](const Op& op, const char* name) {
        table.add(op, kDTypeOf<T>, F::kDType,
                  {.name = name,
                   .accepts = accepts_linear_group,
                   .scratch_bytes = linear_group_scratch,
                   .run = run_linear_group,
                   .data = &data,
                   .flags = kKernelRoundsInputs});
      };
      add_group(kLinearMixedEpilogue, "linear_mixed_epilogue_int16");
      add_group(kLinearParts, "linear_parts_int16");
      add_group(kGatedLinear, "gated_linear_int16");
      table.add(kExpertLinear, kDTypeOf<T>, F::kDType,
                {.name = "expert_linear_int16",
                 .accepts = accepts_expert_linear,
                 .scratch_bytes = expert_linear_scratch,
                 .run = run_expert_linear,
                 .data = &data,
                 .flags = kKernelRoundsInputs});
    });
  });
#endif
}

}  // namespace wick::cpu::WICK_ISA
