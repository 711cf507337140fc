// Scans of a piece of one line, or of a row of many.
#include "dispatch/scan.h"

#include "kernels/convert.h"
#include "kernels/kernels.h"
#include "scalar/reduce.h"

namespace wick::cpu::WICK_ISA {
namespace {

/// Narrower floats are added and multiplied up in f64, integers in u64, which wraps.
template <class C>
struct StateOf {
  using type = uint64;
};
template <class C>
requires(kHasLanes<C>) struct StateOf<C> {
  using type = double;
};

/// A sum is `before`, of the segments before, plus `here`, of this one.
template <class C>
struct Sums {
  using S = typename StateOf<C>::type;
  static constexpr bool kSplits = true;

  static void begin(void* a, void* b, int64 n) {
    for (int64 i = 0; i < n; i++) static_cast<S*>(a)[i] = static_cast<S*>(b)[i] = S(0);
  }
  static void fold(void* a, void* b, int64 n) {
    S* before = static_cast<S*>(a);
    S* here = static_cast<S*>(b);
    for (int64 i = 0; i < n; i++) before[i] += here[i], here[i] = S(0);
  }
  static void join(const void* before_a, const void*, void* a, void*, int64 n) {
    for (int64 i = 0; i < n; i++) static_cast<S*>(a)[i] += static_cast<const S*>(before_a)[i];
  }

  /// Eight parts of the piece side by side, since an addition takes 4 cycles; then the sum of the
  /// parts before it is added to each.
  static void along(const void* from, int64 n, int64, void* a, void* b, void* to, int64*) {
    constexpr int64 kParts = 8;
    const C* x = static_cast<const C*>(from);
    C* y = static_cast<C*>(to);
    const S before = *static_cast<S*>(a);
    S& here = *static_cast<S*>(b);
    alignas(64) S sums[kChunk];
    const int64 length = n / kParts;
    S part[kParts] = {};
    for (int64 i = 0; i < length; i++)
      for (int64 p = 0; p < kParts; p++) sums[p * length + i] = part[p] += S(x[p * length + i]);
    for (int64 p = 0; p < kParts; p++) {
      const S shift = before + here;
      for (int64 i = p * length; i < (p + 1) * length; i++) y[i] = C(shift + sums[i]);
      here += part[p];
    }
    for (int64 i = kParts * length; i < n; i++) {
      here += S(x[i]);
      y[i] = C(before + here);
    }
  }

  static void across(const void* from, int64 n, int64, void* a, void* b, void* to, int64*) {
    const C* x = static_cast<const C*>(from);
    C* y = static_cast<C*>(to);
    const S* before = static_cast<const S*>(a);
    S* here = static_cast<S*>(b);
    for (int64 i = 0; i < n; i++) {
      here[i] += S(x[i]);
      y[i] = C(before[i] + here[i]);
    }
  }
};

/// a + b, and its rounding error in cut (Knuth 1969): NaN if the sum is infinite.
WICK_HD double sum_of(double a, double b, double* cut) {
  const double sum = a + b, b_part = sum - a;
  *cut = (a - (sum - b_part)) + (b - b_part);
  return sum;
}

/// Sums of f64, which has no wider type: rounding errors are added up beside the sum. A line is
/// never split, since a state has no room for the errors of earlier parts.
struct CompensatedSums {
  static constexpr bool kSplits = false;

  static void begin(void* a, void* b, int64 n) {
    for (int64 i = 0; i < n; i++) static_cast<double*>(a)[i] = static_cast<double*>(b)[i] = 0;
  }
  static void fold(void*, void*, int64) {}
  static void join(const void*, const void*, void*, void*, int64) {}

  static WICK_HD double total(double sum, double cut) { return cut == cut ? sum + cut : sum; }

  /// Goes along a line in parts side by side, as Sums does.
  static void along(const void* from, int64 n, int64, void* a, void* b, void* to, int64*) {
    constexpr int64 kParts = 8;
    const double* x = static_cast<const double*>(from);
    double* y = static_cast<double*>(to);
    double sum = *static_cast<double*>(a), cut = *static_cast<double*>(b);
    alignas(64) double sums[kChunk];
    const int64 length = n / kParts;
    double part[kParts] = {}, part_cut[kParts] = {}, lost;
    for (int64 i = 0; i < length; i++) {
      for (int64 p = 0; p < kParts; p++) {
        part[p] = sum_of(part[p], x[p * length + i], &lost);
        part_cut[p] += lost;
        sums[p * length + i] = total(part[p], part_cut[p]);
      }
    }
    for (int64 p = 0; p < kParts; p++) {
      const double rest = cut == cut ? cut : 0;
      for (int64 i = p * length; i < (p + 1) * length; i++) y[i] = sum + (rest + sums[i]);
      sum = sum_of(sum, part[p], &lost);
      cut += lost + part_cut[p];
    }
    for (int64 i = kParts * length; i < n; i++) {
      sum = sum_of(sum, x[i], &lost);
      cut += lost;
      y[i] = total(sum, cut);
    }
    *static_cast<double*>(a) = sum;
    *static_cast<double*>(b) = cut;
  }

  static void across(const void* from, int64 n, int64, void* a, void* b, void* to, int64*) {
    const double* x = static_cast<const double*>(from);
    double* y = static_cast<double*>(to);
    double* sum = static_cast<double*>(a);
    double* cut = static_cast<double*>(b);
    for (int64 i = 0; i < n; i++) {
      double lost;
      sum[i] = sum_of(sum[i], x[i], &lost);
      cut[i] += lost;
      y[i] = total(sum[i], cut[i]);
    }
  }
};

/// Never split: the product of a part may overflow where a 0 before it keeps the whole at 0.
template <class C>
struct Products {
  using S = typename StateOf<C>::type;
  static constexpr bool kSplits = false;

