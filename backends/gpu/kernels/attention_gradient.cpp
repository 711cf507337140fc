// sdpa_gradient.
#include "kernels/attention_gradient.h"

namespace wick::gpu {
namespace {

template <class... T>
void add_stream_rows(RowList& list, TypeList<T...>) {
  (add_row<SdpaGradientStreamRow<T>, kAllFamilies>(
       list, kRowName<OpId::kSdpaGradient, kDTypeOf<T>, "stream">),
   ...);
}

}  // namespace

void add_attention_gradient_rows(RowList& list) { add_stream_rows(list, FloatTypes{}); }

}  // namespace wick::gpu
