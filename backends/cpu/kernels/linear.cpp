// Products with weights of another dtype than x, and with weights that each row selects.
#include "dispatch/linear.h"

#include "kernels/activation.h"
#include "kernels/fold.h"
#include "kernels/kernels.h"
#include "kernels/panel.h"
#include "kernels/weights.h"
#include "scalar/round_up.h"
#include "wick/abi/ops/matmul.h"

namespace wick::cpu::WICK_ISA {
namespace {

// Rows of x that share a decoded run in registers. The baseline, whose registers are a few and
// short, has less code.
#if defined(__AVX2__)
constexpr int64 kFewM = 8;
#else
constexpr int64 kFewM = 4;
#endif
constexpr int64 kTileM = 512, kTileN = 32;  // of y
constexpr int64 kChain = 64;  // products added up one after the other, which bounds their error
constexpr int64 kTileK =
    256;  // decoded weights of a tile: 32 KiB of an L1 cache; x beside them: 512 KiB of L2

// Vectors of columns of y and rows of x whose products are added up at once: 24 of 32 registers on
// AVX-512, 12 of 16 on AVX2; the baseline, which has no fused multiplication, wants another for the
// product.
constexpr int kColumns = 2;
#if defined(__AVX512F__)
constexpr int kRowsX = 12;
#elif defined(__AVX2__)
constexpr int kRowsX = 6;
#else
constexpr int kRowsX = 4;
#endif

using L = Lanes<float>;

/// The last run of a row of floats, zeros beyond k.
template <class W>
WICK_HD void load_last(const uint8* block, int64 count, Run& w) {
  constexpr int64 size = W::kBytes / W::kElements;
  alignas(64) uint8 padded[W::kBytes] = {};
  memcpy(padded, block, size_t(count * size));
  W::template load_run<0>(padded, 0, {}, w);
}

WICK_HD const float* row_of_x(const LinearTile& t, int64 m) {
  return reinterpret_cast<const float*>(t.x + m * t.x_m);
}

/// Row n of the weights by all of x's, which are xs at most. One row at a time is a stream that the
/// processor fetches by itself; several side by side reach half of the bandwidth.
template <class W, int xs>
void dots(const LinearTile& t, int64 n) {
  const uint8* const w = static_cast<const uint8*>(t.w) + n * t.w_n;
  const float* x[xs];
  for (int m = 0; m < xs; m++) x[m] = row_of_x(t, smaller(m, t.m - 1));
  L sum[xs][2], total[xs];
#pragma GCC unroll 8
  for (int m = 0; m < xs; m++) total[m] = sum[m][0] = sum[m][1] = L(0.0f);
  const auto add = [&](int64 first, const Run& run) __attribute__((always_inline)) {
#pragma GCC unroll 8
    for (int m = 0; m < xs; m++)
#pragma GCC unroll 8
      for (int i = 0; i < kRunLanes; i++)
        sum[m][i % 2] = fma(run[i], L::load(x[m] + first + i * L::kCount), sum[m][i % 2]);
  };
  const auto flush = [&]() __attribute__((always_inline)) {
#pragma GCC unroll 8
    for (int m = 0; m < xs; m++) {
      total[m] = total[m] + (sum[m][0] + sum[m][1]);
      sum[m][0] = sum[m][1] = L(0.0f);
    }
  };
  const int64 blocks = t.k / W::kElements;
  typename W::Scales scales;
  for (int64 b = 0; b < blocks;) {
    const int64 begin = b, end = smaller(blocks, b + W::kMaxBlocks);
    W::read_scales(w + b * W::kBytes, end - b, scales);
    for (; b < end; b++) {
      fetch_ahead<W::kBytes>(w + b * W::kBytes);
      each_run<W>(
          w + b * W::kBytes, b - begin,
          scales, [&](int64 first, const Run& run) __attribute__((always_inline)) {
            add(b * W::kElements + first, run);
          });
    }
    flush();
  }
  if (const int64 done = blocks * W::kElements; W::kElements == kRun && done < t.k) {  // of floats
    Run run;
    load_last<W>(w + blocks * W::kBytes, t.k - done, run);
    add(done, run);
    flush();
  }
#pragma GCC unroll 8
  for (int m = 0; m < xs; m++) t.y[smaller(m, t.m - 1) * t.y_m + n] = sum_across(total[m]);
}

template <class W, int xs>
void all_dots(const LinearTile& t) {
  for (int64 n = 0; n < t.n; n++) dots<W, xs>(t, n);
}

template <class W>
void few(const LinearTile& t) {
  if (t.m == 1) return all_dots<W, 1>(t);
#if defined(__AVX2__)
  if (t.m == 2) return all_dots<W, 2>(t);
  if (t.m > 4) return all_dots<W, 8>(t);
#endif
  return all_dots<W, 4>(t);
}

constexpr int kCount = L::kCount;

/// Decoded weights of kTileN rows, a row in each of a vector's lanes.
struct Panel {
  alignas(64) float weights[kTileN / kCount][kTileK][kCount];
};
static_assert(kTileN % (kColumns * kCount) == 0);

int64 x_bytes(int64 k) { return round_up(k, kRun) * int64(sizeof(float)); }
int64 buffer_bytes(int64) { return sizeof(Panel); }

/// n elements of a row of weights from element k on, and zeros up to a whole run: f(first, run).
template <class W, class F>
WICK_HD void each_run_of_row(const uint8* row, int64 k, int64 n, F f) {
  const uint8* block = row + k / W::kElements * W::kBytes;
  typename W::Scales scales;
  int64 done = 0;
  while (n - done >= W::kElements) {
    const int64 count = smaller((n - done) / W::kElements, W::kMaxBlocks);
    W::read_scales(block, count, scales);
    for (int64 b = 0; b < count; b++, block += W::kBytes, done += W::kElements)
      each_run<W>(
          block, b, scales, [&](int64 first, const Run& run) __attribute__((always_inline)) {
            f(done + first, run);
          });
  }
  if (done < n) {
    Run run;
    load_last<W>(block, n - done, run);
    f(done, run);
  }
}

/// kCount rows from n on, the last of which repeat the weights' last.
template <class W>
void decode(const LinearTile& t, int64 n, int64 k, int64 depth, Panel& panel) {
  Stage<float, kTileK> stage;
  for (int r = 0; r < kCount; r++) {
    const uint8* const row = static_cast<const uint8*>(t.w) + smaller(n + r, t.n - 1) * t.w_n;
    each_run_of_row<W>(
        row, k, depth, [&](int64 first, const Run& run) __attribute__((always_inline)) {
          alignas(64) float values[kRun];
          for (int i = 0; i < kRunLanes; i++) run[i].store(values + i * kCount);
          stage.set_row(r, int(first), kRun, values);
        });
  }
  stage.transpose(round_up(depth, 4), panel.weights[n / kCount][0]);
}

/// y[m][n ...] += of xs rows of x from k on and kColumns vectors of rows of weights.
template <int xs>
void add_products(const Panel& panel, int64 n, const LinearTile& t, int64 m, int64 k, int64 depth,
                  float* y, int64 y_m) {
  const float* const w = panel.weights[n / kCount][0];
  const float* x[xs];
#pragma GCC unroll 16
  for (int i = 0; i < xs; i++) x[i] = row_of_x(t, m + i) + k;
  for (int64 begin = 0; begin < depth; begin += kChain) {
    L sum[xs][kColumns];
#pragma GCC unroll 16
    for (int i = 0; i < xs; i++)
#pragma GCC unroll 2
      for (int c = 0; c < kColumns; c++) sum[i][c] = L(0.0f);
    for (int64 e = begin; e < smaller(depth, begin + kChain); e++) {
      L row[kColumns];
#pragma GCC unroll 2
      for (int c = 0; c < kColumns; c++) row[c] = L::load(w + (c * kTileK + e) * kCount);
#pragma GCC unroll 16
      for (int i = 0; i < xs; i++) {
        const L v(x[i][e]);
#pragma GCC unroll 2
        for (int c = 0; c < kColumns; c++) sum[i][c] = fma(row[c], v, sum[i][c]);
      }
    }
#pragma GCC unroll 16
    for (int i = 0; i < xs; i++)
#pragma GCC unroll 2
      for (int c = 0; c < kColumns; c++) {
        float* const to = y + i * y_m + c * kCount;
        (L::load(to) + sum[i][c]).store(to);
      }
  }
}
template <int xs = 1>
WICK_HD void add_products_of(int64 rows, const Panel& panel, int64 n, const LinearTile& t, int64 m,
                             int64 k, int64 depth, float* y, int64 y_m) {
  if constexpr (xs < kRowsX) {
    if (rows > xs) return add_products_of<xs + 1>(rows, panel, n, t, m, k, depth, y, y_m);
  }
  add_products<xs>(panel, n, t, m, k, depth, y, y_m);
}

template <class W>
void many(const LinearTile& t) {
  Panel& panel = *static_cast<Panel*>(t.buffer);
  constexpr int kStep = kColumns * kCount;
  for (int64 m = 0; m < t.m; m++) memset(t.y + m * t.y_m, 0, size_t(t.n) * sizeof(float));
  for (int64 k = 0; k < t.k; k += kTileK) {
    const int64 depth = smaller(kTileK, t.k - k);
    for (int64 n = 0; n < t.n; n += kCount) decode<W>(t, n, k, depth, panel);
    for (int64 m = 0; m < t.m; m += kRowsX) {
      const int64 rows = smaller(kRowsX, t.m - m);
      for (int64 n = 0; n < t.n; n += kStep) {
        float* const y = t.y + m * t.y_m + n;
        if (n + kStep <= t.n) {
          add_products_of(rows, panel, n, t, m, k, depth, y, t.y_m);
          continue;
        }
        alignas(64) float part[kRowsX][kStep] = {};
        const size_t bytes = size_t(t.n - n) * sizeof(float);
        for (int64 i = 0; i < rows; i++) memcpy(part[i], y + i * t.y_m, bytes);
        add_products_of(rows, panel, n, t, m, k, depth, part[0], kStep);
        for (int64 i = 0; i < rows; i++) memcpy(y + i * t.y_m, part[i], bytes);
      }
    }
  }
}

template <class W>
constexpr LinearParts kParts = {.x_bytes = x_bytes,
                                .pack_x = nullptr,
                                .pack_few_x = nullptr,
                                .pack_one_x = nullptr,
                                .few_m = kFewM,
                                .tile_m = kTileM,
                                .tile_n = kTileN,
                                .buffer_bytes = buffer_bytes,
                                .few = few<W>,
                                .many = many<W>};
template <class T, class W>
constexpr LinearData kData = {kParts<W>, reading<T, float>(), writing<T, float>(), activate};

template <class T, class W>
void add(Table& table, DType weights) {
  if (weights != kDTypeOf<T>) {
    table.add(kLinear, kDTypeOf<T>, weights,
              {.accepts = accepts_linear,
               .scratch_bytes = linear_scratch,
               .run = run_linear,
               .data = &kData<T, W>});
    for (const Op* op : {&kLinearMixedEpilogue, &kLinearParts, &kGatedLinear})
      table.add(*op, kDTypeOf<T>, weights,
                {.accepts = accepts_linear_group,
                 .scratch_bytes = linear_group_scratch,
                 .run = run_linear_group,
                 .data = &kData<T, W>});
  }
  table.add(kExpertLinear, kDTypeOf<T>, weights,
            {.accepts = accepts_expert_linear,
             .scratch_bytes = expert_linear_scratch,
             .run = run_expert_linear,
             .data = &kData<T, W>});
}

}  // namespace

template <>
void add_family<"linear">(Table& table) {
  using Floats = TypeList<bf16, f16, float>;
  for_each(Floats{}, [&]<class T>() {
    for_each(Floats{}, [&]<class W>() { add<T, FloatWeights<W>>(table, kDTypeOf<W>); });
    for_each(BlockTypes{}, [&]<class F>() { add<T, BlockWeights<F>>(table, F::kDType); });
  });
}

}  // namespace wick::cpu::WICK_ISA
