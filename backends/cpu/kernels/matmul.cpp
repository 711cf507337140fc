// Own matrix products: panels of a and b are converted and packed, a tile of c is summed up in
// registers, K in chains of 64.
#include "dispatch/matmul.h"

#include <type_traits>

#include "kernels/fold.h"
#include "kernels/kernels.h"
#include "scalar/round_up.h"

namespace wick::cpu::WICK_ISA {
namespace {

// Registers: kRows x 2 accumulators, 2 of b and one of a: 27 of 32 on AVX-512, 15 of 16 on AVX2;
// the baseline, which has no fused multiplication, wants another for the product.
#if defined(__AVX512F__)
constexpr int kRows = 12;
#elif defined(__AVX2__)
constexpr int kRows = 6;
#else
constexpr int kRows = 4;
#endif
constexpr int64 kTileM = 192, kTileN = 256,
                kTileK = 256;  // a, b and c of a tile: 640 KiB of an L2 cache of 1 MiB, in f32
constexpr int64 kChain =
    64;  // products that are added up before they join the sum: keeps the error small
constexpr int64 kStrip = 256;

/// The type of sums of products of T. Integers wrap modulo 2^bits, so that wider types serve too.
template <class T>
struct SumOf {
  using type = Compute<T>;
};
template <class T>
requires(is_integer(kDTypeOf<T>)) struct SumOf<T> {
  using type = std::conditional_t<sizeof(T) == 8, uint64, uint32>;
};
template <class T>
using SumIn = typename SumOf<T>::type;

template <class S>
WICK_HD Lanes<S> multiply_add(Lanes<S> a, Lanes<S> b, Lanes<S> c) {
  if constexpr (kHasLanes<S>)
    return fma(a, b, c);
  else
    return a * b + c;
}

/// Lanes<C>::kCount elements as their sums' type.
template <class C, class T>
WICK_HD Lanes<C> lanes_of(const T* from) {
  if constexpr (kHasLanes<C>) {
    return load_lanes(from);
  } else if constexpr (sizeof(T) == sizeof(C)) {
    return Lanes<C>::load(reinterpret_cast<const C*>(from));
  } else {
    alignas(64) C lanes[Lanes<C>::kCount];
    for (int i = 0; i < Lanes<C>::kCount; i++) lanes[i] = C(from[i]);
    return Lanes<C>::load(lanes);
  }
}

template <class C>
inline constexpr int kColumns = 2 * Lanes<C>::kCount;

/// sum[r][0..kColumns) += a's panel by b's panel, over k. a: [k][kRows], b: [k][kColumns].
template <int rows, class C>
void multiply(const C* a, const C* b, int64 k, C* sum, int64 sum_stride) {
  using L = Lanes<C>;
  constexpr int step = L::kCount;
  L left[rows], right[rows];
#pragma GCC unroll 16
  for (int r = 0; r < rows; r++) left[r] = right[r] = L(C(0));
  for (int64 i = 0; i < k; i++, a += kRows, b += 2 * step) {
    const L b0 = L::load(b), b1 = L::load(b + step);
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++) {
      const L x(a[r]);
      left[r] = multiply_add(x, b0, left[r]);
      right[r] = multiply_add(x, b1, right[r]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < rows; r++) {
    C* to = sum + r * sum_stride;
    (L::load(to) + left[r]).store(to);
    (L::load(to + step) + right[r]).store(to + step);
  }
}

/// Multiplies as multiply does where a tile has fewer rows left: `count` of them, at least `rows`.
template <class C, int rows = 1>
WICK_HD void multiply_some(int64 count, const C* a, const C* b, int64 k, C* sum, int64 sum_stride) {
  if constexpr (rows < kRows) {
    if (count > rows) return multiply_some<C, rows + 1>(count, a, b, k, sum, sum_stride);
  }
  multiply<rows>(a, b, k, sum, sum_stride);
}

/// `count` lines of x, each of n elements, as panels [n][width] of the type that is computed in,
/// zeros beyond the last line.
template <class T, class C>
void pack(const T* x, int64 line_stride, int64 stride, int64 count, int64 n, int width, C* to) {
  C line[kTileK];
  for (int64 first = 0; first < count; first += width, to += n * width) {
    const int64 lines = smaller(width, count - first);
    const T* from = x + first * line_stride;
    if (line_stride == 1 &&
        stride != 1) {  // neighbouring lines side by side: one read gives a row of the panel
      for (int64 i = 0; i < n; i++) {
        load<T, C>(from + i * stride, 1, lines, to + i * width);
        for (int64 j = lines; j < width; j++) to[i * width + j] = C(0);
      }
      continue;
    }
    for (int64 j = 0; j < width; j++) {
      if (j < lines)
        load<T, C>(from + j * line_stride, stride, n, line);
      else if (j == lines)
        memset(line, 0, size_t(n) * sizeof(C));
      for (int64 i = 0; i < n; i++) to[i * width + j] = line[i];
    }
  }
}

template <class C>
int64 buffer_bytes(int64 m, int64 n, int64 k) {
  const int64 rows = round_up(m, kRows), columns = round_up(n, kColumns<C>),
              depth = smaller(k, kTileK);
  return (rows * columns + (rows + columns) * depth) * int64(sizeof(C));
}

template <class T>
void tile(const Tile& t) {
  using C = SumIn<T>;
  constexpr int width = kColumns<C>;
  const int64 rows = round_up(t.m, kRows), columns = round_up(t.n, width);
  C* const sum = static_cast<C*>(t.buffer);
  C* const a = sum + rows * columns;
  C* const b = a + rows * smaller(t.k, kTileK);
  memset(sum, 0, size_t(rows * columns) * sizeof(C));
  for (int64 k0 = 0; k0 < t.k; k0 += kTileK) {
    const int64 depth = smaller(kTileK, t.k - k0);
    pack(static_cast<const T*>(t.a) + k0 * t.a_k, t.a_m, t.a_k, t.m, depth, kRows, a);
    pack(static_cast<const T*>(t.b) + k0 * t.b_k, t.b_n, t.b_k, t.n, depth, width, b);
    for (int64 k = 0; k < depth; k += kChain) {
      const int64 chain = smaller(kChain, depth - k);
      for (int64 j = 0; j < columns; j += width)
        for (int64 i = 0; i < rows; i += kRows)
          multiply_some<C>(t.m - i, a + i * depth + k * kRows, b + j * depth + k * width, chain,
                           sum + i * columns + j, columns);
    }
  }
  for (int64 i = 0; i < t.m; i++)
    store<T, C>(sum + i * columns, static_cast<T*>(t.c) + i * t.c_m, t.c_n, t.n);
}

template <class L>
WICK_HD auto sum_of(L x) {
  using C = decltype(hn::GetLane(x.v));
  alignas(64) C lanes[L::kCount];
  x.store(lanes);
  for (int half = L::kCount / 2; half > 0; half /= 2)
    for (int i = 0; i < half; i++) lanes[i] += lanes[i + half];
  return lanes[0];
}

/// y[n] = x · b[:, n] where b's columns are consecutive: four dot products at once, each read as it
/// lies.
template <class T, class C, int count>
WICK_HD void dots(const C* x, const T* b, int64 b_n, int64 k, C* y) {
  using L = Lanes<C>;
  constexpr int step = L::kCount;
  L total[count];
#pragma GCC unroll 4
  for (int j = 0; j < count; j++) total[j] = L(C(0));
  int64 i = 0;
  while (i + step <= k) {
    L sum[count];
#pragma GCC unroll 4
    for (int j = 0; j < count; j++) sum[j] = L(C(0));
    for (const int64 end = smaller(k - step, i + kChain * step); i <= end; i += step) {
      const L v = L::load(x + i);
#pragma GCC unroll 4
      for (int j = 0; j < count; j++)
        sum[j] = multiply_add(v, lanes_of<C>(b + j * b_n + i), sum[j]);
    }
#pragma GCC unroll 4
    for (int j = 0; j < count; j++) total[j] = total[j] + sum[j];
  }
  for (int j = 0; j < count; j++) {
    C rest = C(0);
    for (int64 r = i; r < k; r++) rest += x[r] * widen_one<C>(b + j * b_n + r);
    y[j] = sum_of(total[j]) + rest;
  }
}

/// y[0..n) += sum over four rows of b, each by its element of x.
template <class T, class C>
WICK_HD void add_rows(const C* x, const T* b, int64 b_k, int64 rows, int64 n, C* y) {
  using L = Lanes<C>;
  constexpr int step = L::kCount;
  int64 i = 0;
  if (rows == 4) {
    const L x0(x[0]), x1(x[1]), x2(x[2]), x3(x[3]);
    for (; i + step <= n; i += step) {
      const L low = multiply_add(x1, lanes_of<C>(b + b_k + i), x0 * lanes_of<C>(b + i));
      const L high =
          multiply_add(x3, lanes_of<C>(b + 3 * b_k + i), x2 * lanes_of<C>(b + 2 * b_k + i));
      (L::load(y + i) + (low + high)).store(y + i);
    }
  }
  for (; i < n; i++)
    for (int64 r = 0; r < rows; r++) y[i] += x[r] * widen_one<C>(b + r * b_k + i);
}

template <class T>
void strip(const Tile& t) {
  using C = SumIn<T>;
  const T* b = static_cast<const T*>(t.b);
  C total[kStrip], block[kStrip];
  for (int64 m = 0; m < t.m; m++) {
    const C* x = static_cast<const C*>(t.a) + m * t.a_m;
    if (t.b_k == 1) {
      int64 n = 0;
      for (; n + 4 <= t.n; n += 4) dots<T, C, 4>(x, b + n * t.b_n, t.b_n, t.k, total + n);
      for (; n < t.n; n++) dots<T, C, 1>(x, b + n * t.b_n, t.b_n, t.k, total + n);
    } else {
      memset(total, 0, sizeof total);
      for (int64 k0 = 0; k0 < t.k; k0 += kChain) {
        const int64 end = smaller(t.k, k0 + kChain);
        memset(block, 0, sizeof block);
        for (int64 k = k0; k < end; k += 4)
          add_rows(x + k, b + k * t.b_k, t.b_k, smaller(4, end - k), t.n, block);
        for (int64 n = 0; n < t.n; n++) total[n] += block[n];
      }
    }
    store<T, C>(total, static_cast<T*>(t.c) + m * t.c_m, t.c_n, t.n);
  }
}

template <class T>
constexpr MatmulParts kMatmulOf = {sizeof(T), sizeof(SumIn<T>), kTileM,
                                   kTileN,    kStrip,           buffer_bytes<SumIn<T>>,
                                   tile<T>,   strip<T>,         load<T, SumIn<T>>};

template <class T, const MatmulFunctions& functions>
void add(Table& table, const char* name, uint32 flags = 0) {
  static constexpr MatmulData data{functions, kMatmulOf<T>};
  table.add(kMatmul, kDTypeOf<T>, matmul_kernel(name, data, flags));
}

}  // namespace

template <>
void add_family<"matmul">(Table& table) {
  for_each(Joined<FloatTypes, IntegerTypes>{}, [&]<class T>() {
    constexpr DType t = kDTypeOf<T>;
    if (libraries_allowed() && (t == DType::kF32 || t == DType::kBf16)) {
      add<T, kSmallMatmul>(table, "matmul small");
      add<T, kOneDnnMatmul>(table, "matmul onednn", kKernelLibrary);
    }
    if (libraries_allowed() && t == DType::kF64) {
      add<T, kThinMatmul>(table, "matmul thin");
      add<T, kOpenBlasMatmul>(table, "matmul openblas", kKernelLibrary);
    }
    add<T, kOwnMatmul>(table, "matmul");
  });
}

}  // namespace wick::cpu::WICK_ISA
