// rope and its inverse, every pair form in one kernel, and rope with the write of a cache.
#include "kernels/rope_into.h"

namespace wick::gpu {

namespace {

template <class T>
using RopeIntoSame = RopeIntoLaunch<T>;

/// Into caches of S.
template <class T, class S>
void add_mixed(KernelList& list, DType any) {
  using L = RopeIntoLaunch<T, S>;
  add_kernel<L, kAllFamilies>(list, "heads", L::signature, any);
}
template <class T>
void add_stored(KernelList& list) {
  if constexpr (!kSame<T, f16>) add_mixed<T, f16>(list, DType::kF16);
  add_mixed<T, Eight>(list, DType::kI8);
  add_mixed<T, Eight>(list, DType::kF8E4M3);
}

}  // namespace

template <>
void add_family<"rope">(KernelList& list) {
  add_kernels<RopeLaunch>(list, "pairs", FloatTypes{});
  add_kernels<RopeIntoSame>(list, "heads", FloatTypes{});
  add_stored<float>(list);
  add_stored<bf16>(list);
  add_stored<f16>(list);
}

}  // namespace wick::gpu
