// Reductions of a block of values, by several registers of lanes.
#include "dispatch/reduce.h"

#include "dispatch/arg_reduce.h"
#include "kernels/convert.h"
#include "kernels/kernels.h"
#include "scalar/reduce.h"

namespace wick::cpu::WICK_ISA {
namespace {

/// All lanes combined, in each lane: halves first, then their halves.
template <class R, class A>
WICK_HD Lanes<A> all_lanes(Lanes<A> x) {
  const typename Lanes<A>::Tag tag;
  const R combine;
  if constexpr (sizeof(x.v) > 32) x = combine(x, Lanes<A>(hn::ConcatLowerUpper(tag, x.v, x.v)));
  if constexpr (sizeof(x.v) > 16) x = combine(x, Lanes<A>(hn::SwapAdjacentBlocks(x.v)));
  if constexpr (sizeof(A) == 8) {
    return combine(x, Lanes<A>(hn::Shuffle01(x.v)));
  } else {
    x = combine(x, Lanes<A>(hn::Shuffle1032(x.v)));
    return combine(x, Lanes<A>(hn::Shuffle2301(x.v)));
  }
}

/// Four registers go side by side (an addition takes 3 to 4 cycles), eight steps at a time so that
/// no lane adds up a long chain; then they become one, and that one lane.
template <class R, class A>
WICK_HD A block_of_lanes(const A* x, int64 n) {
  using L = Lanes<A>;
  constexpr int step = L::kCount;
  constexpr int64 chain = 8;
  const R combine;
  const L none(R::template identity<A>());
  L a = none, b = none, c = none, d = none;
  int64 i = 0;
  while (i + 4 * step <= n) {
    L a0 = L::load(x + i), b0 = L::load(x + i + step), c0 = L::load(x + i + 2 * step),
      d0 = L::load(x + i + 3 * step);
    i += 4 * step;
    for (int64 k = 1; k < chain && i + 4 * step <= n; k++, i += 4 * step) {
      a0 = combine(a0, L::load(x + i));
      b0 = combine(b0, L::load(x + i + step));
      c0 = combine(c0, L::load(x + i + 2 * step));
      d0 = combine(d0, L::load(x + i + 3 * step));
    }
    a = combine(a, a0);
    b = combine(b, b0);
    c = combine(c, c0);
    d = combine(d, d0);
  }
  for (; i + step <= n; i += step) a = combine(a, L::load(x + i));
  if (i < n) {
    alignas(64) A lanes[step];
    none.store(lanes);
    memcpy(lanes, x + i, size_t(n - i) * sizeof(A));
    b = combine(b, L::load(lanes));
  }
  return hn::GetLane(all_lanes<R>(combine(combine(a, b), combine(c, d))).v);
}

template <class R, class A>
void block(const void* from, int64 n, void* result) {
  const A* x = static_cast<const A*>(from);
  if constexpr (kHasLanes<A>) {
    *static_cast<A*>(result) = block_of_lanes<R>(x, n);
  } else {
    A value = R::template identity<A>();
    for (int64 i = 0; i < n; i++) value = R{}(value, x[i]);
    *static_cast<A*>(result) = value;
  }
}

template <class R, class A>
void merge(const void* a, const void* b, void* y, int64 n) {
  const A* x0 = static_cast<const A*>(a);
  const A* x1 = static_cast<const A*>(b);
  A* to = static_cast<A*>(y);
  int64 i = 0;
  if constexpr (kHasLanes<A>) {
    using L = Lanes<A>;
    for (; i + L::kCount <= n; i += L::kCount) R{}(L::load(x0 + i), L::load(x1 + i)).store(to + i);
  }
  for (; i < n; i++) to[i] = R{}(x0[i], x1[i]);
}

/// T read as its accumulator's type. For integers that is i64, which has the same bits as u64.
template <class T, class A>
constexpr Access reading_accumulator() {
  if constexpr (kSame<A, uint64> && !kSame<T, int64>)
    return reading<T, int64>();
  else
    return reading<T, A>();
}

template <class R, class T>
constexpr Reduction kReduction = {
    reading_accumulator<T, Accumulator<R, T>>(), writing<Reduced<R, T>, Accumulator<R, T>>(),
    block<R, Accumulator<R, T>>, merge<R, Accumulator<R, T>>, R::kOfNothing};

/// Load: R's terms of elements of the accumulator's type.
template <class R, class A>
void load_terms(const void* from, int64 stride, int64 n, void* to) {
  const A* x = static_cast<const A*>(from);
  A* y = static_cast<A*>(to);
  int64 i = 0;
  if (stride == 1)
    for (; i + Lanes<A>::kCount <= n; i += Lanes<A>::kCount)
      R::term(Lanes<A>::load(x + i)).store(y + i);
  for (; i < n; i++) y[i] = R::term(x[i * stride]);
}

template <class R, class A>
constexpr Reduction kTermReduction = {{load_terms<R, A>, nullptr, sizeof(A), sizeof(A), false},
                                      writing<A, A>(),
                                      block<R, A>,
                                      merge<R, A>,
                                      R::kOfNothing};

/// Load: whether elements are not 0.
template <class T>
void load_truth(const void* from, int64 stride, int64 n, void* to) {
  using C = Compute<T>;
  const T* x = static_cast<const T*>(from);
  uint8* y = static_cast<uint8*>(to);
  if (stride == 1)
    for (int64 i = 0; i < n; i++) y[i] = widen_one<C>(x + i) != C(0);
  else
    for (int64 i = 0; i < n; i++) y[i] = widen_one<C>(x + i * stride) != C(0);
}

template <class R, class T>
constexpr Reduction kTruthReduction = {{load_truth<T>, nullptr, sizeof(T), 1, false},
                                       copy_access<1>(),
                                       block<R, uint8>,
                                       merge<R, uint8>,
                                       R::kOfNothing};

// ---- argmax, argmin

/// Whether x beats the running best: NaN beats every number, an equal element does not.
template <class R, class C>
WICK_HD bool wins(C x, C best) {
  const bool beats = kSame<R, Max> ? x > best : x < best;
  if constexpr (kHasLanes<C>)
    return beats || (x != x && best == best);
  else
    return beats;
}

/// A block is reduced first; where its result wins, the element is looked for.
template <class R, class C>
void along(const void* from, int64 n, int64 first, void* best, int64* id) {
  const C* x = static_cast<const C*>(from);
  C& old = *static_cast<C*>(best);
  C value;
  block<R, C>(x, n, &value);
  if (!wins<R>(value, old)) return;
  int64 i = 0;
  while (i < n && !(x[i] == value || x[i] != x[i])) i++;
  old = value;
  *id = first + i;
}

template <class R, class C>
void across(const void* from, int64 n, int64 id, void* best, int64* ids) {
  const C* x = static_cast<const C*>(from);
  C* values = static_cast<C*>(best);
  for (int64 i = 0; i < n; i++) {
    const bool won = wins<R>(x[i], values[i]);
    values[i] = won ? x[i] : values[i];
    ids[i] = won ? id : ids[i];
  }
}

template <class R, class T>
constexpr ArgReduction kArgReduction = {reading<T, Compute<T>>(), along<R, Compute<T>>,
                                        across<R, Compute<T>>};

template <class R>
void add_arg_reduction(Table& table, const Op& op) {
  for_each(typename R::Types{}, [&]<class T>() {
    table.add(op, kDTypeOf<T>,
              {.scratch_bytes = arg_reduction_scratch,
               .run = run_arg_reduction,
               .data = &kArgReduction<R, T>});
  });
}

}  // namespace

template <>
void add_family<"reduce">(Table& table) {
  for_each(NumberReductions{}, [&]<class R>() {
    for_each(typename R::Types{}, [&]<class T>() {
      table.add(
          R::op, kDTypeOf<T>,
          {.scratch_bytes = reduction_scratch, .run = run_reduction, .data = &kReduction<R, T>});
    });
  });
  for_each(SumOfSquares::Types{}, [&]<class T>() {
    table.add(SumOfSquares::op, kDTypeOf<T>,
              {.scratch_bytes = reduction_scratch,
               .run = run_reduction,
               .data = &kTermReduction<SumOfSquares, T>});
  });
  for_each(TruthReductions{}, [&]<class R>() {
    for_each(typename R::Types{}, [&]<class T>() {
      table.add(R::op, kDTypeOf<T>,
                {.scratch_bytes = reduction_scratch,
                 .run = run_reduction,
                 .data = &kTruthReduction<R, T>});
    });
  });
  add_arg_reduction<Max>(table, kArgmax);
  add_arg_reduction<Min>(table, kArgmin);
}

}  // namespace wick::cpu::WICK_ISA
