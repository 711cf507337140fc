// sdpa: matrix units (attention_matrix.cpp), then streams of keys, which take
// everything.
#include "kernels/attention_stream.h"

namespace wick::gpu {
namespace {

template <class... T>
void add_stream_kernels(KernelList& list, TypeList<T...>) {
  (add_kernel<SdpaStreamLaunch<T>, kAllFamilies>(list, "stream"), ...);
  (add_kernel<SdpaStreamLaunch<T, true>, kAllFamilies>(list, "stream"), ...);
}

}  // namespace

template <>
void add_family<"attention">(KernelList& list) {
  add_matrix_attention(list);
  add_stream_kernels(list, FloatTypes{});
}

}  // namespace wick::gpu
