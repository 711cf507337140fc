// The reductions of scalar/reduce.h, every dtype in two forms.
#include "kernels/reduce.h"

namespace wick::gpu {
namespace {

template <class R, class... T>
void add_reduction(RowList& list, TypeList<T...>) {
  (add_row<ReduceRow<R, T, RowsForm>, kAllFamilies>(list, kRowName<R::op, kDTypeOf<T>, "rows">),
   ...);
  (add_row<ReduceRow<R, T, StridedForm>, kAllFamilies>(list,
                                                       kRowName<R::op, kDTypeOf<T>, "strided">),
   ...);
}
template <class... R>
void add_reductions(RowList& list, TypeList<R...>) {
  (add_reduction<R>(list, typename R::Types{}), ...);
}

}  // namespace

void add_reduce_rows(RowList& list) { add_reductions(list, Reductions{}); }

}  // namespace wick::gpu
