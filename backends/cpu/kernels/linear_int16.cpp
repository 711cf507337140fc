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
#include "kernels/fold.h"
#include "kernels/kernels.h"
#include "kernels/panel.h"
#include "kernels/quants.h"
#include "scalar/activation_steps.h"
#include "scalar/round_up.h"
#include "wick/abi/ops/matmul.h"

namespace wick::cpu::WICK_ISA {
namespace {

using L = Lanes<float>;
using I16 = hn::ScalableTag<int16>;
using I32 = hn::ScalableTag<int32>;
using Shorts = hn::Vec<I16>;
using Ints = hn::Vec<I32>;

constexpr int kRun = blocks::kRun, kRunParts = kRun / HWY_LANES(int16);
constexpr int kCount = L::kCount;

// Scales are read by units of 256 weights: a block or 8.
constexpr int kUnit = 256;
/// Elements that share a scale here: a run at most.
template <class F>
constexpr int kGroup = F::kGroup < kRun ? F::kGroup : kRun;
template <class F>
constexpr int kUnitGroups = kUnit / kGroup<F>;  // 8 or 16
template <class F>
constexpr int kUnitBlocks = kUnit / kBlockElements<F>;

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
WICK_HD L to_floats(Ints x) { return hn::ConvertTo(hn::ScalableTag<float>(), x); }

// ---- x

// A row of x: padded integers, and for each unit the groups' steps, and their steps times the sums
// of the integers; zeros beyond k.

constexpr int64 kXAlign = 64;
constexpr int64 shorts_bytes(int64 k) { return round_up(k * int64(sizeof(int16)), kXAlign); }
template <class F>
int64 x_bytes(int64 k) {
  return shorts_bytes(k) + ceil_div(k, kUnit) * kUnitGroups<F> * 2 * int64(sizeof(float));
}
WICK_HD const int16* shorts_of(const char* row) { return reinterpret_cast<const int16*>(row); }
/// The steps of a unit; its sums follow.
template <class F>
WICK_HD const float* steps_of(const char* row, int64 k, int64 unit) {
  return reinterpret_cast<const float*>(row + shorts_bytes(k)) + unit * kUnitGroups<F> * 2;
}

/// LinearParts::pack_x.
template <class F>
bool pack_x(const float* x, int64 first, int64 n, int64 k, void* to_row) {
  constexpr int group = kGroup<F>, kParts = kRun / kCount, kGroupParts = group / kCount;
  char* const row = static_cast<char*>(to_row);
  int16* to = reinterpret_cast<int16*>(row) + first;
  const hn::Rebind<int16, I32> half;
  for (int64 e = 0; e < n; e += kRun, to += kRun) {
    L v[kParts], size(0.0f);
    Ints exponents = hn::Zero(I32());
    const Ints no_number = hn::Set(I32(), 0x7f800000);  // the exponent of infinities and NaN
    for (int i = 0; i < kParts; i++) {
      v[i] = L::load(x + e + i * kCount);
      size = larger(size, abs(v[i]));
      exponents = hn::Max(exponents, hn::And(hn::BitCast(I32(), v[i].v), no_number));
    }
    const float most = largest_across(size);
    if (!hn::AllTrue(I32(), hn::Lt(exponents, no_number))) return false;
    if (most > kMaxActivation || (most < kLeastActivation && most != 0)) return false;
    const L inverse(most == 0 ? 0 : kMaxSteps / most);
    const float step = most / kMaxSteps;
    float* const steps =
        const_cast<float*>(steps_of<F>(row, k, (first + e) / kUnit)) + (first + e) % kUnit / group;
    for (int g = 0; g < kRun / group; g++) {
      Ints sum = hn::Zero(I32());
      for (int i = g * kGroupParts; i < (g + 1) * kGroupParts; i++) {
        const Ints rounded = hn::NearestInt((v[i] * inverse).v);
        sum = hn::Add(sum, rounded);
        hn::StoreU(hn::DemoteTo(half, rounded), half, to + i * kCount);
      }
      steps[g] = step;
      steps[g + kUnitGroups<F>] = step * sum_across(to_floats(sum));
    }
#if defined(__AVX512F__)
    if constexpr (Quants<F, int16>::kReorders)
      hn::StoreU(Quants<F, int16>::from_order(hn::LoadU(I16(), to)), I16(), to);
#endif
  }
  if (first + n == k && k % kUnit != 0)
    for (int g = int(k % kUnit) / group; g < kUnitGroups<F>; g++)
      for (int i = 0; i < 2; i++)
        const_cast<float*>(steps_of<F>(row, k, k / kUnit))[g + i * kUnitGroups<F>] = 0;
  return true;
}

// ---- scales

WICK_HD uint32 word_at(const uint8* from) {
  uint32 word;
  memcpy(&word, from, sizeof word);
  return word;
}
WICK_HD uint16 half_at(const uint8* from) {
  uint16 half;
  memcpy(&half, from, sizeof half);
  return half;
}
WICK_HD float f16_at(const uint8* from) {
#if defined(__F16C__)
  return _cvtsh_ss(half_at(from));
#else
  return blocks::f16_at(from);
#endif
}
WICK_HD __m128i bytes_of(uint64 bytes) { return _mm_cvtsi64_si128((long long)bytes); }

/// The groups' scales, and their offsets if the format has them.
template <class F>
struct Scales {
  using Tag = hn::CappedTag<float, kUnitGroups<F>>;
  static constexpr int kLanes = HWY_MIN(kCount, kUnitGroups<F>), kParts = kUnitGroups<F> / kLanes;
  using Vector = hn::Vec<Tag>;
  Vector scale[kParts], offset[kParts];

