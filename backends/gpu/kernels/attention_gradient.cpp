// sdpa_gradient: of the family attention, but a unit of its own because both compile for long.
#include "kernels/attention_gradient.h"

namespace wick::gpu {
namespace {

template <class... T>
void add_stream_kernels(KernelList& list, TypeList<T...>) {
  (add_kernel<SdpaGradientStreamLaunch<T>, kAllFamilies>(list, "stream"), ...);
}

}  // namespace

template <>
void add_family<"attention_gradient">(KernelList& list) {
  add_stream_kernels(list, FloatTypes{});
}

}  // namespace wick::gpu
