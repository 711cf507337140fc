// cross_entropy and cross_entropy_gradient.
#include "kernels/loss.h"

namespace wick::gpu {
namespace {

template <class... T>
void add_rows_for(RowList& list, TypeList<T...>) {
  (add_row<CrossEntropy<T>, kAllFamilies>(list, kRowName<OpId::kCrossEntropy, kDTypeOf<T>, "rows">),
   ...);
  (add_row<CrossEntropyGradientRow<T>, kAllFamilies>(
       list, kRowName<OpId::kCrossEntropyGradient, kDTypeOf<T>, "rows">),
   ...);
}

}  // namespace

void add_loss_rows(RowList& list) { add_rows_for(list, FloatTypes{}); }

}  // namespace wick::gpu
