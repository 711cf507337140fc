// sample.
#include "kernels/sample.h"

namespace wick::gpu {
namespace {

template <class... T>
void add_for(KernelList& list, TypeList<T...>) {
  (add_kernel<Sample<T>, kAllFamilies>(list, "chunks", Sample<T>::signature, DType::kI32), ...);
}

}  // namespace

template <>
void add_family<"sample">(KernelList& list) {
  add_for(list, FloatTypes{});
  add_kernel<AppendTokens, kAllFamilies>(list, "thread_a_row");
}

}  // namespace wick::gpu
