// softmax, rms_norm and rms_norm_gradient.
#include "kernels/norm.h"

namespace wick::gpu {
namespace {

template <class... T>
void add_rows_for(RowList& list, TypeList<T...>) {
  (add_row<Softmax<T>, kAllFamilies>(list, kRowName<OpId::kSoftmax, kDTypeOf<T>, "rows">), ...);
  (add_row<RmsNorm<T>, kAllFamilies>(list, kRowName<OpId::kRmsNorm, kDTypeOf<T>, "rows">), ...);
  (add_row<RmsNormGradient<T>, kAllFamilies>(list,
                                             kRowName<OpId::kRmsNormGradient, kDTypeOf<T>, "rows">),
   ...);
}

}  // namespace

void add_norm_rows(RowList& list) { add_rows_for(list, FloatTypes{}); }

}  // namespace wick::gpu