  static void begin(void* a, void*, int64 n) {
    for (int64 i = 0; i < n; i++) static_cast<S*>(a)[i] = S(1);
  }
  static void fold(void*, void*, int64) {}
  static void join(const void*, const void*, void*, void*, int64) {}

  static void along(const void* from, int64 n, int64, void* a, void*, void* to, int64*) {
    const C* x = static_cast<const C*>(from);
    C* y = static_cast<C*>(to);
    S product = *static_cast<S*>(a);
    for (int64 i = 0; i < n; i++) y[i] = C(product *= S(x[i]));
    *static_cast<S*>(a) = product;
  }
  static void across(const void* from, int64 n, int64, void* a, void*, void* to, int64*) {
    const C* x = static_cast<const C*>(from);
    C* y = static_cast<C*>(to);
    S* product = static_cast<S*>(a);
    for (int64 i = 0; i < n; i++) y[i] = C(product[i] *= S(x[i]));
  }
};

/// The last of equals; NaN goes before every number.
template <class R, class C>
struct Extremes {
  static constexpr bool kSplits = true;

  static WICK_HD bool wins(C x, C best) {
    const bool beats = kSame<R, Max> ? x >= best : x <= best;
    if constexpr (kHasLanes<C>)
      return beats || x != x;
    else
      return beats;
  }

  static void begin(void* a, void* b, int64 n) {
    for (int64 i = 0; i < n; i++) {
      static_cast<C*>(a)[i] = R::template identity<C>();
      static_cast<int64*>(b)[i] = 0;
    }
  }
  static void fold(void*, void*, int64) {}
  static void join(const void* before_a, const void* before_b, void* a, void* b, int64 n) {
    const C* old = static_cast<const C*>(before_a);
    const int64* old_ids = static_cast<const int64*>(before_b);
    C* best = static_cast<C*>(a);
    int64* ids = static_cast<int64*>(b);
    for (int64 i = 0; i < n; i++) {
      if (wins(best[i], old[i])) continue;
      best[i] = old[i];
      ids[i] = old_ids[i];
    }
  }

  static void along(const void* from, int64 n, int64 at, void* a, void* b, void* to, int64* ids) {
    const C* x = static_cast<const C*>(from);
    C* y = static_cast<C*>(to);
    C best = *static_cast<C*>(a);
    int64 id = *static_cast<int64*>(b);
    for (int64 i = 0; i < n; i++) {
      if (wins(x[i], best)) {
        best = x[i];
        id = at + i;
      }
      y[i] = best;
      ids[i] = id;
    }
    *static_cast<C*>(a) = best;
    *static_cast<int64*>(b) = id;
  }
  static void across(const void* from, int64 n, int64 at, void* a, void* b, void* to, int64* ids) {
    const C* x = static_cast<const C*>(from);
    C* y = static_cast<C*>(to);
    C* best = static_cast<C*>(a);
    int64* best_ids = static_cast<int64*>(b);
    for (int64 i = 0; i < n; i++) {
      const bool won = wins(x[i], best[i]);
      y[i] = best[i] = won ? x[i] : best[i];
      ids[i] = best_ids[i] = won ? at : best_ids[i];
    }
  }
};

template <class F>
constexpr Scan scan_of(Access in, Access out, bool with_ids) {
  return {in, out, with_ids, F::kSplits, F::begin, F::fold, F::along, F::across, F::join};
}

/// The type that elements are read as: i64 for integers, which has the bits of u64.
template <class T>
using Read = typename Sum::AccumulatorOf<T>::type;
template <class T>
constexpr Access reading_number() {
  if constexpr (kSame<Read<T>, uint64> && !kSame<T, int64>)
    return reading<T, int64>();
  else
    return reading<T, Read<T>>();
}

/// The formula for the type that is read.
template <class C>
struct SumsOf {
  using type = Sums<C>;
};
template <>
struct SumsOf<double> {
  using type = CompensatedSums;
};
template <class C>
struct ProductsOf {
  using type = Products<C>;
};

template <template <class> class F, class T>
constexpr Scan kScan = scan_of<typename F<Read<T>>::type>(reading_number<T>(),
                                                          writing<Reduced<Sum, T>, Read<T>>(),
                                                          false);
template <class R, class T>
constexpr Scan kExtremes = scan_of<Extremes<R, Compute<T>>>(reading<T, Compute<T>>(),
                                                            writing<T, Compute<T>>(), true);

}  // namespace

template <>
void add_family<"scan">(Table& table) {
  for_each(AllTypes{}, [&]<class T>() {
    constexpr DType t = kDTypeOf<T>;
    table.add(kCumsum, t,
              {.scratch_bytes = scan_scratch, .run = run_scan, .data = &kScan<SumsOf, T>});
    table.add(kCumprod, t,
              {.scratch_bytes = scan_scratch, .run = run_scan, .data = &kScan<ProductsOf, T>});
  });
  for_each(NumericTypes{}, [&]<class T>() {
    constexpr DType t = kDTypeOf<T>;
    table.add(kCummax, t,
              {.scratch_bytes = scan_scratch, .run = run_scan, .data = &kExtremes<Max, T>});
    table.add(kCummin, t,
              {.scratch_bytes = scan_scratch, .run = run_scan, .data = &kExtremes<Min, T>});
  });
}

}  // namespace wick::cpu::WICK_ISA
