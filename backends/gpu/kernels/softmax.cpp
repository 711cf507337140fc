#include "kernels/softmax.h"

namespace wick::gpu {
namespace {

template <class... T>
void add_for(KernelList& list, TypeList<T...>) {
  (add_kernel<Softmax<T>, kAllFamilies>(list, "rows"), ...);
}

}  // namespace

template <>
void add_family<"softmax">(KernelList& list) {
  add_for(list, FloatTypes{});
}

}  // namespace wick::gpu
