// Rows of windows: the largest, the sum, and sums of windows back at their places. Own code instead
// of oneDNN's, whose max pooling takes NaN for nothing.
#include "dispatch/pool.h"

#include "kernels/convert.h"
#include "kernels/kernels.h"
#include "scalar/binary.h"
#include "scalar/reduce.h"

namespace wick::cpu::WICK_ISA {
namespace {

/// f(x's first, place's first, count) for every tap of a row: the part of its windows inside x.
template <class F>
WICK_HD void for_taps(const WindowRow& r, F f) {
  for (int64 k = 0; k < r.kernel; k++) {
    const int64 shift = k * r.dilation - r.padding;
    const int64 first = shift < 0 ? (r.stride - 1 - shift) / r.stride : 0;
    int64 end = shift < r.width ? (r.width - 1 - shift) / r.stride + 1 : 0;
    end = end < r.places ? end : r.places;
    if (first < end) f(k, first * r.stride + shift, first, end - first);
  }
}

/// f(step) with the step as a constant where it is 1 or 2, so that the compiler can vectorize.
template <class F>
WICK_HD void with_step(int64 step, F f) {
  struct One {
    WICK_HD constexpr operator int64() const { return 1; }
  };
  struct Two {
    WICK_HD constexpr operator int64() const { return 2; }
  };
  if (step == 1)
    f(One{});
  else if (step == 2)
    f(Two{});
  else
    f(step);
}

/// The lowest value of C: nothing is below it.
template <class C>
void fill_lowest(void* best, int64 n) {
  C* const values = static_cast<C*>(best);
  for (int64 i = 0; i < n; i++) values[i] = Max::identity<C>();
}

template <class C>
void max_row(const WindowRow& r, int32 first_tap, void* best, int32* taps) {
  with_step(
      r.stride, [&](auto step) __attribute__((always_inline)) {
        for_taps(
            r, [&](int64 k, int64 from, int64 to, int64 n) __attribute__((always_inline)) {
              const C* const x = static_cast<const C*>(r.x) + from;
              C* __restrict const values = static_cast<C*>(best) + to;
              int32* __restrict const at = taps + to;
              const int32 tap = first_tap + int32(k);
              for (int64 i = 0; i < n; i++) {
                const C value = x[i * step], before = values[i];
                // NaN beats every number, and nothing beats NaN; of equals the first stays.
                bool wins;
                if constexpr (kIsInteger<C>)
                  wins = value > before;
                else
                  wins = !(value <= before) & (before == before);
                values[i] = wins ? value : before;
                at[i] = wins ? tap : at[i];
              }
            });
      });
}

template <class C>
void sum_row(const WindowRow& r, void* sums) {
  with_step(
      r.stride, [&](auto step) __attribute__((always_inline)) {
        for_taps(
            r, [&](int64, int64 from, int64 to, int64 n) __attribute__((always_inline)) {
              const C* const x = static_cast<const C*>(r.x) + from;
              C* __restrict const y = static_cast<C*>(sums) + to;
              for (int64 i = 0; i < n; i++) y[i] += x[i * step];
            });
      });
}

template <class C>
void divide(void* sums, const int64* divisors, int64 n) {
  C* const y = static_cast<C*>(sums);
  for (int64 i = 0; i < n; i++) y[i] /= C(divisors[i] == 0 ? 1 : divisors[i]);
}

template <class C>
void add_places(const void* from, int64 n, void* sums, int64 step) {
  const C* const x = static_cast<const C*>(from);
  C* __restrict const y = static_cast<C*>(sums);
  with_step(
      step, [&](auto apart) __attribute__((always_inline)) {
        for (int64 i = 0; i < n; i++) y[i * apart] = Add{}(y[i * apart], x[i]);
      });
}

template <class T>
constexpr MaxPool kMaxPoolOf = {reading<T, Compute<T>>(), writing<T, Compute<T>>().store,
                                fill_lowest<Compute<T>>, max_row<Compute<T>>};
template <class T>
constexpr AvgPool kAvgPoolOf = {reading<T, Compute<T>>(), writing<T, Compute<T>>().store,
                                sum_row<Compute<T>>, divide<Compute<T>>};
template <class T>
constexpr Fold kFoldOf = {reading<T, ComputeIn<Add, T>>(), writing<T, ComputeIn<Add, T>>().store,
                          add_places<ComputeIn<Add, T>>};

}  // namespace

template <>
void add_family<"pool">(Table& table) {
  for_each(NumericTypes{}, [&]<class T>() {
    table.add(kMaxPool, kDTypeOf<T>,
              {.scratch_bytes = max_pool_scratch, .run = run_max_pool, .data = &kMaxPoolOf<T>});
    table.add(kFold, kDTypeOf<T>,
              {.scratch_bytes = fold_scratch, .run = run_fold, .data = &kFoldOf<T>});
  });
  for_each(FloatTypes{}, [&]<class T>() {
    table.add(kAvgPool, kDTypeOf<T>,
              {.scratch_bytes = avg_pool_scratch, .run = run_avg_pool, .data = &kAvgPoolOf<T>});
  });
}

}  // namespace wick::cpu::WICK_ISA
