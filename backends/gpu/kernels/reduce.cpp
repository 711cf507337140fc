// The reductions of scalar/reduce.h, every dtype in two forms.
#include "kernels/reduce.h"

namespace wick::gpu {
namespace {

template <class R, class... T>
void add_reduction(KernelList& list, TypeList<T...>) {
  (add_kernel<ReduceLaunch<R, T, RowsForm>, kAllFamilies>(list, "rows"), ...);
  (add_kernel<ReduceLaunch<R, T, StridedForm>, kAllFamilies>(list, "strided"), ...);
}
template <class... R>
void add_reductions(KernelList& list, TypeList<R...>) {
  (add_reduction<R>(list, typename R::Types{}), ...);
}

}  // namespace

template <>
void add_family<"reduce">(KernelList& list) {
  add_reductions(list, Reductions{});
}

}  // namespace wick::gpu
