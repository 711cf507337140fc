// rope and its inverse, every pair form in one kernel.
#include "kernels/rope.h"

namespace wick::gpu {
namespace {

template <class... T>
void add_rows_for(RowList& list, TypeList<T...>) {
  (add_row<RopeRow<T>, kAllFamilies>(list, kRowName<OpId::kRope, kDTypeOf<T>, "pairs">), ...);
}

}  // namespace

void add_rope_rows(RowList& list) { add_rows_for(list, FloatTypes{}); }

}  // namespace wick::gpu
