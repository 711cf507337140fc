// Binary search. NaN is larger than every number, as where sort puts it.
#include "dispatch/search.h"

#include "kernels/convert.h"
#include "kernels/kernels.h"

namespace wick::cpu::WICK_ISA {
namespace {

template <class C>
WICK_HD bool before(C a, C b) {
  if constexpr (kHasLanes<C>)
    return a < b || (b != b && a == a);
  else
    return a < b;
}

/// Halves the interval without a branch, which would often be mispredicted.
template <class T>
void search(const void* from, int64 stride, int64 n, const void* looked_up, int64 values_stride,
            int64 m, int right, int64* ids, int64 ids_stride) {
  using C = Compute<T>;
  const T* x = static_cast<const T*>(from);
  const T* values = static_cast<const T*>(looked_up);
  for (int64 i = 0; i < m; i++) {
    const C value = widen_one<C>(values + i * values_stride);
    int64 first = 0, rest = n;
    while (rest > 0) {
      const int64 half = rest / 2;
      const C at = widen_one<C>(x + (first + half) * stride);
      const bool goes_on = right ? !before(value, at) : before(at, value);
      first = goes_on ? first + half + 1 : first;
      rest = goes_on ? rest - half - 1 : half;
    }
    ids[i * ids_stride] = first;
  }
}

template <class T>
constexpr SearchFunctions kSearchFunctions = {sizeof(T), search<T>};

}  // namespace

template <>
void add_family<"search">(Table& table) {
  for_each(AllTypes{}, [&]<class T>() {
    constexpr DType t = kDTypeOf<T>;
    table.add(kSearchSorted, t, {.run = run_search_sorted, .data = &kSearchFunctions<T>});
  });
  table.add(kNonzero, DType::kBool, {.scratch_bytes = nonzero_scratch, .run = run_nonzero});
}

}  // namespace wick::cpu::WICK_ISA
