// Every formula of scalar/unary.h, binary.h and compare.h over n elements, and where. Adding one to
// those lists is all there is to do.
#include "elementwise.h"

#include "kernels/convert.h"
#include "kernels/kernels.h"
#include "scalar/binary.h"
#include "scalar/compare.h"
#include "scalar/unary.h"

namespace wick::cpu::WICK_ISA {
namespace {

/// The formula in lanes, the last ones by way of a buffer: nothing past n is read or written.
template <class F, class C, int inputs>
WICK_HD void apply_lanes(const C* a, const C* b, C* y, int64 n) {
  using L = Lanes<C>;
  constexpr int step = L::kCount;
  const auto one = [](const C* x0, const C* x1, C* to) __attribute__((always_inline)) {
    if constexpr (inputs == 1)
      F{}(L::load(x0)).store(to);
    else
      F{}(L::load(x0), L::load(x1)).store(to);
  };
  int64 i = 0;
  for (; i + step <= n; i += step) one(a + i, inputs > 1 ? b + i : nullptr, y + i);
  if (i == n) return;
  alignas(64) C last[3][step] = {};
  const size_t bytes = size_t(n - i) * sizeof(C);
  memcpy(last[0], a + i, bytes);
  if constexpr (inputs > 1) memcpy(last[1], b + i, bytes);
  one(last[0], last[1], last[2]);
  memcpy(y + i, last[2], bytes);
}

template <class F, class C, int inputs>
void apply(const void* a, const void* b, void* y, int64 n) {
  const C* x0 = static_cast<const C*>(a);
  const C* x1 = static_cast<const C*>(b);
  C* to = static_cast<C*>(y);
  if constexpr (kHasLanes<C>) {
    apply_lanes<F, C, inputs>(x0, x1, to, n);
  } else if constexpr (inputs == 1) {
    for (int64 i = 0; i < n; i++) to[i] = F{}(x0[i]);
  } else {
    for (int64 i = 0; i < n; i++) to[i] = F{}(x0[i], x1[i]);
  }
}

template <class F, class T, int inputs>
constexpr Elementwise kElementwise = {
    apply<F, ComputeIn<F, T>, inputs>,
    {reading<T, ComputeIn<F, T>>(), reading<T, ComputeIn<F, T>>(), {}},
    writing<T, ComputeIn<F, T>>()};

template <class F, class T, int inputs>
Kernel row() {
  return {.name = F::op.name,
          .run = inputs == 1 ? run_unary : run_binary,
          .data = &kElementwise<F, T, inputs>,
          .flags = kKernelInPlace};
}

/// The same of one operand with numbers beside it: `numbers` is a NumberAttributes.
template <class F, class C>
void apply_numbers(const void* x, const void* numbers, void* y, int64 n) {
  using L = Lanes<C>;
  constexpr int step = L::kCount;
  const auto& given = *static_cast<const NumberAttributes*>(numbers);
  const L a(C(given.a)), b(C(given.b));
  const C* from = static_cast<const C*>(x);
  C* to = static_cast<C*>(y);
  int64 i = 0;
  for (; i + step <= n; i += step) F{}(L::load(from + i), a, b).store(to + i);
  alignas(64) C last[step] = {};
  memcpy(last, from + i, size_t(n - i) * sizeof(C));
  F{}(L::load(last), a, b).store(last);
  memcpy(to + i, last, size_t(n - i) * sizeof(C));
}

template <class F, class T>
constexpr Elementwise kWithNumbers = {
    apply_numbers<F, Compute<T>>, {reading<T, Compute<T>>(), {}, {}}, writing<T, Compute<T>>()};

/// What T is compared as: a bool by its byte.
template <class T>
struct ComparedOf {
  using type = Compute<T>;
};
template <>
struct ComparedOf<bool> {
  using type = uint8;
};
template <class T>
using Compared = typename ComparedOf<T>::type;

/// A loop over scalars, which the compiler vectorizes.
template <class F, class C>
void compare(const void* a, const void* b, void* y, int64 n) {
  const C* x0 = static_cast<const C*>(a);
  const C* x1 = static_cast<const C*>(b);
  uint8* to = static_cast<uint8*>(y);
  for (int64 i = 0; i < n; i++) to[i] = F{}(x0[i], x1[i]);
}

template <class F, class T>
constexpr Elementwise kComparison = {compare<F, Compared<T>>,
                                     {reading<T, Compared<T>>(), reading<T, Compared<T>>(), {}},
                                     copy_access<1>()};

template <class F, class C>
void ask(const void* a, const void*, void* y, int64 n) {
  const C* x = static_cast<const C*>(a);
  uint8* to = static_cast<uint8*>(y);
  for (int64 i = 0; i < n; i++) to[i] = F{}(x[i]);
}

template <class F, class T>
constexpr Elementwise kPredicate = {
    ask<F, Compute<T>>, {reading<T, Compute<T>>(), {}, {}}, copy_access<1>()};

template <class Word>
void choose(const void* condition, const void* a, const void* b, void* y, int64 n) {
  const uint8* mask = static_cast<const uint8*>(condition);
  const Word* yes = static_cast<const Word*>(a);
  const Word* no = static_cast<const Word*>(b);
  Word* to = static_cast<Word*>(y);
  for (int64 i = 0; i < n; i++) {
    const Word x0 = yes[i], x1 = no[i];  // both are read, so that this is no branch
    to[i] = mask[i] ? x0 : x1;
  }
}

template <class Word>
constexpr Elementwise kWhereOf = {
    nullptr,
    {copy_access<1>(), copy_access<sizeof(Word)>(), copy_access<sizeof(Word)>()},
    copy_access<sizeof(Word)>(),
    choose<Word>};

template <class T>
const Elementwise* where() {
  if constexpr (sizeof(T) == 1)
    return &kWhereOf<uint8>;
  else if constexpr (sizeof(T) == 2)
    return &kWhereOf<uint16>;
  else if constexpr (sizeof(T) == 4)
    return &kWhereOf<uint32>;
  else
    return &kWhereOf<uint64>;
}

}  // namespace

template <>
void add_family<"elementwise">(Table& table) {
  for_each(Unary{}, [&]<class F>() {
    for_each(typename F::Types{},
             [&]<class T>() { table.add(F::op, kDTypeOf<T>, row<F, T, 1>()); });
  });
  for_each(UnaryWithNumbers{}, [&]<class F>() {
    for_each(typename F::Types{}, [&]<class T>() {
      table.add(F::op, kDTypeOf<T>,
                {.run = run_unary, .data = &kWithNumbers<F, T>, .flags = kKernelInPlace});
    });
  });
  for_each(Predicates{}, [&]<class F>() {
    for_each(typename F::Types{}, [&]<class T>() {
      table.add(F::op, kDTypeOf<T>, {.run = run_unary, .data = &kPredicate<F, T>});
    });
  });
  for_each(Binary{}, [&]<class F>() {
    for_each(typename F::Types{},
             [&]<class T>() { table.add(F::op, kDTypeOf<T>, row<F, T, 2>()); });
  });
  for_each(Comparisons{}, [&]<class F>() {
    for_each(typename F::Types{}, [&]<class T>() {
      table.add(F::op, kDTypeOf<T>, {.run = run_binary, .data = &kComparison<F, T>});
    });
  });
  for_each(StoredTypes{}, [&]<class T>() {
    table.add(kWhere, kDTypeOf<T>, {.run = run_where, .data = where<T>()});
  });
}

}  // namespace wick::cpu::WICK_ISA