  /// Reads the scales of a unit's `count` blocks.
  WICK_HD void read(const uint8* block, int count) {
    constexpr uint32 kTwo = 0x03030303, kFour = 0x0f0f0f0f, kSix = 0x3f3f3f3f;
    if constexpr (kSame<F, Q4_K> || kSame<F, Q5_K>) {
      const uint32 a = word_at(block + 4), b = word_at(block + 8), c = word_at(block + 12);
      const uint64 scales = (a & kSix) | uint64((c & kFour) | (a >> 6 & kTwo) << 4) << 32;
      const uint64 offsets = (b & kSix) | uint64((c >> 4 & kFour) | (b >> 6 & kTwo) << 4) << 32;
      set<uint8>(scale, bytes_of(scales), f16_at(block));
      set<uint8>(offset, bytes_of(offsets), -f16_at(block + 2));
    } else if constexpr (kSame<F, Q2_K>) {
      const __m128i both = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block));
      const __m128i four = _mm_set1_epi8(15);
      set<uint8>(scale, _mm_and_si128(both, four), f16_at(block + 80));
      set<uint8>(offset, _mm_and_si128(_mm_srli_epi16(both, 4), four), -f16_at(block + 82));
    } else if constexpr (kSame<F, Q6_K>) {
      set<int8>(scale, _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + 192)),
                f16_at(block + 208));
    } else if constexpr (kSame<F, Q3_K>) {
      const uint32 a = word_at(block + 96), b = word_at(block + 100), c = word_at(block + 104);
      const uint64 lower =
          (a & kFour) | (c & kTwo) << 4 | uint64((b & kFour) | (c >> 2 & kTwo) << 4) << 32;
      const uint64 upper = (a >> 4 & kFour) | (c >> 4 & kTwo) << 4 |
                           uint64((b >> 4 & kFour) | (c >> 6 & kTwo) << 4) << 32;
      const __m128i six = _mm_unpacklo_epi64(bytes_of(lower), bytes_of(upper));
      set<int8>(scale, _mm_sub_epi8(six, _mm_set1_epi8(32)), f16_at(block + 108));
#if defined(__F16C__)
    } else if constexpr (requires { F::kScaleBytes; }) {
      if (count == kUnitBlocks<F>) {
        set_halves(scale, block);
        if constexpr (F::kHasOffset) set_halves(offset, block + 2);
      } else {
        set_each(block, count);
      }
#endif
    } else {
      set_each(block, count);
    }
  }

 private:
  template <class Byte>
  static WICK_HD void set(Vector (&to)[kParts], __m128i bytes, float factor) {
    const hn::Rebind<Byte, Tag> narrow;
    const hn::Rebind<int32, Tag> i32;
    const hn::Full128<Byte> all;
    hn::Vec<decltype(all)> rest{bytes};
#pragma GCC unroll 4
    for (int i = 0; i < kParts; i++) {
      const hn::Vec<decltype(narrow)> part{rest.raw};
      to[i] = hn::Mul(hn::ConvertTo(Tag(), hn::PromoteTo(i32, part)), hn::Set(Tag(), factor));
      if constexpr (kParts > 1) rest = hn::ShiftRightBytes<kLanes % 16>(all, rest);
    }
  }
