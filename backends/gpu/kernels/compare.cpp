// The formulas of scalar/compare.h, of which a kernel has them all, and where by the size of its
// elements.
#include "kernels/compare.h"

#include "scalar/cast.h"

namespace wick::gpu {
namespace {

/// One row type for all formulas.
template <class F, class T>
void add_comparison_of(RowList& list) {
  constexpr Signature signature{F::op, {kDTypeOf<T>, kDTypeOf<T>, DType::kBool}, 2, 1};
  // f8 is not worth two forms: converting it costs more than finding it.
  if constexpr (!(kIsFloat<T> && sizeof(T) == 1)) {
    static RowEntry rows;
    add_shared_row<MixedRowsRow<CompareOf<T>>>(list, rows, kRowName<F::op, kDTypeOf<T>, "rows">,
                                               signature);
  }
  using Strided = Either<kSame<Compute<T>, float>, CompareFloats, CompareOf<T>>;
  static RowEntry strided;
  add_shared_row<MixedStridedRow<Strided>>(list, strided, kRowName<F::op, kDTypeOf<T>, "strided">,
                                           signature);
}
template <class F, class... T>
void add_comparison(RowList& list, TypeList<T...>) {
  (add_comparison_of<F, T>(list), ...);
}
template <class... F>
void add_comparisons(RowList& list, TypeList<F...>) {
  (add_comparison<F>(list, typename F::Types{}), ...);
}

template <class T>
void add_where_of(RowList& list) {
  constexpr Signature signature{
      OpId::kWhere, {DType::kBool, kDTypeOf<T>, kDTypeOf<T>, kDTypeOf<T>}, 3, 1};
  using Map = WhereOf<sizeof(T)>;
  static RowEntry rows, strided;
  add_shared_row<MixedRowsRow<Map>>(list, rows, kRowName<OpId::kWhere, kDTypeOf<T>, "rows">,
                                    signature);
  add_shared_row<MixedStridedRow<Map>>(list, strided,
                                       kRowName<OpId::kWhere, kDTypeOf<T>, "strided">, signature);
}
template <class... T>
void add_where(RowList& list, TypeList<T...>) {
  (add_where_of<T>(list), ...);
}

}  // namespace

void add_compare_rows(RowList& list) {
  add_comparisons(list, Comparisons{});
  add_where(list, AllTypes{});
}

}  // namespace wick::gpu
