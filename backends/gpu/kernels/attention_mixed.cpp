// sdpa of keys and values of another dtype than q's, as attention.cpp and attention_matrix.cpp have
// it of one dtype.
#include "kernels/attention_tiles.h"
#include "kernels/attention_wide.h"

namespace wick::gpu {
namespace {

/// The kernels of L, for each dtype of k and v that S is.
template <class L, class S, unsigned families>
void add_mixed(KernelList& list, const char* form) {
  if constexpr (kSame<S, Eight>) {
    add_kernel<L, families>(list, form, L::signature, DType::kI8);
    add_kernel<L, families>(list, form, L::signature, DType::kF8E4M3);
  } else {
    add_kernel<L, families>(list, form, L::signature, kDTypeOf<S>);
  }
}

template <class T, class S>
void add_stored(KernelList& list) {
  if constexpr (!kSame<T, float>)
    add_mixed<SdpaTilesLaunch<T, false, S>, S, kMatrixFamilies>(list, "tiles");
  add_mixed<SdpaStreamLaunch<T, false, S>, S, kAllFamilies>(list, "stream");
  add_mixed<SdpaWideLaunch<T, false, S>, S, kAllFamilies>(list, "wide");
}

}  // namespace

template <>
void add_family<"attention_mixed">(KernelList& list) {
  add_stored<float, f16>(list);
  add_stored<bf16, f16>(list);
  add_stored<float, Eight>(list);
  add_stored<bf16, Eight>(list);
  add_stored<f16, Eight>(list);
}

}  // namespace wick::gpu