#if defined(__F16C__)
  /// f16 fields of 8 blocks.
  static WICK_HD void set_halves(Vector (&to)[kParts], const uint8* field) {
    static_assert(kParts == 1 && kLanes == 8);
    const auto at = [field](int b) { return short(half_at(field + b * kBlockBytes<F>)); };
    to[0] = Vector{
        _mm256_cvtph_ps(_mm_set_epi16(at(7), at(6), at(5), at(4), at(3), at(2), at(1), at(0)))};
  }
#endif
  WICK_HD void set_each(const uint8* block, int count) {
    constexpr int kGroups = kUnitGroups<F> / kUnitBlocks<F>;
    alignas(64) float scales[kUnitGroups<F>] = {}, offsets[kUnitGroups<F>] = {};
    for (int b = 0; b < count; b++)
#pragma GCC unroll 16
      for (int g = 0; g < kGroups; g++) {
        const BlockScale of = F::scale_of(block + b * kBlockBytes<F>, g * kGroup<F> / F::kGroup);
        scales[b * kGroups + g] = of.scale, offsets[b * kGroups + g] = of.offset;
      }
    for (int i = 0; i < kParts; i++) {
      scale[i] = hn::LoadU(Tag(), scales + i * kLanes);
      if constexpr (F::kHasOffset) offset[i] = hn::LoadU(Tag(), offsets + i * kLanes);
    }
  }
};

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

/// Row n of the weights by all of x's, which are xs at most; one row at a time, as in linear.cpp.
template <class F, int xs>
void dots(const LinearTile& t, int64 n) {
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
    float y = sum_across(total[m][0] + total[m][1]);
    if constexpr (kAddsOffsets) {
      const float sum = hn::GetLane(hn::SumOfLanes(typename S::Tag(), offsets[m]));
      y += F::kHasOffset ? sum : -F::kBias * sum;
    }
    t.y[smaller(m, t.m - 1) * t.y_m + n] = y;
  }
}

template <class F, int xs>
void all_dots(const LinearTile& t) {
  for (int64 n = 0; n < t.n; n++) dots<F, xs>(t, n);
}
template <class F>
void few(const LinearTile& t) {
  if (t.m == 1) return all_dots<F, 1>(t);
  if (t.m == 2) return all_dots<F, 2>(t);
  if (t.m <= 4) return all_dots<F, 4>(t);
  return all_dots<F, 8>(t);
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
                                .pack_x = pack_x<F>,
                                .few_m = kFewM,
                                .tile_m = kTileM,
                                .tile_n = kTileN,
                                .buffer_bytes = buffer_bytes,
                                .few = few<F>,
                                .many = many<F>};

}  // namespace

// Only machines from before 2014 run the baseline: linear.cpp serves them, which halves this file's
// part in the time of a build.
template <>
void add_family<"linear_int16">([[maybe_unused]] Table& table) {
#if defined(__AVX2__)
  for_each(TypeList<bf16, f16, float>{}, [&]<class T>() {
    for_each(BlockTypes{}, [&]<class F>() {
      static constexpr LinearData data = {kParts<F>, reading<T, float>(), writing<T, float>()};
      table.add(kLinear, kDTypeOf<T>, F::kDType,
                {.name = "linear_int16",
                 .accepts = accepts_linear,
                 .scratch_bytes = linear_scratch,
                 .run = run_linear,
                 .data = &data,
                 .flags = kKernelRoundsInputs});
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
