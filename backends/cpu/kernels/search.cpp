// Binary search. NaN is larger than every number, as where sort puts it.
#include "search.h"

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

/// The interval is halved without a branch: what is looked up is not foreseeable.
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
constexpr Searching kSearching = {sizeof(T), search<T>};

}  // namespace

void add_searches(Table& table) {
  table.expect_attributes(OpId::kSearchSorted, sizeof(SearchAttributes),
                          kAttributesHash<SearchAttributes>);
  for_each(AllTypes{}, [&]<class T>() {
    constexpr DType t = kDTypeOf<T>;
    table.add(OpId::kSearchSorted, {t, t, DType::kI64},
              {"searchsorted", nullptr, nullptr, run_search_sorted, &kSearching<T>, 0});
  });
  table.add(OpId::kNonzero, {DType::kBool, DType::kI64},
            {"nonzero", nullptr, nonzero_scratch, run_nonzero, nullptr, 0});
}

}  // namespace wick::cpu::WICK_ISA
