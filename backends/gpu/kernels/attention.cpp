// sdpa.
#include "kernels/attention_stream.h"

namespace wick::gpu {
namespace {

template <class... T>
void add_stream_kernels(KernelList& list, TypeList<T...>) {
  (add_kernel<SdpaStreamLaunch<T>, kAllFamilies>(list, "stream"), ...);
}

}  // namespace

template <>
void add_family<"attention">(KernelList& list) {
  add_stream_kernels(list, FloatTypes{});
}

}  // namespace wick::gpu
