// Products with weights of another dtype than x.
#include "dispatch/linear.h"

#include "kernels/fold.h"
#include "kernels/kernels.h"
#include "kernels/weights.h"
#include "wick/abi/ops/matmul.h"

namespace wick::cpu::WICK_ISA {
namespace {

constexpr int64 kFewM = 8;                  // rows of x that share a decoded run in registers
constexpr int64 kTileM = 384, kTileN = 32;  // of y
constexpr int64 kTileK = 512;  // decoded weights of a tile: 64 KiB of an L2 cache; x: 12 KiB of L1
constexpr int64 kChain =
    32;  // runs that are added up before they join the sum: keeps the error small

// Rows of weights and of x whose products are added up at once: 24 of 32 registers on AVX-512, 12 of 16
// on AVX2; the baseline, which has no fused multiplication, wants another for the product.
#if defined(__AVX512F__)
constexpr int kRowsW = 4, kRowsX = 6;
#elif defined(__AVX2__)
constexpr int kRowsW = 2, kRowsX = 6;
#else
constexpr int kRowsW = 2, kRowsX = 4;
#endif

using L = Lanes<float>;

/// The last run of a row of floats, zeros beyond k.
template <class W>
WICK_HD void load_last(const uint8* block, int64 count, Run& w) {
  constexpr int64 size = W::kBytes / W::kElements;
  alignas(64) uint8 padded[W::kBytes] = {};
  memcpy(padded, block, size_t(count * size));
  W::template load<0>(padded, typename W::Scales(padded), w);
}

/// y[x_row][w_row] of xs rows of x and ws rows of weights.
template <class W, int ws, int xs>
void dots(const LinearTile& t, const uint8* w, const float* x, float* y) {
  L sum[ws][xs][2], total[ws][xs];
#pragma GCC unroll 8
  for (int r = 0; r < ws; r++)
#pragma GCC unroll 8
    for (int m = 0; m < xs; m++) total[r][m] = sum[r][m][0] = sum[r][m][1] = L(0.0f);
  const auto add = [&](int r, int64 first, const Run& run) __attribute__((always_inline)) {
#pragma GCC unroll 8
    for (int m = 0; m < xs; m++)
#pragma GCC unroll 8
      for (int i = 0; i < kRunLanes; i++)
        sum[r][m][i % 2] =
            fma(run[i], L::load(x + m * t.x_m + first + i * L::kCount), sum[r][m][i % 2]);
  };
  const auto flush = [&]() __attribute__((always_inline)) {
#pragma GCC unroll 8
    for (int r = 0; r < ws; r++)
#pragma GCC unroll 8
      for (int m = 0; m < xs; m++) {
        total[r][m] = total[r][m] + (sum[r][m][0] + sum[r][m][1]);
        sum[r][m][0] = sum[r][m][1] = L(0.0f);
      }
  };
  const int64 blocks = t.k / W::kElements;
  constexpr int64 chain = kChain * kRun / W::kElements;
  for (int64 b = 0; b < blocks;) {
    for (const int64 end = smaller(blocks, b + chain); b < end; b++)
#pragma GCC unroll 8
      for (int r = 0; r < ws; r++) {
        const uint8* const block = w + r * t.w_n + b * W::kBytes;
        const typename W::Scales scales(block);
        each_run<W>(
            block, scales, [&](int64 first, const Run& run) __attribute__((always_inline)) {
              add(r, b * W::kElements + first, run);
            });
      }
    flush();
  }
  if (const int64 done = blocks * W::kElements; done < t.k) {  // of floats
    for (int r = 0; r < ws; r++) {
      Run run;
      load_last<W>(w + r * t.w_n + blocks * W::kBytes, t.k - done, run);
      add(r, done, run);
    }
    flush();
  }
  for (int r = 0; r < ws; r++)
    for (int m = 0; m < xs; m++) y[m * t.y_m + r] = sum_across(total[r][m]);
}

template <class W, int ws, int xs = 1>
WICK_HD void dots_of(const LinearTile& t, int64 n, int64 m, int64 rows) {
  if constexpr (ws * xs < 8) {
    if (rows > xs) return dots_of<W, ws, xs + 1>(t, n, m, rows);
  }
  dots<W, ws, xs>(t, static_cast<const uint8*>(t.w) + n * t.w_n, t.x + m * t.x_m,
                  t.y + m * t.y_m + n);
}

template <class W>
void few(const LinearTile& t) {
  int64 n = 0;
  if (t.m <= 2)
    for (; n + 4 <= t.n; n += 4) dots_of<W, 4>(t, n, 0, t.m);
  else if (t.m <= 4)
    for (; n + 2 <= t.n; n += 2) dots_of<W, 2>(t, n, 0, t.m);
  for (; n < t.n; n++) dots_of<W, 1>(t, n, 0, t.m);
}

/// y[m][w_row] += of xs rows of x and ws decoded rows of weights.
template <int ws, int xs>
void add_products(const float* w, const float* x, int64 x_m, int64 k, float* y, int64 y_m) {
  L sum[ws][xs];
#pragma GCC unroll 8
  for (int r = 0; r < ws; r++)
#pragma GCC unroll 8
    for (int m = 0; m < xs; m++) sum[r][m] = L(0.0f);
  for (int64 i = 0; i < k; i += L::kCount) {
    L row[ws];
#pragma GCC unroll 8
    for (int r = 0; r < ws; r++) row[r] = L::load(w + r * kTileK + i);
#pragma GCC unroll 8
    for (int m = 0; m < xs; m++) {
      const L v = L::load(x + m * x_m + i);
#pragma GCC unroll 8
      for (int r = 0; r < ws; r++) sum[r][m] = fma(row[r], v, sum[r][m]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < ws; r++)
#pragma GCC unroll 8
    for (int m = 0; m < xs; m++) y[m * y_m + r] += sum_across(sum[r][m]);
}
template <int ws, int xs = 1>
WICK_HD void add_products_of(int64 rows, const float* w, const float* x, int64 x_m, int64 k,
                             float* y, int64 y_m) {
  if constexpr (xs < kRowsX) {
    if (rows > xs) return add_products_of<ws, xs + 1>(rows, w, x, x_m, k, y, y_m);
  }
  add_products<ws, xs>(w, x, x_m, k, y, y_m);
}

int64 buffer_bytes(int64) { return kTileN * kTileK * int64(sizeof(float)); }

/// n elements of a row of weights from element k on, and zeros up to a whole run.
template <class W>
WICK_HD void decode(const uint8* row, int64 k, int64 n, float* to) {
  const uint8* block = row + k / W::kElements * W::kBytes;
  for (; n >= W::kElements; n -= W::kElements, block += W::kBytes, to += W::kElements)
    each_run<W>(
        block,
        typename W::Scales(block), [&](int64 first, const Run& run) __attribute__((always_inline)) {
          for (int i = 0; i < kRunLanes; i++) run[i].store(to + first + i * L::kCount);
        });
  if (n > 0) {
    Run run;
    load_last<W>(block, n, run);
    for (int i = 0; i < kRunLanes; i++) run[i].store(to + i * L::kCount);
  }
}

template <class W>
void many(const LinearTile& t) {
  float* const w = static_cast<float*>(t.buffer);
  for (int64 m = 0; m < t.m; m++) memset(t.y + m * t.y_m, 0, size_t(t.n) * sizeof(float));
  for (int64 k = 0; k < t.k; k += kTileK) {
    const int64 depth = smaller(kTileK, t.k - k);
    for (int64 n = 0; n < t.n; n++)
      decode<W>(static_cast<const uint8*>(t.w) + n * t.w_n, k, depth, w + n * kTileK);
    for (int64 m = 0; m < t.m; m += kRowsX) {
      const int64 rows = smaller(kRowsX, t.m - m);
      const float* const x = t.x + m * t.x_m + k;
      float* const y = t.y + m * t.y_m;
      int64 n = 0;
      for (; n + kRowsW <= t.n; n += kRowsW)
        add_products_of<kRowsW>(rows, w + n * kTileK, x, t.x_m, depth, y + n, t.y_m);
      for (; n < t.n; n++) add_products_of<1>(rows, w + n * kTileK, x, t.x_m, depth, y + n, t.y_m);
    }
  }
}

template <class W>
constexpr LinearParts kParts = {kRun, kFewM, kTileM, kTileN, buffer_bytes, few<W>, many<W>};
template <class T, class W>
constexpr LinearData kData = {kParts<W>, reading<T, float>(), writing<T, float>()};

template <class T, class W>
void add(Table& table, DType weights) {
  table.add(kLinear, kDTypeOf<T>, weights,
            {.accepts = accepts_linear,
             .scratch_bytes = linear_scratch,
             .run = run_linear,
             .data = &kData<T, W>});
}

}  // namespace

template <>
void add_family<"linear">(Table& table) {
  using Floats = TypeList<bf16, f16, float>;
  for_each(Floats{}, [&]<class T>() {
    for_each(Floats{}, [&]<class W>() {
      if constexpr (!kSame<T, W>) add<T, FloatWeights<W>>(table, kDTypeOf<W>);
    });
    for_each(BlockTypes{}, [&]<class F>() { add<T, BlockWeights<F>>(table, F::kDType); });
  });
}

}  // namespace wick::cpu::WICK_ISA
