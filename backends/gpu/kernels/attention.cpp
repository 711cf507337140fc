// sdpa: matrix units (attention_matrix.cpp), then streams of keys, which take heads of up to 256
// elements, then tiles of keys, which take larger ones. attention_mixed.cpp has the kernels of keys
// and values of another dtype.
#include "kernels/attention_stream.h"
#include "kernels/attention_wide.h"

namespace wick::gpu {
namespace {

template <class... T>
void add_stream_kernels(KernelList& list, TypeList<T...>) {
  (add_kernel<SdpaStreamLaunch<T>, kAllFamilies>(list, "stream"), ...);
  (add_kernel<SdpaStreamLaunch<T, true>, kAllFamilies>(list, "stream"), ...);
}

template <class... T>
void add_wide_kernels(KernelList& list, TypeList<T...>) {
  (add_kernel<SdpaWideLaunch<T>, kAllFamilies>(list, "wide"), ...);
  (add_kernel<SdpaWideLaunch<T, true>, kAllFamilies>(list, "wide"), ...);
}

}  // namespace

template <>
void add_family<"attention">(KernelList& list) {
  add_matrix_attention(list);
  add_stream_kernels(list, FloatTypes{});
  add_wide_kernels(list, FloatTypes{});
}

}  // namespace wick::gpu
