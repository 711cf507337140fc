// sdpa_gradient: matrix units (attention_gradient_matrix.cpp), then streams, which take everything.
// A unit of its own because it compiles for long.
#include "kernels/attention_gradient.h"

namespace wick::gpu {
namespace {

template <class... T>
void add_stream_kernels(KernelList& list, TypeList<T...>) {
  (add_kernel<SdpaGradientStreamLaunch<T>, kAllFamilies>(list, "stream"), ...);
  (add_kernel<SdpaGradientStreamLaunch<T, true>, kAllFamilies>(list, "stream"), ...);
}

}  // namespace

template <>
void add_family<"attention_gradient">(KernelList& list) {
  add_matrix_attention_gradient(list);
  add_stream_kernels(list, FloatTypes{});
}

}  // namespace wick::gpu
