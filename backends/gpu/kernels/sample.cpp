// sample.
#include "kernels/sample.h"

namespace wick::gpu {
namespace {

template <class... T>
void add_rows_for(RowList& list, TypeList<T...>) {
  (add_row<Sample<T>, kAllFamilies>(list, kRowName<OpId::kSample, kDTypeOf<T>, "block_a_row">),
   ...);
}

}  // namespace

void add_sample_rows(RowList& list) { add_rows_for(list, FloatTypes{}); }

}  // namespace wick::gpu
