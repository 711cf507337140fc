// Products with weights of another dtype than x, and with weights that each row selects.
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
  W::template load_run<0>(padded, 0, {}, w);
}

WICK_HD const float* row_of_x(const LinearTile& t, int64 m) {
  return reinterpret_cast<const float*>(t.x + m * t.x_m);
}

/// Rows [first_n, first_n + ws) of the weights by all of x's, which are xs at most. Rows beyond the last
/// repeat it.
template <class W, int ws, int xs>
void dots(const LinearTile& t, int64 first_n) {
  const uint8* w[ws];
  const float* x[xs];
  for (int r = 0; r < ws; r++)
    w[r] = static_cast<const uint8*>(t.w) + smaller(first_n + r, t.n - 1) * t.w_n;
  for (int m = 0; m < xs; m++) x[m] = row_of_x(t, smaller(m, t.m - 1));
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
        sum[r][m][i % 2] = fma(run[i], L::load(x[m] + first + i * L::kCount), sum[r][m][i % 2]);
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
  typename W::Scales scales[ws];
  for (int64 b = 0; b < blocks;) {
    const int64 begin = b, end = smaller(blocks, b + W::kMostBlocks);
    for (int r = 0; r < ws; r++) W::read_scales(w[r] + b * W::kBytes, end - b, scales[r]);
    for (; b < end; b++)
#pragma GCC unroll 8
      for (int r = 0; r < ws; r++)
        each_run<W>(
            w[r] + b * W::kBytes, b - begin,
            scales[r], [&](int64 first, const Run& run) __attribute__((always_inline)) {
              add(r, b * W::kElements + first, run);
            });
    flush();
  }
  if (const int64 done = blocks * W::kElements; W::kElements == kRun && done < t.k) {  // of floats
#pragma GCC unroll 8
    for (int r = 0; r < ws; r++) {
      Run run;
      load_last<W>(w[r] + blocks * W::kBytes, t.k - done, run);
      add(r, done, run);
    }
    flush();
  }
#pragma GCC unroll 8
  for (int r = 0; r < ws; r++)
#pragma GCC unroll 8
    for (int m = 0; m < xs; m++)
      t.y[smaller(m, t.m - 1) * t.y_m + smaller(first_n + r, t.n - 1)] = sum_across(total[r][m]);
}

template <class W, int ws, int xs>
void all_dots(const LinearTile& t) {
  for (int64 n = 0; n < t.n; n += ws) dots<W, ws, xs>(t, n);
}

template <class W>
void few(const LinearTile& t) {
  if (t.m == 1) return all_dots<W, 4, 1>(t);
  if (t.m == 2) return all_dots<W, 4, 2>(t);
  if (t.m <= 4) return all_dots<W, 2, 4>(t);
  return all_dots<W, 1, 8>(t);
}

/// y[m][w_row] += of xs rows of x from k on and ws decoded rows of weights.
template <int ws, int xs>
void add_products(const float* w, const LinearTile& t, int64 m0, int64 k, int64 depth, float* y) {
  const float* x[xs];
#pragma GCC unroll 8
  for (int m = 0; m < xs; m++) x[m] = row_of_x(t, m0 + m) + k;
  L sum[ws][xs];
#pragma GCC unroll 8
  for (int r = 0; r < ws; r++)
#pragma GCC unroll 8
    for (int m = 0; m < xs; m++) sum[r][m] = L(0.0f);
  for (int64 i = 0; i < depth; i += L::kCount) {
    L row[ws];
#pragma GCC unroll 8
    for (int r = 0; r < ws; r++) row[r] = L::load(w + r * kTileK + i);
#pragma GCC unroll 8
    for (int m = 0; m < xs; m++) {
      const L v = L::load(x[m] + i);
#pragma GCC unroll 8
      for (int r = 0; r < ws; r++) sum[r][m] = fma(row[r], v, sum[r][m]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < ws; r++)
#pragma GCC unroll 8
    for (int m = 0; m < xs; m++) y[m * t.y_m + r] += sum_across(sum[r][m]);
}
template <int ws, int xs = 1>
WICK_HD void add_products_of(int64 rows, const float* w, const LinearTile& t, int64 m, int64 k,
                             int64 depth, float* y) {
  if constexpr (xs < kRowsX) {
    if (rows > xs) return add_products_of<ws, xs + 1>(rows, w, t, m, k, depth, y);
  }
  add_products<ws, xs>(w, t, m, k, depth, y);
}

int64 x_bytes(int64 k) { return (k + kRun - 1) / kRun * kRun * int64(sizeof(float)); }
int64 buffer_bytes(int64) { return kTileN * kTileK * int64(sizeof(float)); }

/// n elements of a row of weights from element k on, and zeros up to a whole run.
template <class W>
WICK_HD void decode(const uint8* row, int64 k, int64 n, float* to) {
  const uint8* block = row + k / W::kElements * W::kBytes;
  typename W::Scales scales;
  while (n >= W::kElements) {
    const int64 count = smaller(n / W::kElements, W::kMostBlocks);
    W::read_scales(block, count, scales);
    for (int64 b = 0; b < count; b++, block += W::kBytes, to += W::kElements)
      each_run<W>(
          block, b, scales, [&](int64 first, const Run& run) __attribute__((always_inline)) {
            for (int i = 0; i < kRunLanes; i++) run[i].store(to + first + i * L::kCount);
          });
    n -= count * W::kElements;
  }
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
      float* const y = t.y + m * t.y_m;
      int64 n = 0;
      for (; n + kRowsW <= t.n; n += kRowsW)
        add_products_of<kRowsW>(rows, w + n * kTileK, t, m, k, depth, y + n);
      for (; n < t.n; n++) add_products_of<1>(rows, w + n * kTileK, t, m, k, depth, y + n);
    }
  }
}

template <class W>
constexpr LinearParts kParts = {.x_bytes = x_bytes,
                                .pack_x = nullptr,
                                .few_m = kFewM,
                                .tile_m = kTileM,
                                .tile_n = kTileN,
                                .buffer_bytes = buffer_bytes,
                                .few = few<W>,
                                .many = many<W>};
template <class T, class W>
constexpr LinearData kData = {kParts<W>, reading<T, float>(), writing<T, float>()};

template <class T, class W>
void add(Table& table, DType weights) {
  if (weights != kDTypeOf<T>)
    table.add(kLinear, kDTypeOf<T>, weights,
              {.accepts = accepts_linear,
               .scratch_bytes = linear_scratch,
               .run = run_linear,
               .data = &kData<T, W>});
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
