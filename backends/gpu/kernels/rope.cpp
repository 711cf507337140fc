// rope and its inverse, every pair form in one kernel.
#include "kernels/rope.h"

namespace wick::gpu {
namespace {

template <class... T>
void add_for(KernelList& list, TypeList<T...>) {
  (add_kernel<RopeLaunch<T>, kAllFamilies>(list, "pairs"), ...);
}

}  // namespace

template <>
void add_family<"rope">(KernelList& list) {
  add_for(list, FloatTypes{});
}

}  // namespace wick::gpu
