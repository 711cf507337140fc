// sdpa.
#include "kernels/attention_stream.h"

namespace wick::gpu {
namespace {

template <class... T>
void add_stream_rows(RowList& list, TypeList<T...>) {
  (add_row<SdpaStreamRow<T>, kAllFamilies>(list, kRowName<OpId::kSdpa, kDTypeOf<T>, "stream">),
   ...);
}

}  // namespace

void add_attention_rows(RowList& list) { add_stream_rows(list, FloatTypes{}); }

}  // namespace wick::gpu
